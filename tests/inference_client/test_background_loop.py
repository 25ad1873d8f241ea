"""All streams of a process run on one loop, however many tasks are the first to need it."""

from __future__ import annotations

import subprocess
import sys

from config.settings import BASE_DIR

#: In a process of its own: the loop of this one is in use. A thread gives way as often as it can.
RACE = """
import sys, threading
from inference_client.loop import background_loop
sys.setswitchinterval(1e-6)
start, found = threading.Barrier(16), []
def work():
    start.wait()
    found.append(background_loop())
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(map(id, found))))
"""


def test_tasks_that_begin_together_share_one_loop() -> None:
    said = subprocess.run([sys.executable, "-c", RACE], cwd=BASE_DIR, capture_output=True, text=True, check=True)
    assert said.stdout == "1\n"
