"""The configuration file: read at the start, and again whenever it changes or SIGHUP arrives.

Each part of the service reads its own section. A change takes effect as a whole or not at all: every section is read
before any is applied, so a mistake in one leaves everything as it was.
"""

import asyncio
import contextlib
import logging
import signal
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from inference_backend.settings import SettingsError

logger = logging.getLogger(__name__)

Section = TypeVar("Section")
Document = Mapping[str, Any]

# The content is compared, not the time of change: mounted configuration is replaced by renaming folders.
POLL_S = 1.0
MAX_BYTES = 4 * 1024 * 1024
SECTIONS = frozenset({"embeddings", "models", "safety", "tiers"})


class ConfigurationFile:
    """Raises SettingsError when it is opened and cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = self._read()
        self.document: Document = _parse(self._content, path)
        self._sections: list[Callable[[Document], Callable[[], None]]] = []
        self._look_now = asyncio.Event()

    def add_section(self, read: Callable[[Document], Section], apply: Callable[[Section], None]) -> Section:
        """What `read` makes of the file now. On every change `read` runs again, and `apply` once all have read.

        `read` raises SettingsError and changes nothing; `apply` does not raise.
        """

        def prepare(document: Document) -> Callable[[], None]:
            section = read(document)
            return lambda: apply(section)

        self._sections.append(prepare)
        return read(self.document)

    async def watch(self) -> None:
        """Until cancelled."""
        with self._listening_for_hangup():
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._look_now.wait()
                is_forced = self._look_now.is_set()
                self._look_now.clear()
                await self._look(is_forced=is_forced)

    async def _look(self, *, is_forced: bool) -> None:
        try:
            content = await asyncio.to_thread(self._read)
        except SettingsError as error:
            # Between two versions of a file there may be none for a moment.
            if is_forced:
                logger.warning("configuration refused; the old one stays", extra={"reason": str(error)})
            return
        if content == self._content and not is_forced:
            return
        self._content = content
        self.reload(content)

    def reload(self, content: bytes) -> bool:
        """Whether it took effect."""
        try:
            document = _parse(content, self._path)
            changes = [prepare(document) for prepare in self._sections]
        except SettingsError as error:
            logger.warning("configuration refused; the old one stays", extra={"reason": str(error)})
            return False
        except Exception:
            # A reader that fails on some file is a bug, but must not end the task that also follows the next one.
            logger.exception("configuration refused; the old one stays")
            return False
        self.document = document
        for change in changes:
            try:
                change()
            except Exception:
                # A bug in one part; the others still follow, and the next change is still seen.
                logger.exception("a section of the configuration was not applied")
        logger.info("configuration read again", extra={"file": self._path.name})
        return True

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise SettingsError(f"the configuration file {self._path} cannot be read: {error.strerror}") from error
        if len(content) > MAX_BYTES:
            raise SettingsError(f"the configuration file {self._path} is larger than {MAX_BYTES} bytes")
        return content

    @contextlib.contextmanager
    def _listening_for_hangup(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # signals reach the main thread only
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._look_now.set)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGHUP)


def _parse(content: bytes, path: Path) -> Document:
    try:
        document = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"the configuration file {path} is not TOML: {error}") from error
    except RecursionError:
        raise SettingsError(f"the configuration file {path} is nested too deeply") from None
    if unknown := sorted(document.keys() - SECTIONS):
        # Most often one that is known, misspelt: limits that are not in force would be noticed too late.
        raise SettingsError(f"{unknown[0]}: not known in {path.name}; there are {', '.join(sorted(SECTIONS))}")
    return document
