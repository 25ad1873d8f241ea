"""A simulated device as a process of its own, with one call: POST /v1/embeddings takes CALL_S whatever it holds.

    python -m benchmarks.peers.device --port N [--call-s 0.2]

So that "a worker is killed in the middle of a call" can be a real SIGKILL of a real process.
"""

from __future__ import annotations

import argparse
import asyncio
import json

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

MODEL = "device"


def build_app(call_s: float) -> Starlette:
    calls: list[int] = []

    async def embeddings(request: Request) -> Response:
        inputs = json.loads(await request.body())["input"]
        inputs = [inputs] if isinstance(inputs, str) else inputs
        calls.append(len(inputs))
        await asyncio.sleep(call_s)
        data = [{"object": "embedding", "index": index, "embedding": [0.0]} for index in range(len(inputs))]
        usage = {"prompt_tokens": len(inputs), "total_tokens": len(inputs)}
        return JSONResponse({"object": "list", "model": MODEL, "data": data, "usage": usage})

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def counts(_: Request) -> Response:
        return JSONResponse({"calls": len(calls), "inputs": sum(calls)})

    return Starlette(
        routes=[
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", models),
            Route("/counts", counts),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.device")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--call-s", type=float, default=0.2)
    given = parser.parse_args()
    uvicorn.run(build_app(given.call_s), host="127.0.0.1", port=given.port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
