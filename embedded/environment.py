"""The environment that `manage.py up` resolves and leaves behind, so that other commands reach the running instance.

Standard library only: manage.py imports this before anything else, in production too.
"""

import json
import os
from collections.abc import MutableMapping
from pathlib import Path

DEFAULT_DATA = Path("var")
OPTION = "--data"


class DataOptionError(ValueError):
    """--data names no folder of ours."""


def environment_file(data: Path) -> Path:
    return data / "run" / "environment.json"


def take_data_option(argv: list[str]) -> Path | None:
    """Remove `--data DIR` or `--data=DIR` from `argv`, whichever command it belongs to. Raises DataOptionError."""
    for index, word in enumerate(argv):
        if word == "--":
            return None
        name, equals, value = word.partition("=")
        if name != OPTION:
            continue
        if not equals and index + 1 == len(argv):
            raise DataOptionError("--data needs a folder: --data DIR")
        taken = value if equals else argv[index + 1]
        del argv[index : index + (1 if equals else 2)]
        return Path(taken)
    return None


def load(data: Path | None, environment: MutableMapping[str, str] = os.environ) -> None:
    """Point this process at the instance in `data`, or at the one in `var` if nothing else says where to go.

    A folder that was named wins over the environment; the default only fills an environment that has no database.
    Raises DataOptionError if a named folder holds no instance.
    """
    if data is None:
        if "DATABASE_URL" in environment or not environment_file(DEFAULT_DATA).exists():
            return
        data = DEFAULT_DATA
    path = environment_file(data)
    try:
        values: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataOptionError(f"{path} does not exist: start `manage.py up --data {data}` first") from None
    environment.update(values)
