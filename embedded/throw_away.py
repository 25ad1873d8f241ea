"""Run a command on services that are thrown away afterwards: `python -m embedded.throw_away [--durable] COMMAND...`.

For checks and measurements that need a database but nobody's data. The command's exit status is ours. `--durable`: a
commit reaches the disk, as it does for people; what compares something with the price of a commit needs that.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from embedded.application import ROOT
from embedded.environment import environment_file

START_WITHIN_S = 240
STOP_WITHIN_S = 60


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="playground-throw-away-"))
    is_durable = sys.argv[1:2] == ["--durable"]
    wanted = sys.argv[2:] if is_durable else sys.argv[1:]
    words = ["--only", "postgres,valkey,seaweedfs", "--stop-with", str(os.getpid())]
    if not is_durable:
        words.append("--throw-away")
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--data", str(folder), *words]
    output = folder / "up.out"
    with output.open("wb") as file:
        services = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        wait_until_ready(services, folder, output)
        environment = os.environ | json.loads(environment_file(folder).read_text(encoding="utf-8"))
        return subprocess.run(wanted, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return 130
    finally:
        services.terminate()
        services.wait(timeout=STOP_WITHIN_S)
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_ready(services: "subprocess.Popen[bytes]", folder: Path, output: Path) -> None:
    deadline = time.monotonic() + START_WITHIN_S
    while not (folder / "run" / "ready").exists():
        if services.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"the services did not start:\n{output.read_text(encoding='utf-8')}")
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
