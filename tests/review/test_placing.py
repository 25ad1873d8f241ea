"""Comments in later versions: carried, suggested until a person says yes or no, outdated, and back again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from playground.models import Prompt, Version
from review.models import Placement
from tests.review.conftest import POLITE, Shown, Start, passage

pytestmark = pytest.mark.django_db
QUOTE = "Quote the invoice number in each answer."
EDITED = POLITE.replace("invoice number", "order number")
Save = Callable[..., Version]


def place(listed: dict[str, Any], thread: dict[str, Any]) -> dict[str, Any]:
    found = next(row for row in listed["results"] if row["id"] == thread["id"])
    placement: dict[str, Any] = found["placement"]
    return placement


def say(api: APIClient, thread: dict[str, Any], version: Version, **fields: Any) -> Any:
    return api.post(f"/api/v1/threads/{thread['id']}/place", {"version": version.number, **fields}, format="json")


def test_an_unchanged_text_carries_its_comments_without_being_read(
    start: Start, shown: Shown, version: Version, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playground.bodies import recent

    thread = start(version, QUOTE)
    later = save(POLITE, parent=version, system="Now there is a system text, too.")

    def read(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a text was read")

    monkeypatch.setattr(recent.RecentTexts, "get", read)
    here = place(shown(later), thread)
    assert (here["state"], here["method"], here["text"], here["quote"]) == ("carried", "same_text", 1, QUOTE)


def test_a_comment_moves_with_its_words(start: Start, shown: Shown, version: Version, save: Save) -> None:
    thread = start(version, QUOTE)
    text = f"🙂 You work for a shop.\r\n{POLITE} Sign."
    later = save(text, parent=version)
    here = place(shown(later), thread)
    assert (here["state"], here["quote"]) == ("carried", QUOTE)
    assert here["code_points"]["start"] == text.index(QUOTE)
    assert here["utf16"]["start"] == text.index(QUOTE) + 1
    assert place(shown(version), thread)["state"] == "written"


def test_a_deleted_passage_is_outdated_and_its_words_are_still_quoted(
    start: Start, shown: Shown, version: Version, save: Save
) -> None:
    thread = start(version, QUOTE)
    later = save("Answer politely. Never guess a total.", parent=version)
    listed = shown(later)
    assert place(listed, thread)["state"] == "outdated"
    assert listed["results"][0]["quote"] == QUOTE


def test_a_restored_text_brings_the_comment_back(start: Start, shown: Shown, version: Version, save: Save) -> None:
    thread = start(version, QUOTE)
    without = save("Answer politely. Never guess a total.", parent=version)
    assert place(shown(without), thread)["state"] == "outdated"
    restored = save(POLITE, parent=without)
    assert place(shown(restored), thread)["state"] == "carried"


def test_similar_words_wait_for_a_person_and_a_yes_is_carried_on(
    owner_api: APIClient, start: Start, shown: Shown, version: Version, save: Save
) -> None:
    thread = start(version, QUOTE)
    later = save(EDITED, parent=version)
    here = place(shown(later), thread)
    assert (here["state"], here["quote"]) == ("suggested", "Quote the order number in each answer.")
    assert 0.6 <= here["confidence"] < 1
    answer = say(owner_api, thread, later, accept=True).json()["placement"]
    assert (answer["state"], answer["decided_by"]["name"]) == ("accepted", "Olive Owner")
    latest = save(f"Now: {EDITED} Thank you.", parent=later)
    assert place(shown(latest), thread)["state"] == "carried"
    assert place(shown(latest), thread)["quote"] == "Quote the order number in each answer."


def test_a_no_makes_it_outdated_here_and_is_not_asked_again_later(
    owner_api: APIClient, start: Start, shown: Shown, version: Version, save: Save
) -> None:
    thread = start(version, QUOTE)
    later = save(EDITED, parent=version)
    shown(later)
    assert say(owner_api, thread, later, accept=False).json()["placement"]["state"] == "outdated"
    assert say(owner_api, thread, later, accept=True).json()["error"]["code"] == "decided"
    latest = save(EDITED + " Thanks.", parent=later)
    assert place(shown(latest), thread)["state"] == "outdated"


def test_a_person_says_where_it_is_instead(
    owner_api: APIClient, start: Start, shown: Shown, version: Version, save: Save
) -> None:
    thread = start(version, QUOTE)
    text = "Say which order it is about."
    later, latest = save(text, parent=version), None
    assert place(shown(later), thread)["state"] == "outdated"
    answer = say(owner_api, thread, later, passage=passage(text, "which order")).json()["placement"]
    assert (answer["state"], answer["method"], answer["quote"]) == ("accepted", "by_hand", "which order")
    latest = save(f"Always. {text}", parent=later)
    assert place(shown(latest), thread)["quote"] == "which order"


def test_what_was_worked_out_for_later_versions_follows_a_decision(
    owner_api: APIClient, start: Start, shown: Shown, version: Version, save: Save
) -> None:
    thread = start(version, QUOTE)
    later = save(EDITED, parent=version)
    latest = save(EDITED.replace("politely", "kindly"), parent=later)
    assert place(shown(latest), thread)["state"] == "suggested"
    assert place(shown(later), thread)["state"] == "suggested"
    say(owner_api, thread, later, accept=True)
    assert place(shown(latest), thread)["state"] == "carried"


def test_comments_follow_the_line_of_a_version_and_not_other_branches(
    start: Start, shown: Shown, version: Version, save: Save
) -> None:
    ours = save(POLITE + " Ours.", parent=version)
    theirs = save(POLITE + " Theirs.", parent=version, branch="other")
    on_first, on_ours = start(version, QUOTE), start(ours, QUOTE, text=POLITE + " Ours.")
    assert {row["id"] for row in shown(theirs)["results"]} == {on_first["id"]}
    assert {row["id"] for row in shown(ours)["results"]} == {on_first["id"], on_ours["id"]}
    assert {row["id"] for row in shown(version)["results"]} == {on_first["id"]}


def test_a_comment_on_the_whole_version_stays_one_in_later_versions(
    start: Start, shown: Shown, version: Version, save: Save
) -> None:
    thread = start(version, None)
    later = save("Something else entirely.", parent=version)
    assert place(shown(later), thread)["state"] == "whole"


def test_words_that_moved_to_another_message_are_only_suggested(
    start: Start, shown: Shown, prompt: Prompt, version: Version, save: Save
) -> None:
    thread = start(version, QUOTE)
    later = save("Never guess a total.", parent=version, system=f"You are kind. {QUOTE} You are brief.")
    here = place(shown(later), thread)
    assert (here["state"], here["text"], here["quote"]) == ("suggested", 0, QUOTE)


@pytest.mark.usefixtures("friend_comments")
def test_a_commenter_decides_and_a_stranger_finds_nothing(
    friend_api: APIClient, stranger_api: APIClient, start: Start, shown: Shown, version: Version, save: Save
) -> None:
    thread = start(version, QUOTE)
    later = save(EDITED, parent=version)
    shown(later)
    assert say(stranger_api, thread, later, accept=True).status_code == 404
    assert say(friend_api, thread, later, accept=True).json()["placement"]["decided_by"]["name"] == "Frank Friend"


@pytest.mark.parametrize("fields", [{}, {"accept": True, "passage": passage(POLITE, QUOTE)}, {"accept": "perhaps"}])
def test_one_thing_is_said_at_a_time(
    owner_api: APIClient, start: Start, version: Version, fields: dict[str, Any]
) -> None:
    assert say(owner_api, start(version, QUOTE), version, **fields).status_code == 400


def test_nobody_moves_a_comment_on_its_own_version_or_to_one_before_it(
    owner_api: APIClient, start: Start, version: Version, save: Save
) -> None:
    later = save(POLITE + " Sign.", parent=version)
    thread = start(later, QUOTE, text=POLITE + " Sign.")
    for where in (version, later):
        assert say(owner_api, thread, where, passage=passage(POLITE, "politely")).status_code == 400
    assert say(owner_api, thread, later, accept=False).status_code == 409


def test_a_place_is_worked_out_once(start: Start, shown: Shown, version: Version, save: Save) -> None:
    start(version, QUOTE)
    later = save(EDITED, parent=version)
    for _ in range(3):
        shown(later)
    assert Placement.objects.filter(version=later).count() == 1
    assert Placement.objects.count() == 2


def test_a_hundred_threads_are_carried_in_one_list(
    owner: User, start: Start, shown: Shown, prompt: Prompt, save: Save
) -> None:
    lines = [f"Rule {number}: do the thing that rule {number} asks for.\n" for number in range(100)]
    version = save("".join(lines))
    for line in lines:
        start(version, line.strip(), text="".join(lines))
    changed = [line.replace("thing", "other thing") if number % 10 == 0 else line for number, line in enumerate(lines)]
    later = save("Read this.\n" + "".join(changed), parent=version)
    states = [row["placement"]["state"] for row in shown(later, limit=200)["results"]]
    assert states.count("carried") == 90
    assert states.count("suggested") == 10


def test_a_merged_version_shows_the_comments_of_both_its_parents(
    owner: User, prompt: Prompt, start: Start, shown: Shown, version: Version, save: Save
) -> None:
    from playground import services
    from playground.spec import parse

    ours = save(POLITE + " Ours.", parent=version)
    theirs = save("Theirs. " + POLITE, parent=version, branch="other")
    on_ours = start(ours, QUOTE, text=POLITE + " Ours.")
    on_theirs = start(theirs, QUOTE, text="Theirs. " + POLITE)
    raw = {
        "model": "test-model",
        "max_tokens": 16,
        "messages": [{"role": "user", "content": f"Theirs. {POLITE} Ours."}],
    }
    merged = services.save_version(author=owner, prompt=prompt, spec=parse(raw), parent=ours, merged=theirs).version
    states = {row["id"]: row["placement"]["state"] for row in shown(merged)["results"]}
    assert states == {on_ours["id"]: "carried", on_theirs["id"]: "carried"}


def test_a_passage_inside_content_blocks_is_carried_as_well(
    owner_api: APIClient, prompt: Prompt, shown: Shown, save: Save
) -> None:
    def blocks(text: str) -> list[dict[str, Any]]:
        content = [{"type": "text", "text": "First block."}, {"type": "text", "text": text}]
        return [{"role": "user", "content": content}]

    version = save(messages=blocks(POLITE))
    url = f"/api/v1/prompts/{prompt.pk}/versions/{version.number}/threads"
    thread = owner_api.post(url, {"body": "?", "passage": passage(POLITE, QUOTE, index=1)}, format="json").json()
    later = save(messages=blocks(f"New. {POLITE} End."), parent=version)
    here = place(shown(later), thread)
    assert (here["state"], here["text"], here["quote"]) == ("carried", 1, QUOTE)


def test_a_worked_out_place_never_takes_the_place_of_a_decision(
    owner_api: APIClient, start: Start, shown: Shown, version: Version, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that began before somebody decided ends after."""
    from review import carrying
    from review.models import Thread

    thread = start(version, QUOTE)
    later = save(EDITED, parent=version)
    row = Thread.objects.select_related("version").get(pk=thread["id"])
    unplaced = carrying._unplaced

    def decided_meanwhile(where: Version, threads: Any) -> Any:
        found = unplaced(where, threads)
        say(owner_api, thread, later, passage=passage(EDITED, "politely"))
        return found

    monkeypatch.setattr(carrying, "_unplaced", decided_meanwhile)
    carrying.carry_threads(later, [row])
    assert place(shown(later), thread)["quote"] == "politely"
