"""A simulated device as a process of its own, with one call: POST /v1/embeddings takes CALL_S whatever it holds.

    python -m benchmarks.peers.device PORT COUNTS_FILE

So that "a worker is killed in the middle of a call" can be a real SIGKILL of a real process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn

CALL_S = 0.2
#: What the callers of the benchmark send. A call without it is a probe, and not counted.
TEXT = "a text"


def build_app(counts: Path) -> Any:
    """Bare ASGI: the process is to be there again as soon as a worker of the peers, which has no server in it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        inputs = json.loads(body)["input"]
        inputs = [inputs] if isinstance(inputs, str) else inputs
        await asyncio.sleep(CALL_S)
        if TEXT in inputs:
            with counts.open("a") as lines:
                lines.write(f"{os.getpid()} {len(inputs)} {time.monotonic()}\n")
        data = [{"object": "embedding", "index": index, "embedding": [0.0]} for index in range(len(inputs))]
        usage = {"prompt_tokens": len(inputs), "total_tokens": len(inputs)}
        answer = json.dumps({"object": "list", "model": "device", "data": data, "usage": usage}).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": answer})

    return app


if __name__ == "__main__":
    uvicorn.run(
        build_app(Path(sys.argv[2])),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=60,
    )
