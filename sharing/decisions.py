"""Decisions of the last few seconds, in this process only: so that a hot link costs no query a request.

Never in Redis, never extended by use, and stamped before the database is asked: a slow query must not make an old
answer look young. Refusals are not kept, so what is newly shared works at once.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sharing import bound, policy

MOST = 50_000


class Dated(Protocol):
    """What is decided on: it knows the prompt's epoch at the moment when the database was asked."""

    @property
    def acl_epoch(self) -> int: ...


What = TypeVar("What", bound=Dated)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision(Generic[What]):
    """`asked_at_s`: the monotonic clock before the database was asked."""

    what: What
    asked_at_s: float

    def shows(self, made_epoch: int) -> bool:
        return policy.shows(decided_epoch=self.what.acl_epoch, made_epoch=made_epoch)


class Decisions(Generic[What]):
    """By (prompt, key). `lifetimes` is asked each time, so that a bound of 0 means what it says."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        lifetimes: Callable[[], bound.Lifetimes] = bound.current,
        most: int = MOST,
    ) -> None:
        self._clock = clock
        self._lifetimes = lifetimes
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[uuid.UUID, Decision[What]]] = OrderedDict()
        self._of_prompt: dict[uuid.UUID, set[Hashable]] = {}
        #: Epochs heard of, so that a fill that was under way when the news came does not bring the old answer back.
        self._floors: OrderedDict[uuid.UUID, int] = OrderedDict()
        self._lock = threading.Lock()

    def kept(self, key: Hashable, *, at_least: int = 0) -> Decision[What] | None:
        """One that may be used again, of at least this epoch. Never asks the database."""
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            return None
        decision = found[1]
        reusable = policy.reusable(asked_at_s=decision.asked_at_s, now_s=self._clock(), lifetimes=self._lifetimes())
        return decision if reusable and decision.shows(at_least) else None

    def ask(
        self, key: Hashable, prompt_of: Callable[[What], uuid.UUID], read: Callable[[], What | None]
    ) -> Decision[What] | None:
        """A decision made now; None for a refusal. What `read` raises is raised: no answer is not a yes."""
        asked_at_s = self._clock()
        what = read()
        if what is None:
            with self._lock:
                self._drop(key)
            return None
        decision = Decision(what=what, asked_at_s=asked_at_s)
        with self._lock:
            self._keep(key, prompt_of(what), decision)
        return decision

    def _keep(self, key: Hashable, prompt_id: uuid.UUID, decision: Decision[What]) -> None:
        self._drop(key)
        if decision.what.acl_epoch < self._floors.get(prompt_id, 0):
            return
        self._kept[key] = (prompt_id, decision)
        self._of_prompt.setdefault(prompt_id, set()).add(key)
        if len(self._kept) > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        prompt_id, _ = self._kept.pop(key, (None, None))
        if prompt_id is not None:
            keys = self._of_prompt[prompt_id]
            keys.discard(key)
            if not keys:
                del self._of_prompt[prompt_id]

    def learn(self, prompt_id: uuid.UUID, acl_epoch: int) -> None:
        """The prompt is at this epoch now: what was decided before is forgotten. Late or lost, it does no harm."""
        with self._lock:
            self._floors[prompt_id] = max(acl_epoch, self._floors.pop(prompt_id, 0))
            if len(self._floors) > self._most:
                self._floors.popitem(last=False)
            for key in list(self._of_prompt.get(prompt_id, ())):
                if self._kept[key][1].what.acl_epoch < acl_epoch:
                    self._drop(key)

    def forget(self) -> None:
        """After news may have been missed."""
        with self._lock:
            self._kept.clear()
            self._of_prompt.clear()
