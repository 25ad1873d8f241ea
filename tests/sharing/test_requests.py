from __future__ import annotations

import uuid

import pytest

import chat.services
from accounts.models import User
from chat.messages import Reference
from chat.models import Message
from core.errors import Conflict, NotFound
from playground.models import Prompt, Version
from sharing.api.ownership import ask
from sharing.models import AccessRequest, Grant, Notification
from sharing.services import answer_request, ask_for_access, revoke_grant

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(owner: User, stranger: User, version: Version) -> Version:
    """The version, sent to the stranger in a chat."""
    chat.services.send_message(
        sender=owner,
        conversation=chat.services.start_conversation(person=owner, peer=stranger),
        client_msg_id=uuid.uuid4(),
        body="Look at this",
        reference=Reference(kind="version", id=version.pk),
    )
    return version


def test_who_was_sent_a_version_may_ask_and_the_owner_is_told_twice(owner: User, stranger: User, sent: Version) -> None:
    request = ask_for_access(person=stranger, version=sent)
    assert Notification.objects.get(account=owner).kind == "access_requested"
    message = Message.objects.get(sender=stranger)
    assert (message.reference_kind, message.reference_id) == ("access_request", request.pk)


def test_asking_again_finds_the_same_request(stranger: User, sent: Version) -> None:
    assert ask_for_access(person=stranger, version=sent) == ask_for_access(person=stranger, version=sent)
    assert Message.objects.filter(sender=stranger).count() == 1


def test_nobody_learns_by_asking_what_exists(stranger: User, version: Version) -> None:
    for subject in (version.pk, uuid.uuid4()):
        ask(stranger, "version", subject)
    assert not AccessRequest.objects.exists()


def test_who_lost_access_may_ask_for_it(owner: User, friend: User, prompt: Prompt, grant: Grant) -> None:
    revoke_grant(person=owner, grant=grant)
    prompt.refresh_from_db()
    assert ask_for_access(person=friend, prompt=prompt).account == friend


def test_who_can_see_it_need_not_ask(friend: User, prompt: Prompt, grant: Grant) -> None:
    with pytest.raises(Conflict):
        ask_for_access(person=friend, prompt=prompt)


def test_an_answer_gives_what_it_says_and_is_given_once(
    owner: User, stranger: User, prompt: Prompt, sent: Version
) -> None:
    request = ask_for_access(person=stranger, version=sent)
    answer_request(person=owner, request=request, role="commenter")
    assert stranger.has_perm("playground.comment_prompt", prompt)
    with pytest.raises(Conflict):
        answer_request(person=owner, request=request, role=None)


def test_a_refusal_gives_nothing_and_tells_no_name(owner: User, stranger: User, prompt: Prompt, sent: Version) -> None:
    request = answer_request(person=owner, request=ask_for_access(person=stranger, version=sent), role=None)
    assert request.status == "declined"
    assert not stranger.has_perm("playground.view_prompt", prompt)
    assert Notification.objects.get(account=stranger, kind="access_declined").name == ""


def test_only_who_may_share_answers(stranger: User, sent: Version) -> None:
    request = ask_for_access(person=stranger, version=sent)
    with pytest.raises(NotFound):
        answer_request(person=stranger, request=request, role="editor")
