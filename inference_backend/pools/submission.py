"""What a caller has in a pool of batch calls: inputs, and the futures of their results."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from inference_backend.errors import EngineRefusedError, InputFailedError

Input = TypeVar("Input")
Output = TypeVar("Output")


class Ticket(Generic[Input, Output]):
    """One input and the future of its result."""

    __slots__ = ("deadline", "future", "item")

    def __init__(self, item: Input, future: "asyncio.Future[Output]", deadline: float) -> None:
        self.item = item
        self.future = future
        self.deadline = deadline

    def settle(self, answer: "Output | Exception") -> None:
        """The first answer counts; whoever left in the meantime gets none."""
        if self.future.done():
            return
        if isinstance(answer, Exception):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)


class Submission(Generic[Input, Output]):
    """The inputs of one caller, in the queue or in calls."""

    __slots__ = ("_leave", "_tickets", "is_withdrawn")

    def __init__(
        self, tickets: "list[Ticket[Input, Output]]", leave: "Callable[[Sequence[Ticket[Input, Output]]], None]"
    ) -> None:
        self._tickets = tickets
        self._leave = leave
        self.is_withdrawn = False

    async def results(self) -> list[Output]:
        """In the order of the inputs. Leaves nothing behind, however it ends.

        Raises the EngineError or DeadlineExceededError of the first input without result, InputFailedError with its
        `index` where it is to blame itself; the others are then dropped. Raises CancelledError after `withdraw`.
        """
        results = []
        try:
            for index, ticket in enumerate(self._tickets):
                try:
                    results.append(await ticket.future)
                except EngineRefusedError as error:
                    if len(self._tickets) == 1:
                        raise
                    raise InputFailedError(error.message, index=index) from error
        finally:
            self._leave(self._tickets)
        return results

    def withdraw(self) -> None:
        """Nobody wants the results any more. Without effect where all of them are there."""
        if not all(ticket.future.done() for ticket in self._tickets):
            self.is_withdrawn = True
            self._leave(self._tickets)
