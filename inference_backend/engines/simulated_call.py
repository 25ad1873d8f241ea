"""A simulated device for the fixed batch call: always the same time, vectors from the text, faults on demand."""

import asyncio
import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference_backend.engines.embedding import Embedding
from inference_backend.errors import EngineConnectionError, EngineFailedError, EngineRefusedError
from inference_backend.settings import SettingsError

DIMENSIONS = 8
_VECTOR = struct.Struct(f"<{DIMENSIONS}f")
_DIGEST = struct.Struct(f"<{DIMENSIONS}I")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list_of_calls(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(call, int) for call in value)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0


_FIELDS: Mapping[str, Callable[[object], bool]] = {
    "refuses": _is_text,
    "breaks": _is_text,
    "kills": _is_text,
    "dies_at": _is_list_of_calls,
    "hangs_at": _is_list_of_calls,
    "down_s": _is_time,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Faults:
    """Calls are counted from 1, for each worker by itself. Texts are found anywhere in an input.

    `refuses`: the whole call is refused, the worker stays well. `breaks`: the call fails. `kills`: the worker dies
    `down_s` long. `dies_at`, `hangs_at`: the calls in the middle of which it dies, or from which it never comes back.
    """

    refuses: str | None = None
    breaks: str | None = None
    kills: str | None = None
    dies_at: frozenset[int] = frozenset()
    hangs_at: frozenset[int] = frozenset()
    down_s: float = 0.5

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Faults":
        """Raises SettingsError."""
        for name, value in table.items():
            if name not in _FIELDS:
                raise SettingsError(f"embeddings.faults: unknown field {name}")
            if not _FIELDS[name](value):
                raise SettingsError(f"embeddings.faults.{name}: {value!r} is not understood")
        known: dict[str, Any] = {
            name: frozenset(value) if isinstance(value, list) else value for name, value in table.items()
        }
        return cls(**known)


class SimulatedCall:
    """Takes `call_s` for any number of inputs up to `max_size`, and refuses more."""

    def __init__(self, *, call_s: float, max_size: int, faults: Faults | None = None) -> None:
        self._call_s = call_s
        self._max_size = max_size
        self._faults = faults or Faults()
        self._down_until = float("-inf")
        self._is_busy = False
        self.calls = 0
        self.inputs = 0

    async def call(self, items: Sequence[str]) -> Sequence[Embedding | Exception]:
        if self._is_busy:
            raise EngineRefusedError("The simulated device makes one call at a time.")
        if len(items) > self._max_size:
            raise EngineRefusedError(f"The simulated device takes {self._max_size} inputs, not {len(items)}.")
        self._is_busy = True
        try:
            return await self._compute(items)
        finally:
            self._is_busy = False

    async def probe(self) -> None:
        if asyncio.get_running_loop().time() < self._down_until:
            raise EngineConnectionError("The simulated device is down.")

    async def aclose(self) -> None:
        pass

    def die(self, down_s: float) -> None:
        """What it computes at the moment is lost."""
        self._down_until = asyncio.get_running_loop().time() + down_s

    async def _compute(self, items: Sequence[str]) -> list[Embedding | Exception]:
        await self.probe()
        self.calls += 1
        self.inputs += len(items)
        faults, call = self._faults, self.calls
        if call in faults.hangs_at:
            await asyncio.Event().wait()
        if call in faults.dies_at or _any_holds(items, faults.kills):
            await asyncio.sleep(self._call_s / 2)
            self.die(faults.down_s)
        else:
            await asyncio.sleep(self._call_s)
        await self.probe()
        if _any_holds(items, faults.breaks):
            raise EngineFailedError("The simulated device failed.")
        if _any_holds(items, faults.refuses):
            raise EngineRefusedError("The simulated device refuses an input of this call.")
        return [embed(text) for text in items]


def embed(text: str) -> Embedding:
    """The same vector for the same text, everywhere; each component in [-1, 1)."""
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST.size).digest()
    vector = _VECTOR.pack(*[number / 2**31 - 1 for number in _DIGEST.unpack(digest)])
    return Embedding(vector=vector, tokens=len(text.split()) or 1)


def _any_holds(items: Sequence[str], text: str | None) -> bool:
    return text is not None and any(text in item for item in items)
