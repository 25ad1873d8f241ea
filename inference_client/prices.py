"""What models cost, in US dollars a million tokens, and what a run cost by that.

Anthropic's list prices are those of platform.claude.com/docs/en/about-claude/pricing in November 2026. The setting
MODEL_PRICES goes before them, and is the only source for models of one's own. A model that neither names has no price,
which is said as such and never as nothing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.conf import settings

from inference_client.models import Provider

_MILLION = Decimal(1_000_000)
#: Digits that a run's cost is kept with: a hundredth of a millionth of a dollar.
_UNIT = Decimal("0.00000001")
#: Prices of writing to the cache, as multiples of the price of reading a token, by how long it is kept.
_WRITE_5_MINUTES, _WRITE_1_HOUR = Decimal("1.25"), Decimal(2)
#: Ids may end in the date of a snapshot.
_SNAPSHOT = re.compile(r"-(20\d{6}|latest)$")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Price:
    """Dollars a million tokens; `cache_read`: what a token from the prompt cache costs, as a part of an input token.

    `long`: the price of every token of a request whose prompt has more than `long_above` tokens.
    """

    input_per_mtok: Decimal
    output_per_mtok: Decimal
    cache_read: Decimal = Decimal("0.1")
    long_above: int = 0
    long: Price | None = None

    def as_json(self) -> dict[str, float]:
        return {"input_per_mtok": float(self.input_per_mtok), "output_per_mtok": float(self.output_per_mtok)}


def _price(read: str, written: str, cache_read: str = "0.1") -> Price:
    return Price(input_per_mtok=Decimal(read), output_per_mtok=Decimal(written), cache_read=Decimal(cache_read))


_HAIKU_5_5 = dataclasses.replace(_price("0.10", "0.50"), long_above=100_000, long=_price("0.50", "2.50"))
ANTHROPIC: Mapping[str, Price] = {
    "claude-fable-5-1": _price("10", "50", "0.025"),
    "claude-mythos-5-1": _price("10", "50", "0.025"),
    "claude-fable-5": _price("10", "50"),
    "claude-mythos-5": _price("10", "50"),
    "claude-opus-5-5": _price("4", "20", "0.05"),
    "claude-opus-5": _price("5", "25"),
    "claude-opus-4-8": _price("5", "25"),
    "claude-opus-4-7": _price("5", "25"),
    "claude-opus-4-6": _price("5", "25"),
    "claude-opus-4-5": _price("5", "25"),
    "claude-sonnet-5-5": _price("2", "10", "0.05"),
    "claude-sonnet-5": _price("2", "10"),
    "claude-sonnet-4-6": _price("3", "15"),
    "claude-sonnet-4-5": _price("3", "15"),
    "claude-haiku-5-5": _HAIKU_5_5,
    "claude-haiku-4-5": _price("1", "5"),
}


def price_of(model: str, provider: str) -> Price | None:
    """The price of a model; None where nobody has named one."""
    given: Mapping[str, Any] = settings.MODEL_PRICES
    own = given.get(f"{provider}/{model}", given.get(model))
    if own is not None:
        return parse_price(own)
    return ANTHROPIC.get(_SNAPSHOT.sub("", model)) if provider == Provider.ANTHROPIC else None


def parse_price(given: Any) -> Price:
    """An entry of MODEL_PRICES. Raises ValueError."""
    if not isinstance(given, Mapping) or not {"input_per_mtok", "output_per_mtok"} <= set(given):
        raise ValueError("a price is {input_per_mtok, output_per_mtok, cache_read?}, in dollars a million tokens")
    values = {name: Decimal(str(value)) for name, value in given.items() if _is_amount(value)}
    if set(values) != set(given) or not set(given) <= {"input_per_mtok", "output_per_mtok", "cache_read"}:
        raise ValueError("a price holds input_per_mtok, output_per_mtok and cache_read, numbers of 0 or more")
    read, written = values["input_per_mtok"], values["output_per_mtok"]
    return Price(input_per_mtok=read, output_per_mtok=written, cache_read=values.get("cache_read", Decimal("0.1")))


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1_000_000


def cost_usd(
    *, model: str, provider: str, usage: Mapping[str, Any], input_tokens: int | None, output_tokens: int | None
) -> Decimal | None:
    """What a request cost; None where the price or a count is unknown.

    `input_tokens` is of all tokens that were read; `usage`, as the provider told it, says which of them were read
    from the prompt cache or written to it, at prices of their own.
    """
    price = price_of(model, provider)
    if price is None or input_tokens is None or output_tokens is None:
        return None
    if price.long is not None and input_tokens > price.long_above:
        price = price.long
    read = _count(usage, "cache_read_input_tokens")
    written = _count(usage, "cache_creation_input_tokens")
    lasting = min(written, _count(usage.get("cache_creation"), "ephemeral_1h_input_tokens"))
    plain = max(0, input_tokens - read - written)
    tokens = plain + read * price.cache_read + (written - lasting) * _WRITE_5_MINUTES + lasting * _WRITE_1_HOUR
    cost = (tokens * price.input_per_mtok + output_tokens * price.output_per_mtok) / _MILLION
    return cost.quantize(_UNIT, rounding=ROUND_HALF_UP)


def _count(usage: object, name: str) -> int:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
