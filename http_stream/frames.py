"""Server-sent event frames out of bytes that arrive in any cut."""

import re
from collections.abc import Iterator

MAX_FRAME_BYTES = 4 * 1024 * 1024
_LINE_END = re.compile(rb"[\r\n]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class BrokenFrame(ValueError):
    """What came is no event stream."""


class FrameDecoder:
    """Yields the data of each complete frame as text; comments, event names and ids are dropped.

    Bytes are kept as bytes until their frame is complete, so a character may be split over chunks. Line ends are
    LF, CRLF or CR (HTML standard, section "Interpreting an event stream").
    """

    def __init__(self, *, most_bytes: int = MAX_FRAME_BYTES) -> None:
        self._most_bytes = most_bytes
        self._buffer = bytearray()
        self._searched = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._skip_line_feed = False
        self._at_start = True

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Raises BrokenFrame for data that is not UTF-8 and for a frame beyond `most_bytes`."""
        if not self._buffer and not self._data and (payload := self._read_plain(chunk)) is not None:
            yield payload
            return
        self._buffer += chunk
        while (line := self._take_line()) is not None:
            if line:
                self._take_field(line)
            elif self._data:
                yield self._take_frame()
        if len(self._buffer) + self._data_bytes > self._most_bytes:
            raise BrokenFrame("A frame is too large.")

    def _read_plain(self, chunk: bytes) -> str | None:
        """What nearly every chunk is: one frame of one line of data, uncut."""
        if (
            self._at_start
            or self._skip_line_feed
            or len(chunk) > self._most_bytes
            or not chunk.startswith(b"data: ")
            or not chunk.endswith(b"\n\n")
            or chunk.find(b"\n") != len(chunk) - 2
            or b"\r" in chunk
        ):
            return None
        return _decode(chunk[6:-2])

    def _take_line(self) -> bytes | None:
        if self._skip_line_feed and self._buffer:
            if self._buffer[0] == 0x0A:
                del self._buffer[0]
            self._skip_line_feed = False
        found = _LINE_END.search(self._buffer, self._searched)
        if found is None:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[: found.start()])
        self._skip_line_feed = self._buffer[found.start()] == 0x0D
        del self._buffer[: found.end()]
        self._searched = 0
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        return line

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._data_bytes += len(value)

    def _take_frame(self) -> str:
        data = b"\n".join(self._data)
        self._data.clear()
        self._data_bytes = 0
        return _decode(data)


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BrokenFrame("A frame is not UTF-8.") from error
