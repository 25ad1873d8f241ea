"""mosec with the fixed call: PORT WORKERS COUNTS_FILE. Run with the Python of the peers' environment.

`max_wait_time` 25 ms is the window with which it does best at these rates.
"""

import os
import sys
import time
from pathlib import Path

from mosec import Server, Worker

# Its workers are started anew with the arguments of mosec in sys.argv, so ours travel in the environment.
if len(sys.argv) == 4 and not sys.argv[1].startswith("-"):
    os.environ["PORT"], os.environ["WORKERS"], os.environ["COUNTS"] = sys.argv[1:]
PORT, WORKERS, COUNTS = os.environ["PORT"], int(os.environ["WORKERS"]), Path(os.environ["COUNTS"])


class Device(Worker):
    def forward(self, data):
        time.sleep(0.2)
        with COUNTS.open("a") as counts:
            counts.write(f"{os.getpid()} {len(data)} {time.monotonic()}\n")
        return [{"ok": True} for _ in data]


if __name__ == "__main__":
    sys.argv = [sys.argv[0], "--port", PORT, "--address", "127.0.0.1", "--log-level", "error", "--capacity", "4000"]
    server = Server()
    server.append_worker(Device, num=WORKERS, max_batch_size=50, max_wait_time=25)
    server.run()
