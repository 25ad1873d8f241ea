"""A limit of time for each of many short waits, one after the other, with one timer of the loop for all of them."""

import asyncio
from types import TracebackType
from typing import Self


class RecurringTimeout:
    """`with limit.until(time): await ...` raises TimeoutError at that time of the loop's clock, like asyncio.timeout.

    asyncio.timeout sets and clears a timer for each wait, which at one wait a token is a good part of what a token
    costs. Here a timer that rings too early looks at what is due now, and is set again. One wait at a time; the task
    may be another each time. `close` when there are no more.
    """

    def __init__(self) -> None:
        self._due = 0.0
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._is_expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0

    def until(self, due: float) -> Self:
        self._due = due
        return self

    def expire(self) -> None:
        """Ends the present wait, if there is one."""
        if self._task is not None and not self._is_expired:
            self._is_expired = True
            self._task.cancel()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task to end")
        self._task, self._cancelling, self._is_expired = task, task.cancelling(), False
        if self._timer is None or self._due < self._rings_at:
            self._set_timer()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if (
            self._is_expired
            and task is not None
            and task.uncancel() <= self._cancelling
            and kind is not None
            and issubclass(kind, asyncio.CancelledError)
        ):
            raise TimeoutError from error

    def _set_timer(self) -> None:
        self.close()
        self._rings_at = self._due
        self._timer = asyncio.get_running_loop().call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._task is None:
            return  # the next wait sets its own
        if asyncio.get_running_loop().time() >= self._due:
            self.expire()
        else:
            self._set_timer()
