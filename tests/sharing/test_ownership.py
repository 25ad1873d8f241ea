from __future__ import annotations

import pytest

from accounts.models import User
from core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from playground.models import Prompt
from sharing import links
from sharing.models import Grant, Notification
from sharing.services import accept_ownership, decline_ownership, offer_ownership
from tests.sharing.conftest import Link

pytestmark = pytest.mark.django_db


def test_nothing_changes_before_it_is_accepted(owner: User, friend: User, prompt: Prompt, grant: Grant) -> None:
    offer_ownership(person=owner, prompt=prompt, to=friend)
    assert Prompt.objects.get(pk=prompt.pk).owner == owner
    assert Notification.objects.filter(account=friend, kind="ownership_offered").exists()


def test_who_accepts_owns_it_and_who_had_it_goes_on_as_an_editor(
    owner: User, friend: User, prompt: Prompt, grant: Grant, link: Link
) -> None:
    made = link().link
    moved = accept_ownership(person=friend, transfer=offer_ownership(person=owner, prompt=prompt, to=friend))
    assert moved.owner == friend
    assert Grant.objects.on(prompt.pk).get().account == owner
    assert links.standing_of(made.pk) is None
    assert not owner.has_perm("playground.own_prompt", moved)
    assert owner.has_perm("playground.change_prompt", moved)


def test_an_offer_is_accepted_once_and_by_whom_it_was_made_to(
    owner: User, friend: User, stranger: User, prompt: Prompt, grant: Grant
) -> None:
    transfer = offer_ownership(person=owner, prompt=prompt, to=friend)
    with pytest.raises(NotFound):
        accept_ownership(person=stranger, transfer=transfer)
    accept_ownership(person=friend, transfer=transfer)
    with pytest.raises(Conflict):
        accept_ownership(person=friend, transfer=transfer)


def test_a_second_offer_ends_the_first(owner: User, friend: User, prompt: Prompt, grant: Grant) -> None:
    first = offer_ownership(person=owner, prompt=prompt, to=friend)
    offer_ownership(person=owner, prompt=prompt, to=friend)
    with pytest.raises(Conflict):
        accept_ownership(person=friend, transfer=first)


@pytest.mark.parametrize(("who", "status"), [("friend", "declined"), ("owner", "withdrawn")])
def test_an_offer_is_declined_or_taken_back(
    owner: User, friend: User, prompt: Prompt, grant: Grant, who: str, status: str
) -> None:
    transfer = offer_ownership(person=owner, prompt=prompt, to=friend)
    person = {"friend": friend, "owner": owner}[who]
    assert decline_ownership(person=person, transfer=transfer).status == status


def test_it_is_offered_to_who_can_see_it_and_by_its_owner(
    owner: User, friend: User, stranger: User, prompt: Prompt, grant: Grant
) -> None:
    with pytest.raises(InvalidInput):
        offer_ownership(person=owner, prompt=prompt, to=stranger)
    with pytest.raises(NotAllowed):
        offer_ownership(person=friend, prompt=prompt, to=friend)
