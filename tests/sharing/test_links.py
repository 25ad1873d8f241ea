from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import User
from accounts.services import deactivate_account
from core.errors import InvalidInput, NotAllowed, NotFound
from playground import services
from playground.models import Prompt, Version
from sharing import links, tokens
from sharing.models import ShareLink
from sharing.services import Target, grant_access, narrow_link, redeem_link, revoke_link, rotate_link
from tests.sharing.conftest import Link, Save

pytestmark = pytest.mark.django_db


def test_a_token_has_256_bits_and_a_mark_and_only_its_hash_is_kept(link: Link) -> None:
    made = link()
    assert made.token is not None
    assert made.token.startswith("psl_")
    assert len(made.token) == len("psl_") + 43
    assert bytes(made.link.token_hash) == tokens.hash_of(made.token)
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(l)::text FROM sharing_sharelink l")
        assert made.token not in cursor.fetchone()[0]


def test_a_repeated_call_makes_one_link_and_shows_its_token_once(link: Link) -> None:
    first, second = link(idempotency_key="k"), link(idempotency_key="k")
    assert first.link == second.link
    assert (first.token is None, second.token) == (False, None)


def test_every_combination_of_options_is_either_made_or_refused_by_its_field(link: Link, version: Version) -> None:
    """One validator for all: a password and an expiry and a limit never cancel each other."""
    later = timezone.now() + dt.timedelta(days=1)
    options: dict[str, list[object]] = {
        "audience": ["public", "signed_in"],
        "password": [None, "secret"],
        "expires_at": [None, later],
        "max_views": [None, 3],
        "shows_history": [True, False],
        "target": [Target(version=version), Target(branch="main")],
    }
    for values in itertools.product(*options.values()):
        fields: dict[str, Any] = dict(zip(options, values, strict=True))
        made = link(**fields)
        assert links.standing_of(made.link.pk) is not None
        ShareLink.objects.all().delete()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("audience", "everybody"),
        ("role", "editor"),
        ("password", "abc"),
        ("max_views", 0),
        ("expires_at", dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        ("note", "n" * 201),
        ("target", Target()),
        ("target", Target(branch="main", label="production")),
        ("target", Target(branch="absent")),
        ("target", Target(label="absent")),
    ],
)
def test_a_wrong_option_is_refused_by_its_field(link: Link, field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        link(**{field: value})
    assert caught.value.field == field


def test_a_pinned_link_shows_its_version_for_ever(link: Link, save: Save, version: Version) -> None:
    made = link()
    save("Newer.")
    standing = links.standing_of(made.link.pk)
    assert standing is not None
    assert standing.version == version


def test_a_following_link_shows_where_the_branch_is(link: Link, save: Save) -> None:
    made = link(target=Target(branch="main"))
    newer = save("Newer.")
    standing = links.standing_of(made.link.pk)
    assert standing is not None
    assert standing.version == newer


def test_a_link_that_follows_a_removed_label_opens_nothing(
    owner: User, prompt: Prompt, version: Version, link: Link
) -> None:
    services.move_label(actor=owner, prompt=prompt, name="production", to=version)
    made = link(target=Target(label="production"))
    assert links.standing_of(made.link.pk) is not None
    services.remove_label(actor=owner, prompt=prompt, name="production")
    assert links.standing_of(made.link.pk) is None


def test_the_database_refuses_a_link_into_another_prompt(owner: User, link: Link) -> None:
    made = link().link
    other = services.create_prompt(owner=owner, name="Other")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(IntegrityError), transaction.atomic():
            cursor.execute("UPDATE sharing_sharelink SET prompt_id = %s WHERE id = %s", [other.pk, made.pk])


@pytest.mark.parametrize("how", ["revoked", "expired", "trashed", "owner switched off", "owner's row changed by hand"])
def test_what_voids_a_link_voids_it_at_once(owner: User, prompt: Prompt, link: Link, how: str) -> None:
    made = link()
    assert made.token is not None
    before = Prompt.objects.get(pk=prompt.pk).acl_epoch
    if how == "revoked":
        revoke_link(person=owner, link=made.link)
    elif how == "expired":
        ShareLink.objects.update(expires_at=timezone.now())
    elif how == "trashed":
        services.trash_prompt(prompt=prompt)
    elif how == "owner switched off":
        deactivate_account(account=owner)
    else:
        User.objects.filter(pk=owner.pk).update(is_active=False)
    assert links.standing_of(made.link.pk) is None
    with pytest.raises(NotFound):
        redeem_link(token=made.token, person=None)
    if how != "expired":
        assert Prompt.objects.get(pk=prompt.pk).acl_epoch > before


def test_restoring_a_prompt_opens_its_links_again(owner: User, prompt: Prompt, link: Link) -> None:
    made = link().link
    services.restore_prompt(prompt=services.trash_prompt(prompt=prompt))
    assert links.standing_of(made.pk) is not None


def test_revoking_one_link_leaves_the_others(owner: User, link: Link) -> None:
    """Also one of the same version, made before or after."""
    before, ended, after = link().link, link().link, link().link
    revoke_link(person=owner, link=ended)
    assert [links.standing_of(each.pk) is not None for each in (before, ended, after)] == [True, False, True]


def test_revoking_twice_is_once(owner: User, link: Link) -> None:
    made = link().link
    first = revoke_link(person=owner, link=made).revoked_at
    assert revoke_link(person=owner, link=made).revoked_at == first


def test_another_address_ends_the_old_one_and_stays_the_same_link(owner: User, link: Link) -> None:
    made = link()
    fresh = rotate_link(person=owner, link=made.link)
    assert fresh.link.pk == made.link.pk
    assert fresh.token is not None
    assert made.token is not None
    with pytest.raises(NotFound):
        redeem_link(token=made.token, person=None)
    assert redeem_link(token=fresh.token, person=None).link.pk == made.link.pk


def test_changing_a_link_keeps_its_address(owner: User, link: Link, version: Version) -> None:
    made = link(target=Target(branch="main"))
    assert made.token is not None
    for note in ("first", "second"):
        narrow_link(person=owner, link=made.link, note=note, target=Target(version=version))
    opened = redeem_link(token=made.token, person=None).link
    assert (opened.pk, opened.note, opened.is_pinned) == (made.link.pk, "second", True)


def test_an_address_never_becomes_public_by_being_updated(owner: User, link: Link) -> None:
    made = link(audience="signed_in")
    narrow_link(person=owner, link=made.link, note="x")
    assert made.token is not None
    with pytest.raises(NotFound):
        redeem_link(token=made.token, person=None)


def test_a_limit_below_what_was_seen_is_refused(owner: User, link: Link) -> None:
    made = link()
    assert made.token is not None
    for _ in range(2):
        redeem_link(token=made.token, person=None)
    with pytest.raises(InvalidInput):
        narrow_link(person=owner, link=made.link, max_views=1)


def test_who_may_not_share_makes_and_changes_no_link(
    owner: User, friend: User, stranger: User, prompt: Prompt, link: Link
) -> None:
    made = link().link
    grant_access(person=owner, prompt=prompt, account=friend, role="editor")
    for person, error in ((friend, NotAllowed), (stranger, NotFound)):
        for change in (revoke_link, rotate_link, narrow_link):
            with pytest.raises(error):
                change(person=person, link=made)
        with pytest.raises(error):
            link(person=person)
