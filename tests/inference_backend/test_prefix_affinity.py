"""Beginnings of prompts: recognised in any process, remembered in bounded space."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from inference_backend.scheduling.affinity import MOST_BLOCKS, PrefixMemory, prefix_chain


def test_prompts_share_numbers_exactly_as_far_as_they_share_whole_blocks() -> None:
    first = prefix_chain(["a" * 100, "b" * 100], block=50)
    second = prefix_chain(["a" * 100, "b" * 20 + "c" * 80], block=50)
    assert len(first) == len(second) == 4
    assert [one == other for one, other in zip(first, second, strict=True)] == [True, True, False, False]


def test_where_one_turn_ends_and_the_next_begins_makes_a_difference() -> None:
    assert prefix_chain(["ab", "c" * 60], block=50) != prefix_chain(["a", "bc" + "c" * 59], block=50)


def test_a_short_prompt_has_no_block_and_a_long_one_not_more_than_the_most() -> None:
    assert prefix_chain(["short"]) == ()
    assert len(prefix_chain(["x" * 1_000_000])) == MOST_BLOCKS


def test_another_process_gives_the_same_numbers() -> None:
    code = "from inference_backend.scheduling.affinity import prefix_chain; print(prefix_chain(['word ' * 500]))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == str(prefix_chain(["word " * 500]))


@given(texts=st.lists(st.text(max_size=80), max_size=6), more=st.text(max_size=80))
def test_a_longer_prompt_begins_with_the_blocks_of_a_shorter_one(texts: list[str], more: str) -> None:
    chain = prefix_chain(texts, block=16)
    assert prefix_chain([*texts, more], block=16)[: len(chain)] == chain


@given(prefixes=st.lists(st.lists(st.integers(0, 30), max_size=12, unique=True), max_size=30))
def test_memory_stays_bounded_and_keeps_the_last_beginning(prefixes: list[list[int]]) -> None:
    memory = PrefixMemory(capacity=8)
    for prefix in prefixes:
        memory.remember(tuple(prefix))
        assert len(memory) <= 8
        assert memory.matched(tuple(prefix)) == min(8, len(prefix))
