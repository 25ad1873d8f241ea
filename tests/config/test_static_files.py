"""What `collectstatic` makes of our modules: each is named after its content, and asks for the others by such names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.test_checks import PRODUCTION, ROOT

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
#: `import ... from "./x.js"`, `import "./x.js"`, `export ... from "./x.js"`, `import("./x.js")`.
ASKED_FOR = re.compile(r"""\b(?:from|import)\s*\(?\s*["'](\.[^"']+\.js)["']""")
HASHED = re.compile(r"\.[0-9a-f]{12}\.js$")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Our modules by name, as a production instance serves them."""
    folder = tmp_path_factory.mktemp("static")
    environment = {"PATH": os.environ["PATH"], **PRODUCTION, "STATIC_ROOT": str(folder)}
    command = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    names = json.loads((folder / "staticfiles.json").read_text(encoding="utf-8"))["paths"]
    return {name: folder / hashed for name, hashed in names.items() if name.endswith(".js")}


def test_every_module_has_a_name_of_its_content(modules: dict[str, Path]) -> None:
    assert set(modules) >= {str(path.relative_to(ROOT / "static")) for path in (ROOT / "static").rglob("*.js")}
    assert [str(path) for path in modules.values() if not HASHED.search(path.name) or not path.is_file()] == []


def test_modules_ask_for_each_other_by_these_names(modules: dict[str, Path]) -> None:
    """By another one a module would be run a second time, and what it remembers be there twice."""
    asked: set[Path] = set()
    for path in (path for name, path in modules.items() if name.startswith("js/")):
        names = ASKED_FOR.findall(COMMENT.sub("", path.read_text(encoding="utf-8")))
        asked |= {(path.parent / name).resolve() for name in names}
    assert len(asked) > 100
    assert sorted(str(path) for path in asked - {path.resolve() for path in modules.values()}) == []
