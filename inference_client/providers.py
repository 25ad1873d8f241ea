"""Where a run is sent, and with whose key. A key of a person is used for that person's runs and for nothing else."""

from __future__ import annotations

import dataclasses
from typing import Literal

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from core.errors import Unprocessable
from core.prepared import Prepared
from inference_client import sealing
from inference_client.models import Provider, ProviderKey

#: Settings that name everybody in ANTHROPIC_KEY_FOR.
EVERYBODY = "everybody"
_KEY = Prepared(lambda account_id: ProviderKey.objects.filter(account_id=account_id, provider=Provider.ANTHROPIC))
KeySource = Literal["service", "own", "operator"]


class ProviderKeyMissing(Unprocessable):
    code = "provider_key_missing"
    default_message = "There is no key for Anthropic that this run may use. Nothing was sent."
    default_next_step = "Add your own key under Account > Providers, or choose another model."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """A provider as one person reaches it. `reference` names the key without being it: for caches.

    `ending`: the last four characters of a person's own key, for the person.
    """

    provider: Provider
    base_url: str
    public_url: str
    api_key: str = dataclasses.field(repr=False)
    source: KeySource
    reference: str
    ending: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it may be told whom a run is for, and answers one idempotency key with one generation."""
        return self.provider == Provider.SELF_HOSTED

    @property
    def name(self) -> str:
        return "Anthropic" if self.provider == Provider.ANTHROPIC else "The model server of this playground"


def targets_of(person: User) -> list[Target]:
    """The providers that this person's runs can be sent to; our own, the default, first."""
    found = [self_hosted()] if offers_self_hosted() else []
    try:
        anthropic = _anthropic_of(person)
    except ProviderKeyMissing:
        # Their page of providers says so, and each run that would need it.
        anthropic = None
    return [*found, anthropic] if anthropic is not None else found


def target_for(person: User, provider: str) -> Target:
    """Where a run of `person` goes now, and the key it goes with. Raises ProviderKeyMissing."""
    if provider == Provider.SELF_HOSTED:
        return self_hosted()
    found = _anthropic_of(person)
    if found is None:
        raise ProviderKeyMissing
    return found


def offers_self_hosted() -> bool:
    """Not where INFERENCE_BASE_URL is Anthropic's own address: then there is nothing else."""
    return bool(settings.INFERENCE_BASE_URL != settings.ANTHROPIC_BASE_URL)


def default_provider() -> Provider:
    return Provider.SELF_HOSTED if offers_self_hosted() else Provider.ANTHROPIC


def may_use_operators_key(person: User) -> bool:
    """Whether the operator pays for this person's runs at Anthropic."""
    allowed = {each.strip().lower() for each in settings.ANTHROPIC_KEY_FOR}
    return bool(settings.ANTHROPIC_API_KEY) and bool(allowed & {EVERYBODY, person.tier, person.email})


def self_hosted() -> Target:
    return Target(
        provider=Provider.SELF_HOSTED,
        base_url=settings.INFERENCE_BASE_URL,
        public_url=settings.INFERENCE_PUBLIC_URL,
        api_key=settings.INFERENCE_API_KEY,
        source="service",
        reference="service",
    )


@sensitive_variables()
def _anthropic_of(person: User) -> Target | None:
    """With the person's own key, else with the operator's, if they may use it."""
    key = _KEY.first(account_id=person.pk)
    if key is not None:
        return anthropic_with(_opened(key), source="own", reference=str(key.pk), ending=key.ending)
    if may_use_operators_key(person):
        return anthropic_with(settings.ANTHROPIC_API_KEY, source="operator", reference="operator")
    return None


@sensitive_variables()
def anthropic_with(api_key: str, *, source: KeySource, reference: str, ending: str = "") -> Target:
    return Target(
        provider=Provider.ANTHROPIC,
        base_url=settings.ANTHROPIC_BASE_URL,
        public_url=settings.ANTHROPIC_BASE_URL,
        api_key=api_key,
        source=source,
        reference=reference,
        ending=ending,
    )


def _opened(key: ProviderKey) -> str:
    """Raises ProviderKeyMissing for one that the server cannot open any more."""
    try:
        return sealing.unseal(key.sealed, owner=str(key.account_id))
    except (sealing.SealBroken, sealing.SealingUnavailable):
        raise ProviderKeyMissing(
            "Your key for Anthropic cannot be read: this server has other SEALING_KEYS now. Nothing was sent.",
            next_step="Add it again under Account > Providers.",
        ) from None
