"""What a spec would take before it is run: tokens, room in the context, cost, and what will be refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Literal

import rfc8785
from django.core.cache import cache
from django.db.models import Sum
from redis import RedisError

from accounts.models import User
from core.errors import InvalidInput, TooLarge
from inference_client import catalogue, prices
from inference_client.counting import Counted, count_tokens
from inference_client.models import Provider
from inference_client.providers import default_provider
from playground import checking, freezing, wire
from playground import spec as specs
from playground.checking import Problem
from playground.models import Body, Prompt

#: Texts of more bytes together are not read for a count: no context in use holds them.
MOST_BYTES = 16 * 1024 * 1024
#: No vocabulary in use has a longer token, so that many bytes are one token at least.
LONGEST_TOKEN_BYTES = 512
CACHE_S = 600

Overflow = Literal["input", "answer"]


@dataclass(frozen=True, kw_only=True)
class Largest:
    """`tokens`: its share of the whole by bytes, so about so many; None where the whole is not known."""

    field: str
    bytes: int
    tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Size:
    """`input_tokens`: None where it is not known, and `reason` says why; `at_least`: what is sure of it.

    `overflow`: "input" does not fit the context, or leaves no room; "answer": it may be cut short for want of `room`.
    """

    model: str
    input_tokens: int | None = None
    at_least: int | None = None
    reason: str = ""
    context: int | None = None
    max_tokens: int | None = None
    largest: Largest | None = None
    cost: dict[str, float] | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def room(self) -> int | None:
        """Tokens that the context leaves for the answer."""
        if self.context is None or self.input_tokens is None:
            return None
        return max(0, self.context - self.input_tokens)

    @property
    def overflow(self) -> Overflow | None:
        if self.context is None:
            return None
        if (self.at_least or self.input_tokens or 0) >= self.context:
            return "input"
        if self.room is not None and self.max_tokens is not None and self.max_tokens > self.room:
            return "answer"
        return None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "overflow": self.overflow, "room": self.room}


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What the catalogue says of the model. `problem`: that it is surely on offer nowhere."""

    provider: str
    context: int | None = None
    capabilities: object = None
    problem: str = ""


def measure(
    *, account: User, prompt: Prompt, raw: object, values: Mapping[str, str], provider: str | None = None
) -> Size:
    """Size a raw spec with its values, without keeping anything. What cannot be saved is a problem, not an error.

    Raises InvalidInput for what is no spec at all or names a text that this prompt has not, and StorageUnavailable.
    """
    if not isinstance(raw, dict):
        raise InvalidInput("A spec is a JSON object.", field="spec")
    try:
        spec = specs.parse(raw)
    except (InvalidInput, TooLarge) as error:
        return _unsaveable(raw, error)
    known = _known(account, spec.model, provider)
    elsewhere = _bytes_elsewhere(account, prompt, spec)
    if elsewhere > MOST_BYTES:
        return _too_large(spec, elsewhere, known)
    plain = freezing.read_back(author=account, prompt=prompt, spec=spec)
    body = wire.build(plain, wire.complete_values(plain, values), stream=False)
    return _size(account, plain, body, known)


def _unsaveable(raw: Mapping[str, Any], error: InvalidInput | TooLarge) -> Size:
    field_ = (error.field or "spec").removeprefix("spec.")
    return Size(
        model=str(raw.get("model", "")),
        reason="Put right what is marked, then it can be counted.",
        problems=[Problem(field=field_, message=error.message)],
    )


def _known(account: User, model: str, provider: str | None) -> _Known:
    found = catalogue.offer_to(account).find(model, provider)
    if found is not None:
        return _Known(provider=found.provider, context=found.context, capabilities=found.capabilities)
    try:
        return _Known(provider=catalogue.choose_provider(account, model, provider))
    except InvalidInput as error:
        return _Known(provider=default_provider(), problem=error.message)


def _bytes_elsewhere(account: User, prompt: Prompt, spec: specs.Spec) -> int:
    """Bytes of the texts that the spec names instead of giving them. Raises InvalidInput for one it cannot name."""
    frozen = freezing.freeze(author=account, prompt=prompt, spec=spec, parent=None)
    names = frozen.names - {hashlib.sha256(text.data).hexdigest() for text in frozen.texts}
    kept = Body.objects.filter(prompt=prompt, sha256__in=[bytes.fromhex(name) for name in names])
    return int(kept.aggregate(total=Sum("byte_length"))["total"] or 0)


