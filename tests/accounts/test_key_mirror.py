"""The copy of the keys that the inference backend reads follows the database, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.test import override_settings
from pytest_django import DjangoCaptureOnCommitCallbacks
from redis import Redis

from accounts import key_mirror
from accounts.models import ApiKey, Tier, User
from accounts.services import change_tier, create_api_key, deactivate_account, revoke_api_key
from core.redis import client

pytestmark = pytest.mark.django_db
MakeKey = Callable[..., tuple[ApiKey, str]]
Committed = DjangoCaptureOnCommitCallbacks


def entry(redis: Redis, key: ApiKey) -> dict[bytes | str, bytes | str]:
    return dict(redis.hgetall(f"apikey:{bytes(key.digest).hex()}"))


@pytest.fixture
def mirrored(owner: User, make_key: MakeKey, django_capture_on_commit_callbacks: Committed) -> ApiKey:
    with django_capture_on_commit_callbacks(execute=True):
        key, _ = make_key(owner)
    return key


def test_a_new_key_is_there_after_the_commit(
    owner: User, redis: Redis, make_key: MakeKey, django_capture_on_commit_callbacks: Committed
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        key, _ = make_key(owner)
        assert entry(redis, key) == {}

    assert entry(redis, key) == {b"account": str(owner.pk).encode(), b"tier": b"free", b"scopes": b"api inference"}


def test_the_key_itself_is_nowhere_in_redis(
    owner: User, redis: Redis, make_key: MakeKey, django_capture_on_commit_callbacks: Committed
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        key, plaintext = make_key(owner)

    assert plaintext not in str([*redis.scan_iter("apikey*")])
    assert plaintext not in str(entry(redis, key))


def test_a_revoked_key_is_gone(mirrored: ApiKey, redis: Redis, django_capture_on_commit_callbacks: Committed) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        revoke_api_key(key=mirrored)

    assert entry(redis, mirrored) == {}


def test_a_new_tier_reaches_every_key(
    owner: User, mirrored: ApiKey, redis: Redis, django_capture_on_commit_callbacks: Committed
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        change_tier(account=owner, tier=Tier.PRO)

    assert entry(redis, mirrored)[b"tier"] == b"pro"


def test_a_switched_off_account_has_no_keys(
    owner: User, mirrored: ApiKey, redis: Redis, django_capture_on_commit_callbacks: Committed
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        deactivate_account(account=owner)

    assert entry(redis, mirrored) == {}


def test_a_late_mirror_of_a_creation_does_not_undo_a_revocation(
    owner: User, redis: Redis, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mirror reads the key as usable, the key is revoked and dropped, and only then does the mirror write."""
    key, _ = make_key(owner)
    write = key_mirror._write

    def revoked_meanwhile(digests: list[bytes], entries: dict[bytes, key_mirror.Entry]) -> None:
        monkeypatch.setattr(key_mirror, "_write", write)
        revoke_api_key(key=key)
        key_mirror.drop_key(key)
        write(digests, entries)

    monkeypatch.setattr(key_mirror, "_write", revoked_meanwhile)
    key_mirror.mirror_key(key)

    assert entry(redis, key) == {}


def test_a_redis_that_is_down_does_not_lose_the_key(
    owner: User,
    redis: Redis,
    make_key: MakeKey,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Committed,
) -> None:
    client.cache_clear()
    try:
        with (
            override_settings(REDIS_URL="redis://127.0.0.1:1/0"),
            django_capture_on_commit_callbacks(execute=True),
        ):
            key, plaintext = make_key(owner)
    finally:
        client.cache_clear()
    assert ApiKey.objects.usable().filter(pk=key.pk).exists()
    assert plaintext not in caplog.text

    key_mirror.mirror_all()

    assert entry(redis, key) != {}


def test_a_sweep_fills_an_empty_redis_and_removes_strays(mirrored: ApiKey, redis: Redis) -> None:
    redis.delete(f"apikey:{bytes(mirrored.digest).hex()}")
    redis.hset(f"apikey:{'0' * 64}", mapping={"account": "x", "tier": "internal", "scopes": "inference"})
    redis.set("apikey:not-a-digest", "x")

    sweep = key_mirror.mirror_all()

    assert sweep == key_mirror.Sweep(mirrored=1, removed=2)
    assert [*redis.scan_iter("apikey:*")] == [f"apikey:{bytes(mirrored.digest).hex()}".encode()]


def test_a_sweep_repairs_a_stale_tier_and_a_missed_revocation(
    owner: User, mirrored: ApiKey, redis: Redis, make_key: MakeKey
) -> None:
    User.objects.filter(pk=owner.pk).update(tier=Tier.INTERNAL)
    revoked, _ = make_key(owner)
    key_mirror.mirror_key(revoked)
    revoke_api_key(key=revoked)

    key_mirror.mirror_all()

    assert entry(redis, mirrored)[b"tier"] == b"internal"
    assert entry(redis, revoked) == {}


def test_a_search_for_strays_is_bounded_and_goes_on_where_it_stopped(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2000):
        redis.set(f"apikey:stray-{number}", "x")
    monkeypatch.setattr(key_mirror, "SCAN_STEPS", 1)
    monkeypatch.setattr(key_mirror, "BATCH", 100)

    first = key_mirror.mirror_all().removed
    total = first
    for _ in range(100):
        total += key_mirror.mirror_all().removed

    assert 0 < first < 2000
    assert total == 2000


def test_the_command_says_what_it_did(mirrored: ApiKey, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("mirror_api_keys")

    assert capsys.readouterr().out == "1 keys mirrored, 0 stray entries removed.\n"


def test_two_accounts_do_not_touch_each_other(
    owner: User, stranger: User, redis: Redis, django_capture_on_commit_callbacks: Committed
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        mine, _ = create_api_key(account=owner, name="Mine", scopes=["api"])
        his, _ = create_api_key(account=stranger, name="His", scopes=["inference"])
        deactivate_account(account=stranger)

    assert entry(redis, mine)[b"scopes"] == b"api"
    assert entry(redis, his) == {}
