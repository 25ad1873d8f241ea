"""Keys of people for providers: kept sealed, tried, removed. Each change is one transaction."""

from __future__ import annotations

import dataclasses
import re

from django.core.cache import cache
from django.db import transaction
from django.views.decorators.debug import sensitive_variables
from redis import RedisError

from accounts.models import User
from accounts.services import KEY_MARK
from core.errors import InvalidInput, NotFound, RateLimited, Unprocessable
from inference_client import listing, providers, sealing
from inference_client.models import ProviderKey

#: Nothing that could end a header line, and nothing that is no key at all.
_KEY = re.compile(r"[\x21-\x7e]{16,500}")
#: Tries a minute and person: enough for typing mistakes, too few for trying out keys of others here.
MOST_TRIES = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeyCheck:
    """What the provider says of a key. `works` is None while that cannot be told."""

    works: bool | None
    message: str


@sensitive_variables()
def keep_key(*, account: User, provider: str, plaintext: str) -> ProviderKey:
    """Keep a person's key in place of the one before; it is tried first.

    Raises InvalidInput for what is no key, Unprocessable for one that the provider refuses, SealingUnavailable,
    RateLimited. While the provider is away, the key is kept untried.
    """
    clean = _checked(plaintext)
    _refuse_many_tries(account)
    sealed = sealing.seal(clean, owner=str(account.pk))
    target = providers.anthropic_with(clean, source="own", reference="", ending=clean[-4:])
    if _verdict(listing.ask(target)).works is False:
        raise Unprocessable(
            "Anthropic refuses this key. It was not kept.",
            code="key_refused",
            field="key",
            next_step="Copy it once more, or make a new one in Anthropic's console.",
        )
    with transaction.atomic():
        # A lock on the person: of two keys that come at once, the later one stays, and none of them fails.
        User.objects.select_for_update(no_key=True).get(pk=account.pk)
        ProviderKey.objects.of(account).filter(provider=provider).delete()
        return ProviderKey.objects.create(account=account, provider=provider, sealed=sealed, ending=clean[-4:])


def remove_key(*, account: User, provider: str) -> None:
    """Forget a key for good: no run is sent with it any more. Raises NotFound."""
    removed, _ = ProviderKey.objects.of(account).filter(provider=provider).delete()
    if not removed:
        raise NotFound("There is no such key.")


def check_key(*, account: User, provider: str) -> KeyCheck:
    """Whether the provider takes the person's own key now. Raises NotFound, ProviderKeyMissing, RateLimited."""
    if not ProviderKey.objects.of(account).filter(provider=provider).exists():
        raise NotFound("There is no such key.")
    _refuse_many_tries(account)
    return _verdict(listing.ask(providers.target_for(account, provider)))


def reseal_keys() -> int:
    """Seal every key anew under the first of SEALING_KEYS; how many. Raises SealBroken for one that none opens."""
    count = 0
    for pk in ProviderKey.objects.values_list("pk", flat=True):
        with transaction.atomic():
            key = ProviderKey.objects.select_for_update().filter(pk=pk).first()
            if key is not None:
                key.sealed = sealing.reseal(key.sealed)
                key.save(update_fields=["sealed"])
                count += 1
    return count


def _verdict(found: listing.Listing) -> KeyCheck:
    if found.problem == "refused":
        return KeyCheck(works=False, message="Anthropic refuses this key.")
    if found.problem == "limited":
        return KeyCheck(works=True, message="Anthropic knows this key, and limits it at the moment.")
    if found.problem is not None:
        return KeyCheck(works=None, message="Anthropic does not answer, so nothing is known of this key.")
    return KeyCheck(works=True, message=f"Anthropic takes this key, and offers {len(found.rows)} models with it.")


@sensitive_variables()
def _checked(plaintext: str) -> str:
    clean = plaintext.strip()
    if not _KEY.fullmatch(clean):
        raise InvalidInput("A key has 16 to 500 letters, digits and signs, without blanks.", field="key")
    if clean.startswith(KEY_MARK):
        raise InvalidInput(
            "This is a key of this playground. It is never sent to Anthropic.",
            field="key",
            next_step="Paste a key from Anthropic's console.",
        )
    return clean


def _refuse_many_tries(account: User) -> None:
    name = f"provider-key-tries:{account.pk}"
    try:
        cache.add(name, 0, 60)
        tries = cache.incr(name)
    except (RedisError, ValueError):
        return
    if tries > MOST_TRIES:
        raise RateLimited("Too many tries with keys.", next_step="Wait a minute, then try again.", retry_after_s=60)
