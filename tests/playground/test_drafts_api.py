"""`/api/v1/prompts/{id}/drafts`: what is typed is kept as it is, for its writer alone; no tab overwrites another."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import Conflict
from playground import services
from playground.models import Draft, Prompt, Version
from playground.services import SavedVersion, drafts
from tests.playground.test_saving import together

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt) -> str:
    return f"/api/v1/prompts/{prompt.pk}/drafts"


def keep(api: APIClient, url: str, content: str, revision: int | None = None, **more: Any) -> Any:
    return api.put(url, {"content": content, "revision": revision, **more}, format="json")


def test_a_draft_is_kept_and_read_back(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    kept = keep(owner_api, f"{url}/main", '{"spec": {}}', base=1)
    assert kept.status_code == 200
    assert set(kept.json()) == {"revision", "updated_at"}
    read = owner_api.get(f"{url}/main").json()
    assert (read["content"], read["base"], read["branch"], read["bytes"]) == ('{"spec": {}}', 1, "main", 12)
    assert read["revision"] == kept.json()["revision"]


@pytest.mark.parametrize(
    "content",
    [
        '{"spec":{"max_tokens":"","messages":null},"values":{"a":1.0,"b":1e3}}',
        '{"b": 1,  "a":\t2,\r\n"a": 3}',
        json.dumps({"text": "nul \0, half \ud83d, CRLF \r\n, bom \ufeff"}),
        '"👍 é e\u0301 \u2028 \u202e"',
        "null",
        '  {"spec": 1}\n\n',
    ],
)
def test_an_unfinished_spec_is_kept_byte_for_byte(owner_api: APIClient, url: str, content: str) -> None:
    assert keep(owner_api, f"{url}/main", content).status_code == 200
    assert owner_api.get(f"{url}/main").json()["content"] == content


def test_two_tabs_never_overwrite_each_other(owner_api: APIClient, url: str) -> None:
    first = keep(owner_api, f"{url}/main", '"one"').json()["revision"]
    second = keep(owner_api, f"{url}/main", '"two"', first).json()["revision"]
    late = keep(owner_api, f"{url}/main", '"late"', first)
    error = late.json()["error"]
    assert (late.status_code, error["code"]) == (409, "draft_changed")
    assert error["data"]["revision"] == second == first + 1
    assert error["data"]["by"] == "Olive Owner"
    assert error["data"]["updated_at"]
    assert owner_api.get(f"{url}/main").json()["content"] == '"two"'
    assert keep(owner_api, f"{url}/main", '"late"', second).status_code == 200


def test_a_tab_that_knows_of_no_draft_does_not_overwrite_one(owner_api: APIClient, url: str) -> None:
    keep(owner_api, f"{url}/main", '"one"')
    assert keep(owner_api, f"{url}/main", '"other"').status_code == 409


def test_a_repeated_call_whose_answer_was_lost_is_no_conflict(owner_api: APIClient, url: str) -> None:
    first = keep(owner_api, f"{url}/main", '"one"').json()
    assert keep(owner_api, f"{url}/main", '"one"').json()["revision"] == first["revision"]
    again = [keep(owner_api, f"{url}/main", '"two"', first["revision"]) for _ in range(2)]
    assert [answer.status_code for answer in again] == [200, 200]
    assert again[0].json()["revision"] == again[1].json()["revision"]


def test_a_tab_from_before_a_removal_does_not_overwrite_the_next_draft(owner_api: APIClient, url: str) -> None:
    old = keep(owner_api, f"{url}/main", '"one"').json()["revision"]
    assert owner_api.delete(f"{url}/main").status_code == 204
    gone = keep(owner_api, f"{url}/main", '"old tab"', old)
    assert (gone.status_code, gone.json()["error"]["data"]) == (409, {"revision": None})
    fresh = keep(owner_api, f"{url}/main", '"new"').json()["revision"]
    assert fresh > old
    assert keep(owner_api, f"{url}/main", '"old tab"', old).status_code == 409


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("known", [True, False])
def test_of_ten_tabs_at_once_one_is_kept(owner: User, prompt: Prompt, known: bool) -> None:
    def keep_one(content: str, revision: int | None) -> Draft:
        return drafts.keep_draft(
            person=owner, prompt=prompt, branch="main", content=content, base=None, revision=revision
        )

    revision = keep_one('"start"', None).revision if known else None
    contents = iter([f'"tab {number}"' for number in range(10)])
    results = together(10, lambda: keep_one(next(contents), revision))
    kept = [result for result in results if isinstance(result, Draft)]
    assert [type(result) for result in results if result not in kept] == [Conflict] * 9
    assert [draft.content for draft in kept] == list(Draft.objects.values_list("content", flat=True))


def test_a_draft_is_no_version_and_a_save_leaves_it(owner_api: APIClient, url: str, prompt: Prompt, save: Save) -> None:
    keep(owner_api, f"{url}/main", '"one"')
    assert not Version.objects.filter(prompt=prompt).exists()
    save()
    assert owner_api.get(f"{url}/main").status_code == 200
    assert owner_api.delete(f"{url}/main").status_code == 204
    assert owner_api.delete(f"{url}/main").status_code == 204
    assert owner_api.get(f"{url}/main").status_code == 404


def test_each_branch_has_its_own(owner_api: APIClient, url: str) -> None:
    for branch in ("main", "idea", "größe 👍"):
        assert keep(owner_api, f"{url}/{branch}", f'"{branch}"').status_code == 200
    rows = owner_api.get(url).json()["results"]
    assert sorted(row["branch"] for row in rows) == sorted(["main", "idea", "größe 👍"])
    assert "content" not in rows[0]


def test_a_draft_is_its_writers_alone(
    owner_api: APIClient, url: str, prompt: Prompt, stranger: User, stranger_api: APIClient, anonymous_api: APIClient
) -> None:
    keep(owner_api, f"{url}/main", '"mine"')
    drafts.keep_draft(person=stranger, prompt=prompt, branch="main", content='"theirs"', base=None, revision=None)
    assert owner_api.get(f"{url}/main").json()["content"] == '"mine"'
    assert len(owner_api.get(url).json()["results"]) == 1
    for path in (url, f"{url}/main"):
        assert stranger_api.get(path).status_code == 404
        assert anonymous_api.get(path).status_code == 401
    assert keep(stranger_api, f"{url}/main", '"x"').status_code == 404
    assert stranger_api.delete(f"{url}/main").status_code == 404
    assert keep(anonymous_api, f"{url}/main", '"x"').status_code == 401
    assert Draft.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"revision": None}, 400, "content"),
        ({"content": "{}"}, 400, "revision"),
        ({"content": "{", "revision": None}, 400, "content"),
        ({"content": {"spec": 1}, "revision": None}, 400, "content"),
        ({"content": "{}", "revision": "x"}, 400, "revision"),
        ({"content": "{}", "revision": None, "base": 9}, 400, "base"),
        ({"content": '"' + "x" * drafts.MAX_CONTENT_BYTES + '"', "revision": None}, 413, "content"),
        ({"content": "x" * (3 * drafts.MAX_CONTENT_BYTES), "revision": None}, 413, "body"),
    ],
)
def test_bad_input_names_its_field(
    owner_api: APIClient, url: str, body: dict[str, Any], status: int, field: str
) -> None:
    answer = owner_api.put(f"{url}/main", body, format="json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field)
    assert not Draft.objects.exists()


@pytest.mark.parametrize("branch", ["5", "latest", "a%25b", "x" * 101])
def test_a_branch_that_cannot_be_is_400(owner_api: APIClient, url: str, branch: str) -> None:
    assert keep(owner_api, f"{url}/{branch}", "{}").status_code == 400


def test_a_large_draft_fits_with_all_its_quotes_escaped(owner_api: APIClient, url: str) -> None:
    content = json.dumps('"' * 3_900_000)
    assert keep(owner_api, f"{url}/main", content).status_code == 200
    assert owner_api.get(f"{url}/main").json()["content"] == content


def test_a_base_of_another_prompt_is_refused_by_the_database(owner: User, prompt: Prompt, save: Save) -> None:
    foreign = save().version
    other = services.create_prompt(owner=owner, name="Other")
    drafts.keep_draft(person=owner, prompt=other, branch="main", content="{}", base=foreign, revision=None)
    with pytest.raises(Exception, match="draft_base_of_its_prompt"), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
