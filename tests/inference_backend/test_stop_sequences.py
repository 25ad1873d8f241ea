from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inference_backend.stop_sequences import StopMatcher

LETTERS = st.text(alphabet="abé\n", max_size=30)
SEQUENCES = st.lists(st.text(alphabet="abé\n", min_size=1, max_size=4), max_size=4)


def read_by_character(text: str, sequences: list[str]) -> tuple[str, str | None]:
    """The definition: the first moment at which what was read ends in a sequence, the longest of those."""
    for end in range(1, len(text) + 1):
        complete = [sequence for sequence in sequences if text[:end].endswith(sequence)]
        if complete:
            sequence = max(complete, key=len)
            return text[: end - len(sequence)], sequence
    return text, None


def read_in_chunks(text: str, sequences: list[str], cuts: list[int]) -> tuple[str, str | None]:
    matcher = StopMatcher(sequences)
    borders = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    said = ""
    for start, end in pairwise(borders):
        match = matcher.feed(text[start:end])
        said += match.text
        if match.sequence is not None:
            return said, match.sequence
    return said + matcher.flush(), None


@given(LETTERS, SEQUENCES, st.lists(st.integers(min_value=0), max_size=10))
def test_the_outcome_is_that_of_reading_by_character_however_the_chunks_fall(
    text: str, sequences: list[str], cuts: list[int]
) -> None:
    assert read_in_chunks(text, sequences, cuts) == read_by_character(text, sequences)


@given(LETTERS, SEQUENCES)
def test_no_more_is_held_back_than_could_become_a_sequence(text: str, sequences: list[str]) -> None:
    matcher = StopMatcher(sequences)
    match = matcher.feed(text)
    if match.sequence is None:
        held = text[len(match.text) :]
        assert held == "" or any(sequence.startswith(held) for sequence in sequences)


def test_a_sequence_is_found_across_many_chunks() -> None:
    matcher = StopMatcher(["O P Q"])
    said = [matcher.feed(piece) for piece in ("N", " ", "O", " P", " ", "Q", " R")]
    assert "".join(match.text for match in said[:6]) == "N "
    assert said[5].sequence == "O P Q"
