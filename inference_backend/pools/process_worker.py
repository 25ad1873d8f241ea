"""A worker of a pool that runs as a process of its own: a crash in native code is one failed call."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from inference_backend.engines.time_limit import within
from inference_backend.errors import EngineConnectionError, EngineFailedError, EngineProtocolError
from inference_backend.pools.worker_process import LARGEST_MESSAGE_BYTES, LENGTH, pack

Input = TypeVar("Input")
Output = TypeVar("Output")

START_TIMEOUT_S = 60.0
PROBE_TIMEOUT_S = 10.0
ROOT = Path(__file__).resolve().parent.parent.parent
#: Nothing else of the environment: there are secrets in it, and native code gets other people's text to read.
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
#: One process is one core's worth of work; more threads would take it from the service itself.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


class ProcessWorker(Generic[Input, Output]):
    """Starts `python -m inference_backend.pools.worker_process` with `target` at the first probe or call."""

    def __init__(
        self,
        target: str,
        *,
        golden: Input,
        read: Callable[[Any], Output | Exception],
        write: Callable[[Input], Any] = lambda item: item,
    ) -> None:
        """`golden` is computed by each probe. `write` and `read` turn inputs and results into JSON and back."""
        self._target = target
        self._golden = golden
        self._read = read
        self._write = write
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._turn = asyncio.Lock()
        self.about: Mapping[str, Any] = {}

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def call(self, items: Sequence[Input]) -> Sequence[Output | Exception]:
        """Raises EngineConnectionError when the process ends under it, EngineFailedError for what the model raised."""
        async with self._turn:
            answer = await self._exchange([self._write(item) for item in items])
        if isinstance(answer, dict):
            raise EngineFailedError(f"The call failed with {answer.get('error')}.")
        return [self._read(one) for one in answer]

    async def probe(self) -> None:
        await within(START_TIMEOUT_S + PROBE_TIMEOUT_S, self.call([self._golden]))

    async def aclose(self) -> None:
        self._kill()

    async def _exchange(self, items: Sequence[Any]) -> Any:
        try:
            reader, writer = self._streams or await self._start()
            writer.write(pack(items))
            await writer.drain()
            return await _read_message(reader)
        except (OSError, asyncio.IncompleteReadError) as error:
            self._kill()
            raise EngineConnectionError("The process of the worker ended.") from error
        except BaseException:
            # Also when cancelled: the answer that is still to come would be taken for that of the next call.
            self._kill()
            raise

    async def _start(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._kill()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [
                sys.executable,
                "-m",
                "inference_backend.pools.worker_process",
                str(theirs.fileno()),
                self._target,
            ]
            environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
            self._process = subprocess.Popen(  # noqa: S603, ASYNC220 - its own code; a spawn takes a millisecond
                command,
                env={**environment, **ONE_THREAD, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        self._streams = await asyncio.open_connection(sock=ours)
        async with asyncio.timeout(START_TIMEOUT_S):
            hello = await _read_message(self._streams[0])
        if "ready" not in hello:
            raise EngineFailedError(f"The process of the worker cannot start: {hello.get('error')}")
        self.about = hello["ready"]
        return self._streams

    def _kill(self) -> None:
        streams, self._streams = self._streams, None
        if streams:
            with contextlib.suppress(RuntimeError):  # the loop is gone
                streams[1].close()
        process, self._process = self._process, None
        if process:
            process.kill()
            # Collected by a thread: waiting would hold the loop while the system tears the process down.
            threading.Thread(target=process.wait, daemon=True).start()


async def _read_message(reader: asyncio.StreamReader) -> Any:
    size = LENGTH.unpack(await reader.readexactly(LENGTH.size))[0]
    if size > LARGEST_MESSAGE_BYTES:
        raise EngineProtocolError("The process of the worker sent a message without sense.")
    return json.loads(await reader.readexactly(size))