def _too_large(spec: specs.Spec, size: int, known: _Known) -> Size:
    return Size(
        model=spec.model,
        at_least=size // LONGEST_TOKEN_BYTES,
        reason=f"More than {MOST_BYTES // 1024 // 1024} MiB of text are not counted.",
        context=known.context,
        max_tokens=spec.max_tokens,
    )


def _size(account: User, plain: dict[str, Any], body: dict[str, Any], known: _Known) -> Size:
    version = wire.api_version(plain)
    texts = list(_texts(body))
    total = sum(size for _, size in texts)
    at_least = total // LONGEST_TOKEN_BYTES
    if known.problem:
        counted = Counted(reason=known.problem)
    elif known.context is not None and at_least >= known.context:
        counted = Counted(reason="This is more than any model of this size can read.")
    else:
        counted = remembered_count(account, known.provider, body, version)
    target = checking.Target(
        api_version=version, capabilities=known.capabilities, is_anthropic=known.provider == Provider.ANTHROPIC
    )
    return Size(
        model=body["model"],
        input_tokens=counted.tokens,
        at_least=None if counted.tokens is not None else at_least,
        reason=counted.reason,
        context=known.context,
        max_tokens=body["max_tokens"],
        largest=_largest(texts, total, counted.tokens),
        cost=_cost(body, known.provider, counted.tokens),
        problems=[
            *([Problem(field="model", message=known.problem)] if known.problem else []),
            *_with_refusal(checking.problems(body, target), counted.refusal),
        ],
    )


def _texts(body: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The parts of a request by their field, each with its bytes."""
    if "system" in body:
        yield "system", _bytes(body["system"])
    for index, message in enumerate(body["messages"]):
        yield f"messages.{index}", _bytes(message["content"])
    if "tools" in body:
        yield "tools", _bytes(body["tools"])
    if "output_config" in body:
        yield "output_schema", _bytes(body["output_config"])


def _bytes(value: object) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8"))


def _largest(texts: list[tuple[str, int]], total: int, tokens: int | None) -> Largest | None:
    name, size = max(texts, key=lambda text: text[1])
    if not size:
        return None
    return Largest(field=name, bytes=size, tokens=None if tokens is None else round(tokens * size / total))


def _cost(body: Mapping[str, Any], provider: str, tokens: int | None) -> dict[str, float] | None:
    """Dollars for the input, and for the longest answer on top of it; None where a price or the count is unknown."""

    def cost(output_tokens: int) -> Decimal | None:
        model = str(body["model"])
        return prices.cost_usd(
            model=model, provider=provider, usage={}, input_tokens=tokens, output_tokens=output_tokens
        )

    read, whole = cost(0), cost(body["max_tokens"])
    if read is None or whole is None:
        return None
    return {"input": float(read), "answer_most": float(whole - read)}


def _with_refusal(found: list[Problem], refusal: str) -> list[Problem]:
    """The server's own words, unless one of ours already says what it refuses."""
    if not refusal or any(problem.level == "error" for problem in found):
        return found
    written = refusal.partition(":")[0].split(".")
    place = _PLACES.get(written[0], written[0])
    field_ = ".".join([place, *written[1:]]) if place in specs.Spec.model_fields else ""
    return [Problem(field=field_, message=f"The model server would refuse this: {refusal}"), *found]


_PLACES = {"output_config": "output_schema"}


def remembered_count(account: User, provider: str, body: Mapping[str, Any], version: str) -> Counted:
    """As `count_tokens`; an answer is kept for a while under the hash of what it is about."""
    key = f"tokens:{provider}:{version}:{hashlib.sha256(rfc8785.dumps(dict(body))).hexdigest()}"
    known = _recall(key)
    if known is not None:
        return Counted(tokens=known)
    counted = count_tokens(account=account, provider=provider, body=body, api_version=version)
    if counted.tokens is not None:
        _remember(key, counted.tokens)
    return counted


def _recall(key: str) -> int | None:
    try:
        value: int | None = cache.get(key)
    except RedisError:
        return None
    return value


def _remember(key: str, tokens: int) -> None:
    try:
        cache.set(key, tokens, CACHE_S)
    except RedisError:
        return
