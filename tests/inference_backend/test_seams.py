"""Where two halves of an answer meet, whatever the pieces."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_backend.continuation import (
    Resumption,
    Seam,
    SeamMismatchError,
    Transcript,
    resume_by_prefill,
    resume_by_replay,
    resume_sampled,
)
from inference_backend.engines.protocol import GenerationRequest, TextDelta, Turn, Usage

REQUEST = GenerationRequest(turns=(Turn(role="user", text="hi"),), max_tokens=1000, temperature=0.0)
# Tokens as vocabularies have them: words with the blank before them, parts of words, line feeds, no blanks at all.
PIECES = st.lists(
    st.text(alphabet="ab .\n日🙂", min_size=1, max_size=4) | st.sampled_from([" a", " word", "\n", "ing", "  "]),
    min_size=1,
    max_size=30,
)


def transcript_of(pieces: Sequence[str], *, is_counted: bool) -> Transcript:
    transcript = Transcript()
    for number, piece in enumerate(pieces, 1):
        transcript.take(TextDelta(text=piece))
        if is_counted:
            transcript.take(Usage(output_tokens=number))
    return transcript


def through(resumption: Resumption, pieces: Sequence[str]) -> str:
    seam = Seam(resumption)
    passed = "".join(seam.feed(piece) for piece in pieces)
    seam.finish()
    return passed


def recut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@given(pieces=PIECES, lost_after=st.integers(0, 30), size=st.integers(1, 7), is_counted=st.booleans())
def test_a_replayed_answer_is_the_undisturbed_one(
    pieces: list[str], lost_after: int, size: int, is_counted: bool
) -> None:
    transcript = transcript_of(pieces[:lost_after], is_counted=is_counted)
    resumption = resume_by_replay(REQUEST, transcript)
    assert resumption.request == REQUEST
    whole = "".join(pieces)
    assert transcript.text + through(resumption, recut(whole, size)) == whole


@given(pieces=PIECES, lost_after=st.integers(0, 30), size=st.integers(1, 7), is_counted=st.booleans())
def test_a_prefilled_answer_is_the_undisturbed_one_and_keeps_its_length(
    pieces: list[str], lost_after: int, size: int, is_counted: bool
) -> None:
    transcript = transcript_of(pieces[:lost_after], is_counted=is_counted)
    resumption = resume_by_prefill(REQUEST, transcript)
    if resumption is None:
        return
    beginning = resumption.request.turns[-1].text
    assert beginning == beginning.rstrip(), "a template that strips would change it"
    assert beginning == "".join(pieces[: resumption.tokens_before]), "cut between two tokens"
    assert resumption.overlap[0].isspace()
    assert resumption.request.max_tokens == REQUEST.max_tokens - resumption.tokens_before
    whole = "".join(pieces)
    assert transcript.text + through(resumption, recut(whole[len(beginning) :], size)) == whole


@given(pieces=PIECES, at=st.integers(0, 200), size=st.integers(1, 7))
def test_another_answer_never_gets_through(pieces: list[str], at: int, size: int) -> None:
    text = "".join(pieces)
    at %= len(text)
    other = text[:at] + "#" + text[at + 1 :]
    with pytest.raises(SeamMismatchError):
        through(resume_by_replay(REQUEST, transcript_of(pieces, is_counted=True)), recut(other, size))


@given(pieces=PIECES, size=st.integers(1, 7))
def test_an_answer_that_ends_before_it_caught_up_does_not_fit(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    with pytest.raises(SeamMismatchError):
        through(resume_by_replay(REQUEST, transcript_of(pieces, is_counted=True)), recut(text[:-1], size))


@given(pieces=PIECES)
def test_sampled_text_is_continued_without_white_space_twice(pieces: list[str]) -> None:
    transcript = transcript_of(pieces, is_counted=True)
    resumption = resume_sampled(REQUEST, transcript)
    if resumption is None:
        assert not transcript.text.strip()
        return
    ends_blank = transcript.text[-1].isspace()
    passed = through(resumption, [" ", " more"])
    assert passed == ("more" if ends_blank else "  more")


def test_a_prefill_leaves_at_least_one_token_to_write() -> None:
    short = GenerationRequest(turns=REQUEST.turns, max_tokens=1, temperature=0.0)
    transcript = transcript_of(["one", " two"], is_counted=True)
    assert resume_by_prefill(short, transcript) is None
    assert resume_sampled(short, transcript) is None
