from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from http_stream.frames import MAX_FRAME_BYTES, BrokenFrame, FrameDecoder

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
DATA_LINES = st.lists(st.text(alphabet="aé🙂:{ }", max_size=8), min_size=1, max_size=3)
NOISE = st.sampled_from(["", ": a comment", "event: ping", "id: 4", "nonsense"])


def write_frame(lines: list[str], noise: str, end: str) -> str:
    head = noise + end if noise else ""
    return head + "".join(f"data: {line}{end}" for line in lines) + end


def decode(data: bytes, cuts: list[int]) -> list[str]:
    decoder = FrameDecoder()
    borders = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [frame for start, end in pairwise(borders) for frame in decoder.feed(data[start:end])]


@given(st.lists(st.tuples(DATA_LINES, NOISE, LINE_ENDS), max_size=5), st.lists(st.integers(min_value=0), max_size=20))
def test_frames_come_out_whole_however_their_bytes_were_cut(
    frames: list[tuple[list[str], str, str]], cuts: list[int]
) -> None:
    wire = "".join(write_frame(*frame) for frame in frames).encode()
    assert decode(wire, cuts) == ["\n".join(lines) for lines, _, _ in frames]


@given(st.binary(max_size=200), st.lists(st.integers(min_value=0), max_size=10))
def test_any_bytes_give_the_same_frames_or_the_same_refusal_in_any_cut(data: bytes, cuts: list[int]) -> None:
    def outcome(where: list[int]) -> list[str] | str:
        try:
            return decode(data, where)
        except BrokenFrame as error:
            return str(error)

    assert outcome(cuts) == outcome([])


def test_an_unfinished_frame_is_not_delivered() -> None:
    assert decode(b"data: one\n\ndata: two\n", []) == ["one"]


def test_a_frame_without_end_is_refused_before_it_fills_the_memory() -> None:
    decoder = FrameDecoder()
    with pytest.raises(BrokenFrame):
        list(feed_often(decoder, b"data: " + b"x" * (MAX_FRAME_BYTES // 8)))


def test_many_data_lines_without_end_are_refused_as_well() -> None:
    decoder = FrameDecoder()
    with pytest.raises(BrokenFrame):
        list(feed_often(decoder, b"data: " + b"x" * (MAX_FRAME_BYTES // 8) + b"\n"))


def feed_often(decoder: FrameDecoder, chunk: bytes) -> Iterator[str]:
    for _ in range(10):
        yield from decoder.feed(chunk)


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(BrokenFrame):
        decode(b"data: \xff\xfe\n\n", [])
