"""The zip file: written so that the same prompt gives the same bytes, read as if somebody meant harm.

Names are never used as paths. Sizes are counted while reading, whatever the file claims about them.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import IO, Protocol

from core.errors import InvalidInput, TooLarge
from playground.bodies.codec import MAX_TEXT_BYTES

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 * 1024 * 1024
MAX_BODIES = 50_000
MAX_TOTAL_BYTES = 2 * 1024 * 1024 * 1024
_BODY = re.compile(r"bodies/([0-9a-f]{64})\.txt")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DATE = (1980, 1, 1, 0, 0, 0)
_SPOOLED = 16 * 1024 * 1024
_PIECE = 1024 * 1024
#: What begins an entry of the directory at the end of a zip file.
_ENTRY_MARK = b"PK\x01\x02"


class Texts(Protocol):
    """Where the texts of a file come from."""

    @property
    def unpacked_bytes(self) -> int:
        """Of all of them together. A file may lie about it."""

    def names(self) -> frozenset[str]:
        """The SHA-256 of each, in hex, as the file claims it."""

    def read(self, sha256: str) -> bytes:
        """One of `names`: its bytes, hashed again. Raises InvalidInput, TooLarge."""


def write(manifest: bytes, bodies: Iterable[tuple[str, bytes]]) -> IO[bytes]:
    """A zip in a temporary file, wound back to its start. The caller closes it."""
    kept = tempfile.SpooledTemporaryFile(max_size=_SPOOLED)  # noqa: SIM115  # handed to the caller
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.writestr(_entry(MANIFEST), manifest)
        for sha256, text in bodies:
            archive.writestr(_entry(f"bodies/{sha256}.txt"), text)
    kept.seek(0)
    return kept


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


class Archive:
    """A zip file that somebody sent. `manifest` is its JSON, not parsed yet."""

    def __init__(self, file: IO[bytes]) -> None:
        """Raises InvalidInput for anything but the one manifest and bodies by their hash; TooLarge."""
        _refuse_crowd(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise _damaged() from error
        self._left = MAX_TOTAL_BYTES
        self._bodies: dict[str, zipfile.ZipInfo] = {}
        manifest = None
        for info in self._zip.infolist():
            _refuse_odd(info)
            body = _BODY.fullmatch(info.filename)
            if info.filename == MANIFEST and manifest is None:
                manifest = info
            elif body and body[1] not in self._bodies:
                self._bodies[body[1]] = info
            elif not (info.filename == "bodies/" and info.file_size == 0):
                raise InvalidInput("This file has an entry that no export has.", code="not_an_export", field="file")
        if manifest is None:
            raise InvalidInput("This file has no manifest.json: it is no export.", code="not_an_export", field="file")
        self.manifest = self._read(manifest, MAX_MANIFEST_BYTES)

    @property
    def unpacked_bytes(self) -> int:
        """Of all texts together, as the directory of the file claims it."""
        return sum(info.file_size for info in self._bodies.values())

    def names(self) -> frozenset[str]:
        return frozenset(self._bodies)

    def read(self, sha256: str) -> bytes:
        return checked(self._read(self._bodies[sha256], MAX_TEXT_BYTES), sha256)

    def _read(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        limit = min(limit, self._left)
        try:
            with self._zip.open(info) as entry:
                data = entry.read(limit + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise _damaged() from error
        if len(data) > limit:
            raise TooLarge("Unpacked, this file is larger than the limit.", code="unpacked_too_large", field="file")
        self._left -= len(data)
        return data


class InlineTexts:
    """Texts that are in the JSON itself, by their SHA-256."""

    def __init__(self, bodies: Mapping[str, object]) -> None:
        if not all(isinstance(text, str) and _BODY.fullmatch(f"bodies/{name}.txt") for name, text in bodies.items()):
            raise InvalidInput("Bodies are texts by their SHA-256.", field="bodies")
        self._bodies = {name: str(text) for name, text in bodies.items()}

    @property
    def unpacked_bytes(self) -> int:
        """Of all texts together, in UTF-8."""
        return sum(len(text.encode("utf-8", "surrogatepass")) for text in self._bodies.values())

    def names(self) -> frozenset[str]:
        return frozenset(self._bodies)

    def read(self, sha256: str) -> bytes:
        return checked(self._bodies[sha256].encode("utf-8"), sha256)


def checked(text: bytes, sha256: str) -> bytes:
    """The same bytes, if they are what their name says, and text. Raises InvalidInput."""
    if hashlib.sha256(text).hexdigest() != sha256:
        raise InvalidInput("A text is not the one that its name says.", code="damaged_file", field=f"bodies/{sha256}")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"A text is not valid UTF-8 at byte {error.start}.", code="invalid_utf8", field=f"bodies/{sha256}"
        ) from error
    return text


def _refuse_crowd(file: IO[bytes]) -> None:
    """Before a list of millions of entries is made of it."""
    entries, tail = 0, b""
    while piece := file.read(_PIECE):
        data = tail + piece
        entries, tail = entries + data.count(_ENTRY_MARK), data[-len(_ENTRY_MARK) + 1 :]
        if entries > MAX_BODIES + 2:
            raise TooLarge(f"A file has at most {MAX_BODIES:,} texts.", code="too_many_entries", field="file")
    file.seek(0)


def _refuse_odd(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & 0x1:
        raise InvalidInput("This file is encrypted.", code="not_an_export", field="file")
    if info.compress_type not in _METHODS:
        raise InvalidInput("This file is packed in a way that is not read here.", code="not_an_export", field="file")


def _damaged() -> InvalidInput:
    return InvalidInput("This file is no zip file, or it is damaged.", code="damaged_file", field="file")
