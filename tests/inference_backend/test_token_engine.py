"""The cost model of a token engine: its steps take what its docstring says, and it never uses what it does not have."""

from hypothesis import given
from hypothesis import strategies as st

from inference_backend.simulation.token_engine import TokenCost, TokenEngine

COST = TokenCost(
    slots=3,
    prefill_tokens_per_s=1000,
    step_s=0.01,
    step_s_per_answer=0.001,
    chunk_tokens=100,
    kv_blocks=20,
    block_tokens=10,
)


def step(engine: TokenEngine) -> tuple[float | None, list[str], list[str]]:
    seconds = engine.begin_step()
    outcome = engine.end_step()
    return None if seconds is None else round(seconds, 6), outcome.first, outcome.finished


def test_steps_take_a_base_and_a_part_for_each_answer_and_each_prompt_token() -> None:
    engine = TokenEngine(COST)
    engine.add("a", prompt_tokens=50, output_tokens=3)
    assert step(engine) == (0.06, ["a"], [])
    engine.add("b", prompt_tokens=120, output_tokens=2)
    assert step(engine) == (0.111, [], [])
    assert step(engine) == (0.031, ["b"], ["a"])
    assert step(engine) == (0.011, [], ["b"])
    assert engine.begin_step() is None


def test_an_engine_without_chunks_reads_all_prompts_in_one_step() -> None:
    engine = TokenEngine(TokenCost(prefill_tokens_per_s=1000, step_s=0.0, chunk_tokens=None))
    engine.add("a", prompt_tokens=700, output_tokens=2)
    engine.add("b", prompt_tokens=300, output_tokens=2)
    assert step(engine) == (1.0, ["a", "b"], [])


def test_a_prefix_that_was_read_is_not_read_again() -> None:
    engine = TokenEngine(COST)
    engine.add("a", prompt_tokens=100, output_tokens=1, prefix=(1, 2, 3, 4))
    assert step(engine) == (0.11, ["a"], ["a"])
    engine.add("b", prompt_tokens=100, output_tokens=1, prefix=(1, 2, 3, 5))
    assert step(engine) == (0.035, ["b"], ["b"])


@given(
    answers=st.lists(st.tuples(st.integers(1, 250), st.integers(1, 40), st.booleans()), max_size=12),
)
def test_slots_and_blocks_are_never_over_committed_and_all_are_given_back(
    answers: list[tuple[int, int, bool]],
) -> None:
    engine = TokenEngine(COST)
    for number, (prompt, output, _) in enumerate(answers):
        engine.add(str(number), prompt_tokens=prompt, output_tokens=output)
    leaving = {str(number) for number, (_, _, leaves) in enumerate(answers) if leaves}
    finished: list[str] = []
    for count in range(2000):
        if count == 5:
            for answer_id in leaving:
                engine.remove(answer_id)
        if engine.begin_step() is None:
            break
        assert engine.writing <= COST.slots
        assert engine.blocks_used <= COST.kv_blocks
        finished += engine.end_step().finished
    assert len(engine) == engine.blocks_used == 0
    assert len(finished) == len(set(finished))
    assert {str(number) for number in range(len(answers))} - leaving <= set(finished)
