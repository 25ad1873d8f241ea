"""LitServe with the fixed call: PORT WORKERS COUNTS_FILE. Run with the Python of the peers' environment."""

import os
import sys
import time
from pathlib import Path

import litserve

PORT, WORKERS, COUNTS = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])


class Device(litserve.LitAPI):
    def setup(self, device):
        pass

    def decode_request(self, request):
        return request

    def batch(self, inputs):
        return inputs

    def predict(self, x):
        time.sleep(0.2)
        with COUNTS.open("a") as counts:
            counts.write(f"{os.getpid()} {len(x)} {time.monotonic()}\n")
        return [{"ok": True} for _ in x]

    def unbatch(self, output):
        return output

    def encode_response(self, output):
        return output


if __name__ == "__main__":
    server = litserve.LitServer(
        Device(max_batch_size=50, batch_timeout=0.025),
        accelerator="cpu",
        workers_per_device=WORKERS,
        timeout=10,
        restart_workers=True,
    )
    server.run(host="127.0.0.1", port=PORT, log_level="error", generate_client_file=False)
