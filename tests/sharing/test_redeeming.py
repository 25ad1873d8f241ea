from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput, NotFound, RateLimited
from sharing import access, tokens, visits
from sharing.models import AccessLogEntry, Grant, ShareLink
from sharing.services import narrow_link, redeem_link
from sharing.services.redeeming import MAX_TRIES, TRIES_WITHIN
from tests.sharing.conftest import Link

pytestmark = pytest.mark.django_db


def test_looking_at_the_landing_page_uses_nothing_up(link: Link) -> None:
    """Preview bots and mail scanners only ever do that."""
    made = link(max_views=1)
    assert made.token is not None
    for _ in range(5):
        access.landing(made.token, None)
    assert ShareLink.objects.get(pk=made.link.pk).views == 0
    redeem_link(token=made.token, person=None)
    assert ShareLink.objects.get(pk=made.link.pk).views == 1


def test_the_last_view_is_the_last(link: Link) -> None:
    made = link(max_views=1)
    assert made.token is not None
    redeem_link(token=made.token, person=None)
    with pytest.raises(NotFound):
        redeem_link(token=made.token, person=None)
    with pytest.raises(NotFound):
        access.landing(made.token, None)


def test_a_visit_that_goes_on_costs_no_second_view(link: Link) -> None:
    made = link(max_views=1)
    assert made.token is not None
    opened = redeem_link(token=made.token, person=None)
    visit = visits.read(opened.cookie, made.link.pk)
    redeem_link(token=made.token, person=None, visitor=visit)
    assert ShareLink.objects.get(pk=made.link.pk).views == 1


def test_a_cookie_opens_its_own_link_only(link: Link) -> None:
    one, other = link(), link()
    assert one.token is not None
    cookie = redeem_link(token=one.token, person=None).cookie
    assert visits.read(cookie, one.link.pk) is not None
    assert visits.read(cookie, other.link.pk) is None
    assert visits.read(cookie + "x", one.link.pk) is None
    assert visits.read(None, one.link.pk) is None


def test_a_link_never_becomes_a_grant(friend: User, link: Link) -> None:
    made = link(audience="signed_in")
    assert made.token is not None
    redeem_link(token=made.token, person=friend)
    assert not Grant.objects.exists()
    assert not friend.has_perm("playground.view_prompt", made.link.prompt)


def test_who_is_not_signed_in_finds_nothing_behind_a_link_for_those_who_are(link: Link, friend: User) -> None:
    made = link(audience="signed_in")
    assert made.token is not None
    with pytest.raises(NotFound):
        redeem_link(token=made.token, person=None)
    assert redeem_link(token=made.token, person=friend).link == made.link


def test_absent_revoked_expired_and_used_up_are_the_same_error(link: Link) -> None:
    gone = {name: link(max_views=1) for name in ("revoked", "expired", "used up")}
    ShareLink.objects.filter(pk=gone["revoked"].link.pk).update(revoked_at=timezone.now())
    ShareLink.objects.filter(pk=gone["expired"].link.pk).update(expires_at=timezone.now())
    ShareLink.objects.filter(pk=gone["used up"].link.pk).update(views=1)
    errors = set()
    for token in [*(made.token for made in gone.values()), tokens.new_token(), "", "x" * 100_000, "\ud83d"]:
        with pytest.raises(NotFound) as caught:
            redeem_link(token=str(token), person=None)
        errors.add(str(caught.value.as_json()))
    assert len(errors) == 1


@pytest.mark.parametrize("token", ["absent", "foreign to all", "psl_" + "A" * 43])
def test_a_token_that_opens_nothing_is_looked_up_like_one_that_does(
    link: Link, token: str, django_assert_num_queries: object
) -> None:
    """One hash and one query to decide, one more to note a link that is over."""
    link()
    with django_assert_num_queries(2), pytest.raises(NotFound):  # type: ignore[operator]
        redeem_link(token=token, person=None)


def test_a_password_opens_and_a_wrong_one_does_not(link: Link) -> None:
    made = link(password="open sesame")
    assert made.token is not None
    for wrong, code in ((None, "password_needed"), ("", "password_needed"), ("open", "wrong_password")):
        with pytest.raises(InvalidInput) as caught:
            redeem_link(token=made.token, person=None, password=wrong)
        assert caught.value.code == code
    assert redeem_link(token=made.token, person=None, password="open sesame").link == made.link
    assert "sesame" not in ShareLink.objects.get(pk=made.link.pk).password


def test_passwords_are_tried_a_few_times_only_wherever_from(link: Link) -> None:
    made = link(password="open sesame")
    assert made.token is not None
    for number in range(MAX_TRIES):
        with pytest.raises(InvalidInput):
            redeem_link(token=made.token, person=None, password="wrong", address=f"192.0.2.{number}")
    with pytest.raises(RateLimited):
        redeem_link(token=made.token, person=None, password="open sesame")
    ShareLink.objects.update(password_tries_since=timezone.now() - TRIES_WITHIN - dt.timedelta(seconds=1))
    redeem_link(token=made.token, person=None, password="open sesame")
    assert ShareLink.objects.get(pk=made.link.pk).password_tries == 0


def test_another_password_ends_the_visits_of_the_old_one(owner: User, link: Link) -> None:
    made = link(password="open sesame")
    assert made.token is not None
    before = redeem_link(token=made.token, person=None, password="open sesame")
    narrow_link(person=owner, link=made.link, password="another one")
    visit = visits.read(before.cookie, made.link.pk)
    decision = access.link_decision(made.link.pk)
    assert visit is not None
    assert decision is not None
    assert visit.seal != decision.what.seal


def test_what_was_tried_is_in_the_log(link: Link) -> None:
    made = link(password="open sesame")
    assert made.token is not None
    with pytest.raises(InvalidInput):
        redeem_link(token=made.token, person=None, password="wrong", address="192.0.2.1")
    redeem_link(token=made.token, person=None, password="open sesame", address="192.0.2.1")
    ShareLink.objects.update(revoked_at=timezone.now())
    with pytest.raises(NotFound):
        redeem_link(token=made.token, person=None, address="192.0.2.1")
    entries = AccessLogEntry.objects.filter(what="opened").order_by("pk")
    assert list(entries.values_list("allowed", "reason", "address")) == [
        (False, "wrong_password", "192.0.2.1"),
        (True, "", "192.0.2.1"),
        (False, "gone", "192.0.2.1"),
    ]
