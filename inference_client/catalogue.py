"""The models that a person can run, of all providers that they reach, and which providers answer at the moment.

Each provider is asked once in a while; what it said last is shown while it is away, marked as not available. Where two
providers offer a model of one name, our own is meant unless the other is named: it costs nothing and keeps the texts
in the house.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime as dt
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from redis import RedisError

from accounts.models import User
from core.errors import InferenceUnavailable, InvalidInput
from inference_client import listing, prices, providers
from inference_client.models import Provider
from inference_client.providers import Target

#: How long a page waits for all providers together.
PATIENCE_S = 2.0
#: While a provider is down, most requests need not wait for it.
_KEPT_S = {Provider.SELF_HOSTED: (10, 2), Provider.ANTHROPIC: (30, 10)}
#: What a provider offered last, for as long as it may stay away.
_REMEMBERED_S = 7 * 24 * 3600
_CACHE_KEY = "inference-models"
#: How many models a refusal names.
_NAMED = 20
#: What Anthropic calls its models.
_ANTHROPICS = "claude"

_asking = concurrent.futures.ThreadPoolExecutor(max_workers=8, thread_name_prefix="catalogue")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
    """`context`: tokens of context. `capabilities`: as the backend declares them. None where nobody says.

    `load`: waiting and running answers, slots for them, tokens_per_s of one, some seconds ago.
    """

    id: str
    context: int | None = None
    capabilities: Any = None
    load: dict[str, float | None] | None = None
    provider: str = Provider.SELF_HOSTED
    notice: str | None = None
    price: dict[str, float] | None = None
    available: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProviderState:
    """`key`: own | operator | service. `notice`: what is wrong, in a sentence; None if nothing is."""

    id: str
    name: str
    key: str
    available: bool
    notice: str | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Offer:
    """All that a person can choose from now."""

    models: list[Model]
    providers: list[ProviderState]

    def find(self, model: str, provider: str | None = None) -> Model | None:
        """The model of this name, at `provider` or at the first one that has it."""
        named = (each for each in self.models if each.id == model and provider in (None, each.provider))
        return next(named, None)


def list_models(person: User) -> list[Model]:
    """The models on offer, at most half a minute old. Raises InferenceUnavailable if there is none at all."""
    models = offer_to(person).models
    if not models:
        raise InferenceUnavailable
    return models


def offer_to(person: User) -> Offer:
    """What every provider offers this person. Waits two seconds at most, and raises nothing for a provider's fault."""
    targets = providers.targets_of(person)
    models: list[Model] = []
    states = []
    for target, entry in zip(targets, _entries(targets), strict=True):
        state = _state(target, entry)
        states.append(state)
        models += _models(target, entry, state)
    return Offer(models=models, providers=states)


def refuse_unknown(person: User, model: str, provider: str | None = None) -> None:
    """Raise InvalidInput for a model that is surely not on offer to this person, at `provider` if it is named.

    Not while our backend is away (the run will say so), and not for Anthropic's API, which takes names that it does
    not list.
    """
    _refuse_unknown(offer_to(person), model, provider)


def _refuse_unknown(offer: Offer, model: str, provider: str | None) -> None:
    if offer.find(model, provider) is not None:
        return
    reached = {each.id: each for each in offer.providers}
    if (provider or _by_name(model)) == Provider.ANTHROPIC:
        is_possible = Provider.ANTHROPIC in reached
    else:
        ours = reached.get(Provider.SELF_HOSTED)
        is_possible = ours is None or not ours.available
    if not is_possible:
        raise _unknown(model, [each.id for each in offer.models], reaches_anthropic=Provider.ANTHROPIC in reached)


def capabilities_of(model: str) -> Any:
    """What our backend declares of a model, whoever asks; None where it says nothing."""
    targets = [providers.self_hosted()] if providers.offers_self_hosted() else []
    rows = [row for entry in _entries(targets) for row in entry["rows"]]
    return next((row.get("capabilities") for row in rows if row["id"] == model), None)


def choose_provider(person: User, model: str, provider: str | None = None) -> str:
    """Who runs `model`: `provider` if it is named, else whoever offers it, our own first. Raises as refuse_unknown."""
    offer = offer_to(person)
    _refuse_unknown(offer, model, provider)
    found = offer.find(model, provider)
    return provider or (found.provider if found is not None else _named(model, [each.id for each in offer.providers]))


def provider_of(person: User, model: str) -> str:
    """Who runs a model that was named alone, by what the providers said last. Asks nobody, so it never waits."""
    targets = providers.targets_of(person)
    for target in targets:
        if any(row["id"] == model for row in _recall(_last(target)) or []):
            return target.provider
    return _named(model, [target.provider for target in targets])


def _named(model: str, reached: Sequence[str]) -> str:
    """Who runs a model that nobody lists."""
    named = _by_name(model)
    return named if named in reached else providers.default_provider()


