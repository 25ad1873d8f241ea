"""What a pool asks of whoever makes its calls."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

Input_contra = TypeVar("Input_contra", contravariant=True)
Output_co = TypeVar("Output_co", covariant=True)


class BatchWorker(Protocol[Input_contra, Output_co]):
    """One device, process or connection that makes one call at a time.

    `call` returns one answer, or one exception, for each input in their order. What it raises concerns the call as a
    whole: EngineRefusedError says that the worker is well and some input is not, any other EngineError that the
    worker may not be. A cancelled call must leave the worker able to make another one after `probe`.
    """

    async def call(self, items: Sequence[Input_contra]) -> Sequence[Output_co | Exception]: ...

    async def probe(self) -> None:
        """Raises EngineError unless it can take calls now; mends first what it can, such as starting its process."""

    async def aclose(self) -> None: ...
