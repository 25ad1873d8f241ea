"""The three official SDKs, each in a process of its own, running one table of calls."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
Sdk = Literal["python-2", "python-1", "typescript"]
#: Without Node.js the TypeScript SDK cannot run; test_scripted_engine.py says so in the summary.
SDKS: tuple[Sdk, ...] = tuple(sdk for sdk in get_args(Sdk) if sdk != "typescript" or shutil.which("node"))
Call = Literal["create", "stream", "raw_stream", "parse", "count_tokens", "list_models", "retrieve_model"]
Json = dict[str, Any]
RUN_WITHIN_S = 150


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call of an SDK and what must come of it.

    `expected` is a part of the outcome: what it does not mention may be anything. `client` are options of the SDK's
    client (headers, key, max_retries, timeout), `headers` and `body` what the call adds to its request.
    """

    name: str
    call: Call
    params: Json
    expected: Json
    client: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Json = field(default_factory=dict)

    def as_line(self) -> Json:
        return {
            "name": self.name,
            "call": self.call,
            "params": self.params,
            "client": self.client,
            "request": {"headers": self.headers, "body": self.body},
        }


def interpreter(sdk: Sdk) -> list[str]:
    """Raises RuntimeError where the SDK is not installed: a missing one must not look like a passing one."""
    if sdk == "typescript":
        if not (ROOT / "node_modules" / "@anthropic-ai" / "sdk").is_dir():
            raise RuntimeError("the TypeScript SDK is not installed: `npm ci`")
        return ["node", str(FOLDER / "driver.js")]
    python = sys.executable if sdk == "python-2" else str(Path(sys.prefix) / "sdk1" / "bin" / "python")
    if not Path(python).exists():
        raise RuntimeError("anthropic 1.x is not installed: `make .venv/installed-sdk1`")
    return [python, str(FOLDER / "python_driver.py")]


def outcomes(sdk: Sdk, cases: Sequence[Case], *, base_url: str, key: str, parallel: int) -> dict[str, Json]:
    """Outcome of each case by its name."""
    lines = [{"base_url": base_url, "key": key, "parallel": parallel}, *(case.as_line() for case in cases)]
    finished = subprocess.run(
        interpreter(sdk),
        input="\n".join(map(json.dumps, lines)),
        env={"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"the driver of {sdk} failed:\n{finished.stderr[-4000:]}")
    results = map(json.loads, finished.stdout.splitlines())
    return {result["name"]: result["outcome"] for result in results}


def outcomes_of_all(cases: Sequence[Case], *, base_url: str, key: str, parallel: int) -> dict[Sdk, dict[str, Json]]:
    """The SDKs run beside each other: most of their time is waiting. Raises ValueError where two cases share a name."""
    if len({case.name for case in cases}) != len(cases):
        raise ValueError("two cases have one name")
    with ThreadPoolExecutor(len(SDKS)) as pool:
        found = pool.map(lambda sdk: outcomes(sdk, cases, base_url=base_url, key=key, parallel=parallel), SDKS)
        return dict(zip(SDKS, found, strict=True))


def departures(cases: Sequence[Case], seen: Mapping[Sdk, Mapping[str, Json]]) -> list[str]:
    """Every place where an SDK saw something else than its case expects."""
    return [
        f"{sdk}, {case.name}, {line}"
        for sdk, outcomes_of_sdk in seen.items()
        for case in cases
        for line in differences(case.expected, outcomes_of_sdk[case.name])
    ]


def disagreements(cases: Sequence[Case], seen: Mapping[Sdk, Mapping[str, Json]]) -> list[str]:
    """The cases in which the SDKs did not see the same, also beyond what was expected."""
    first, *others = seen
    return [
        f"{case.name}: {first} {one}, {other} {two}"
        for case in cases
        for other in others
        if (one := _comparable(seen[first][case.name])) != (two := _comparable(seen[other][case.name]))
    ]


def _comparable(outcome: Json) -> Json:
    """Without what is the SDKs' own: names of classes, and what they leave out where nothing came."""
    error = {name: value for name, value in (outcome.get("error") or {}).items() if name != "class"}
    return {name: value for name, value in (outcome | {"error": error}).items() if value is not None}


def differences(expected: object, found: object, place: str = "outcome") -> list[str]:
    """Where `found` lacks something of `expected`; empty where all of it is there."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            line for name, value in expected.items() for line in differences(value, found.get(name), f"{place}.{name}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for index, (one, other) in pairs for line in differences(one, other, f"{place}[{index}]")]
    matches = expected(found) if callable(expected) else expected == found
    return [] if matches else [f"{place}: expected {expected!r}, found {found!r}"]
