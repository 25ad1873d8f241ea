"""Ray Serve's `@serve.batch` with the fixed call: PORT WORKERS COUNTS_FILE. Run with the peers' own Python.

The window is as long as the call (0.2 s): with a shorter one it closes small batches while a call runs and collapses.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path

import ray
from ray import serve
from starlette.requests import Request

PORT, WORKERS, COUNTS = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])


@serve.deployment(num_replicas=WORKERS, max_ongoing_requests=200, ray_actor_options={"num_cpus": 0})
class Device:
    def __init__(self, counts: str) -> None:
        self.counts = Path(counts)

    @serve.batch(max_batch_size=50, batch_wait_timeout_s=0.2, max_concurrent_batches=1)
    async def call(self, items):
        await asyncio.sleep(0.2)
        with self.counts.open("a") as counts:
            counts.write(f"{os.getpid()} {len(items)} {time.monotonic()}\n")
        return [{"ok": True} for _ in items]

    async def __call__(self, request: Request):
        return await self.call(await request.json())


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=10**8)
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    serve.run(Device.bind(str(COUNTS)), route_prefix="/")
    done = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: done.set())
    done.wait()
    serve.shutdown()
    ray.shutdown()