def address_of(person: User | None, model: str) -> str:
    """The base URL where code of somebody's own reaches a model, with a key of its own: none need be kept here.

    Asks nobody, so it never waits.
    """
    ours = [providers.self_hosted()] if providers.offers_self_hosted() else []
    if any(row["id"] == model for target in ours for row in _recall(_last(target)) or []):
        return str(settings.INFERENCE_PUBLIC_URL)
    known = provider_of(person, model) if person is not None else None
    is_anthropics = Provider.ANTHROPIC in (known, _by_name(model))
    return str(settings.ANTHROPIC_BASE_URL if is_anthropics else settings.INFERENCE_PUBLIC_URL)


def _by_name(model: str) -> str:
    return Provider.ANTHROPIC if model.startswith(_ANTHROPICS) else providers.default_provider()


def _unknown(model: str, names: Sequence[str], *, reaches_anthropic: bool) -> InvalidInput:
    hint = "" if reaches_anthropic else "For Anthropic's models, add a key of your own under Account > Providers."
    return InvalidInput(
        f"There is no model {model!r} here. On offer: {', '.join(names[:_NAMED]) or 'none'}.",
        code="unknown_model",
        field="model",
        data={"models": list(names[:_NAMED])},
        next_step=hint if model.startswith(_ANTHROPICS) else "",
    )


def _models(target: Target, entry: dict[str, Any], state: ProviderState) -> list[Model]:
    rows = entry["rows"]
    if not rows and entry["problem"] and target.provider == Provider.ANTHROPIC:
        rows = [{"id": name, "provider": target.provider} for name in prices.ANTHROPIC]
    found = []
    for row in rows:
        price = prices.price_of(row["id"], row["provider"])
        notice = state.notice or row.get("notice")
        fields = {**row, "notice": notice, "available": state.available, "price": price and price.as_json()}
        found.append(Model(**fields))
    return found


def _state(target: Target, entry: dict[str, Any]) -> ProviderState:
    problem = entry["problem"]
    return ProviderState(
        id=target.provider,
        name=target.name,
        key=target.source,
        available=problem in (None, "limited"),
        notice=_sentence(target, problem, entry["since"]) if problem else None,
    )


def _sentence(target: Target, problem: str, since: str) -> str:
    if problem == "limited":
        return f"{target.name} takes few requests with this key at the moment; a run may be refused."
    if problem == "refused" and target.source == "own":
        return f"Anthropic refuses your key (…{target.ending}). Replace it under Account > Providers."
    if problem == "refused":
        return f"{target.name} refuses the key of this playground. Whoever runs it has to replace it."
    at = dt.datetime.fromisoformat(since).astimezone(dt.UTC)
    what = "does not answer" if problem == "silent" else "answers with errors"
    return f"{target.name} {what} since {at:%H:%M} UTC{_day(at)}."


def _day(at: dt.datetime) -> str:
    return "" if at.date() == timezone.now().astimezone(dt.UTC).date() else f" on {at:%-d %B}"


def _entries(targets: Sequence[Target]) -> list[dict[str, Any]]:
    """What is known of each target: kept from a few seconds ago, or asked for now, all at the same time."""
    known = [_recall(_fresh(target)) for target in targets]
    asked = {
        at: _asking.submit(_ask, target)
        for at, (target, entry) in enumerate(zip(targets, known, strict=True))
        if entry is None
    }
    until = time.monotonic() + PATIENCE_S
    for at, future in asked.items():
        try:
            known[at] = future.result(timeout=max(0.0, until - time.monotonic()))
        except concurrent.futures.TimeoutError:
            known[at] = _note(targets[at], listing.Listing(rows=[], problem="silent"))
    return [entry for entry in known if entry is not None]


def _ask(target: Target) -> dict[str, Any]:
    return _note(target, listing.ask(target))


def _note(target: Target, found: listing.Listing) -> dict[str, Any]:
    """Keep what a provider said, or that it said nothing and since when."""
    good_s, bad_s = _KEPT_S[target.provider]
    if found.problem is None:
        entry: dict[str, Any] = {"rows": found.rows, "problem": None, "since": ""}
        _remember(_last(target), entry["rows"], _REMEMBERED_S)
        _forget(_since(target))
        _remember(_fresh(target), entry, good_s)
        return entry
    entry = {"rows": _recall(_last(target)) or [], "problem": found.problem, "since": _down_since(target)}
    _remember(_fresh(target), entry, bad_s)
    return entry


def _down_since(target: Target) -> str:
    now = timezone.now().isoformat()
    try:
        if not cache.add(_since(target), now, _REMEMBERED_S):
            return str(cache.get(_since(target)) or now)
    except RedisError:
        pass
    return now


def _fresh(target: Target) -> str:
    return _CACHE_KEY if target.is_ours else f"{_CACHE_KEY}:{target.provider}:{target.reference}"


def _last(target: Target) -> str:
    return f"{_fresh(target)}:last"


def _since(target: Target) -> str:
    return f"{_fresh(target)}:down-since"


def _recall(name: str) -> Any:
    try:
        return cache.get(name)
    except RedisError:
        return None


def _remember(name: str, value: Any, seconds: int) -> None:
    try:
        cache.set(name, value, seconds)
    except RedisError:
        return


def _forget(name: str) -> None:
    try:
        cache.delete(name)
    except RedisError:
        return
