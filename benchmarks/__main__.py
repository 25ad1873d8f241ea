"""`make bench`: every benchmark, one after the other. Each also runs alone; its docstring says how."""

from __future__ import annotations

import subprocess
import sys

from benchmarks import thin_path

ON_THROWN_AWAY_SERVICES = ("benchmarks.many_versions", "benchmarks.version_store")


def main() -> int:
    thin_path.main()
    python = sys.executable
    return max(
        subprocess.run([python, "-m", "embedded.throw_away", python, "-m", name], check=False).returncode
        for name in ON_THROWN_AWAY_SERVICES
    )


if __name__ == "__main__":
    sys.exit(main())
