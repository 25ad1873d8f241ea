"""Cards of a chat: drawn for who may see what they show, the same 404 for anybody else, asking tells nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.test import Client

import chat.services
from accounts.models import User
from chat.messages import Reference
from chat.models import ReferenceKind
from playground.models import Prompt, Version
from sharing import services
from sharing.models import AccessRequest, Grant
from tests.sharing.conftest import Save

pytestmark = pytest.mark.django_db

Send = Callable[[Version], None]


@pytest.fixture
def send(owner: User, friend: User) -> Send:
    """`send(version)`: the owner sends it to the friend in a chat."""

    def make(version: Version) -> None:
        conversation = chat.services.start_conversation(person=owner, peer=friend)
        chat.services.send_message(
            sender=owner,
            conversation=conversation,
            client_msg_id=uuid.uuid4(),
            body="Have a look",
            reference=Reference(kind=ReferenceKind.VERSION, id=version.pk),
        )

    return make


def card(version: Version) -> str:
    return f"/shared/cards/version/{version.pk}/"


def test_a_card_shows_name_version_and_beginning_to_who_may_read(
    friend_browser: Client, prompt: Prompt, save: Save, grant: Grant
) -> None:
    version = save("<img src=x onerror=alert(1)> and so on", message="Shorter")
    body = friend_browser.get(card(version)).content.decode()
    for words in (prompt.name, "v1", "Shorter", "&lt;img src=x onerror=alert(1)&gt;", "Open", "Fork"):
        assert words in body
    assert "<html" not in body


def test_a_card_is_not_there_for_who_may_not_read(
    friend_browser: Client, client: Client, version: Version, send: Send
) -> None:
    send(version)
    absent = f"/shared/cards/version/{uuid.uuid4()}/"
    answers = [friend_browser.get(path, headers={"X-Fragment": "1"}) for path in (card(version), absent)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert friend_browser.get(f"/shared/cards/nonsense/{version.pk}/").status_code == 404
    assert client.get(card(version)).status_code == 401


def test_asking_reaches_the_owner_who_answers_with_one_click(
    friend_browser: Client, owner_browser: Client, friend: User, version: Version, send: Send
) -> None:
    send(version)
    assert friend_browser.post(f"{card(version)}ask/").status_code == 204
    assert friend_browser.post(f"{card(version)}ask/").status_code == 204
    asked = AccessRequest.objects.get()
    path = f"/shared/cards/access_request/{asked.pk}/"
    assert "Give access" in owner_browser.get(path).content.decode()
    own = friend_browser.get(path).content.decode()
    assert "Waiting for an answer" in own
    assert version.prompt.name not in own
    owner_browser.post(f"/shared/requests/{asked.pk}/", {"role": "viewer"}, headers={"Accept": "application/json"})
    assert friend_browser.get(card(version)).status_code == 200
    assert "Given: Viewer" in owner_browser.get(path).content.decode()


def test_asking_for_what_was_not_sent_and_what_is_not_there_look_alike(
    stranger_browser: Client, version: Version
) -> None:
    for path in (card(version), f"/shared/cards/version/{uuid.uuid4()}/", f"/shared/cards/run/{uuid.uuid4()}/"):
        answer = stranger_browser.post(f"{path}ask/")
        assert (answer.status_code, answer.content) == (204, b"")
    assert not AccessRequest.objects.exists()


def test_a_card_is_gone_after_a_revocation(friend_browser: Client, owner: User, version: Version, grant: Grant) -> None:
    assert friend_browser.get(card(version)).status_code == 200
    services.revoke_grant(person=owner, grant=grant)
    assert friend_browser.get(card(version)).status_code == 404


def test_the_request_of_somebody_else_is_not_there(stranger_browser: Client, friend: User, prompt: Prompt) -> None:
    asked = AccessRequest.objects.create(prompt=prompt, account=friend)
    assert stranger_browser.get(f"/shared/cards/access_request/{asked.pk}/").status_code == 404
