"""vLLM on the CPU, in a process of its own, with the weights of the embedded model (`make test-vllm` installs both)."""

import os
import signal
import subprocess
from pathlib import Path

from embedded.ports import free_port
from tests.inference_backend.running import EMBEDDED_MODEL, answers
from tests.waiting import wait_until

FOLDER = Path(__file__).resolve().parents[3] / "var" / "vllm"
CONTEXT = 1024
# A compiled start takes two minutes on a small machine, this one half a minute.
START_WITHIN_S = 300.0


class VllmServer:
    def __init__(self, *options: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises TimeoutError."""
        words = {
            "--model": FOLDER / "model",
            "--served-model-name": EMBEDDED_MODEL,
            "--host": "127.0.0.1",
            "--port": self.port,
            "--max-model-len": CONTEXT,
            "--max-num-seqs": 4,
            "--dtype": "bfloat16",
        }
        python = FOLDER / "venv" / "bin" / "python"
        command = [python, "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager", *self._options]
        command += [part for pair in words.items() for part in pair]
        with (FOLDER / f"log-{self.port}").open("wb") as log:
            self._process = subprocess.Popen(
                ["nice", "-n", "5", *map(str, command)],
                env={
                    "PATH": f"{python.parent}:{os.environ['PATH']}",
                    "HOME": str(FOLDER),
                    "HF_HUB_OFFLINE": "1",
                    "VLLM_NO_USAGE_STATS": "1",
                    "VLLM_CPU_KVCACHE_SPACE": "1",
                    "OMP_NUM_THREADS": "2",
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(lambda: answers(f"{self.url}/health"), within_s=START_WITHIN_S)

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("not started")
        return self._process.pid

    def kill(self) -> None:
        """All of its processes, at once."""
        if self._process:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(20)
            self._process = None
