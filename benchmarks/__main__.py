"""`make bench`: every benchmark, one after the other. Each also runs alone; its docstring says how."""

from __future__ import annotations

import subprocess
import sys

from benchmarks import thin_path

ON_THROWN_AWAY_SERVICES = (
    "benchmarks.many_versions",
    "benchmarks.version_store",
    "benchmarks.chat_delivery",
    "benchmarks.share_read",
    "benchmarks.batch_rows",
)
WITHOUT_SERVICES = (
    "benchmarks.scheduler_cost",
    "benchmarks.fixed_batch",
    "benchmarks.engine_overhead",
    "benchmarks.run_overhead",
    "benchmarks.registry_peers",
)


def main() -> int:
    thin_path.main()
    python = sys.executable
    services = [python, "-m", "embedded.throw_away", "--durable"]
    commands = [[*services, python, "-m", name] for name in ON_THROWN_AWAY_SERVICES]
    commands += [[python, "-m", name] for name in WITHOUT_SERVICES]
    return max(subprocess.run(command, check=False).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main())
