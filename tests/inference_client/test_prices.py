"""What a run cost: list prices, the operator's own, the prompt cache, and what is said where nobody knows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from inference_client import prices

COUNTS = st.integers(min_value=0, max_value=2**31 - 1)


def cost(model: str, read: int | None, written: int | None, provider: Any = "anthropic", **usage: Any) -> Any:
    return prices.cost_usd(model=model, provider=provider, usage=usage, input_tokens=read, output_tokens=written)


@pytest.mark.parametrize(
    ("model", "read", "written", "usd"),
    [
        ("claude-sonnet-5", 1_000_000, 0, "2"),
        ("claude-sonnet-5", 0, 1_000_000, "10"),
        ("claude-sonnet-5-20260630", 10, 5, "0.00007"),
        ("claude-opus-4-5-20251101", 1_000, 1_000, "0.03"),
        ("claude-haiku-5-5", 100_000, 0, "0.01"),
        ("claude-haiku-5-5", 100_001, 0, "0.0500005"),
        ("claude-sonnet-5", 0, 0, "0"),
    ],
)
def test_list_prices_are_those_a_million_tokens(model: str, read: int, written: int, usd: str) -> None:
    assert cost(model, read, written) == Decimal(usd)


@pytest.mark.parametrize("model", ["claude-sonnet-9", "claude-sonnet-5-preview", "claude-opus-4", "gpt-5"])
def test_a_model_without_a_price_has_no_cost(model: str) -> None:
    assert cost(model, 10, 10) is None


def test_list_prices_are_anthropics_alone() -> None:
    assert cost("claude-sonnet-5", 10, 10, provider="self-hosted") is None


@pytest.mark.parametrize(("read", "written"), [(None, 5), (5, None)])
def test_without_a_count_there_is_no_cost(read: int | None, written: int | None) -> None:
    assert cost("claude-sonnet-5", read, written) is None


def test_tokens_of_the_prompt_cache_have_prices_of_their_own() -> None:
    # 1,000,000 tokens read: 100,000 plain, 800,000 from the cache at a tenth, 100,000 written to it at 1.25.
    usage = {"cache_read_input_tokens": 800_000, "cache_creation_input_tokens": 100_000}
    assert cost("claude-sonnet-5", 1_000_000, 0, **usage) == Decimal("0.61")
    lasting = {**usage, "cache_creation": {"ephemeral_1h_input_tokens": 100_000}}
    assert cost("claude-sonnet-5", 1_000_000, 0, **lasting) == Decimal("0.76")


def test_the_operator_names_prices_of_own_models_and_goes_before_the_list(settings: Settings) -> None:
    settings.MODEL_PRICES = {
        "house-model": {"input_per_mtok": 0.1, "output_per_mtok": 0.4},
        "anthropic/claude-sonnet-5": {"input_per_mtok": 1, "output_per_mtok": 5, "cache_read": 0.5},
    }
    assert cost("house-model", 1_000_000, 1_000_000, provider="self-hosted") == Decimal("0.5")
    assert cost("claude-sonnet-5", 1_000_000, 0) == Decimal(1)
    assert cost("claude-sonnet-5", 1_000_000, 0, cache_read_input_tokens=1_000_000) == Decimal("0.5")
    assert cost("claude-sonnet-5", 1, 1, provider="self-hosted") is None


@given(read=COUNTS, written=COUNTS, cached=COUNTS, created=st.one_of(COUNTS, st.none(), st.text(max_size=3)))
def test_whatever_a_provider_counts_a_cost_is_none_or_fits_its_column(
    read: int, written: int, cached: int, created: object
) -> None:
    found = cost("claude-fable-5", read, written, cache_read_input_tokens=cached, cache_creation_input_tokens=created)
    assert 0 <= found < Decimal(10) ** 6
