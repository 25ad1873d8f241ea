"""A promptfoo configuration: its first prompt, with the variables of its tests."""

from __future__ import annotations

import json
import re

from playground import template
from playground.importing import chat
from playground.importing.imported import Imported, Json, bounded_number, max_tokens, refuse, sampling, stop_sequences

KIND = "promptfoo"
_CONFIG = {"temperature", "top_p", "top_k", "max_tokens", "stop", "stop_sequences"}
_READ = {"prompts", "providers", "targets", "tests", "defaultTest", "description"}
_NUNJUCKS = re.compile(r"\{%.*?%\}|\{#.*?#\}|\{\{[^{}]*[|.(\[][^{}]*\}\}", re.DOTALL)


def reads(value: Json) -> bool:
    return isinstance(value, dict) and "prompts" in value


def read(value: Json) -> Imported:
    found = Imported(kind=KIND, name=str(value.get("description") or "")[:200])
    prompts = value["prompts"] if isinstance(value["prompts"], list) else [value["prompts"]]
    if not prompts:
        raise refuse("This configuration has no prompts.")
    if len(prompts) > 1:
        found.warn(f"It has {len(prompts)} prompts; only the first one was read.")
    _prompt(found, prompts[0])
    _provider(found, value.get("providers", value.get("targets")))
    _variables(found, value)
    found.warn_left_out(name for name in value if name not in _READ)
    return found


def _prompt(found: Imported, prompt: Json) -> None:
    if isinstance(prompt, dict):
        found.name = str(prompt.get("label") or prompt.get("id") or found.name)[:200]
        prompt = prompt.get("raw", prompt.get("prompt"))
    if not isinstance(prompt, str) or prompt.startswith(("file://", "exec:", "python:")):
        raise refuse("This prompt is in another file: put its text into the configuration.")
    messages = _as_messages(prompt)
    if messages is None:
        found.spec["messages"] = [{"role": "user", "content": prompt}]
    else:
        chat.read_messages(found, messages)
    if _NUNJUCKS.search(prompt):
        found.warn("Filters, conditions and loops of Nunjucks are plain text here.")


def _as_messages(prompt: str) -> list[Json] | None:
    """A chat is written as a JSON text."""
    try:
        value = json.loads(prompt)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) and value else None


def _provider(found: Imported, providers: Json) -> None:
    given = providers if isinstance(providers, list) else [providers]
    first = given[0] if given else None
    if len(given) > 1:
        found.warn(f"It has {len(given)} providers; only the first one was read.")
    config: Json = {}
    if isinstance(first, dict):
        config = first.get("config")
        first = first["id"] if "id" in first else next(iter(first), None)
    if isinstance(first, str) and first:
        found.spec["model"] = first.rsplit(":", 1)[-1]
    if isinstance(config, dict):
        sampling(found, config)
        bounded_number(found, config, "top_k", low=0, high=100_000)
        max_tokens(found, config.get("max_tokens"))
        stop_sequences(found, config.get("stop_sequences", config.get("stop")))
        found.warn_left_out(name for name in config if name not in _CONFIG)


def _variables(found: Imported, value: dict[str, Json]) -> None:
    """The values of the first test are the defaults; the default test's stand where it has none."""
    tests = value.get("tests")
    values = {**_vars(value.get("defaultTest")), **_vars(tests[0] if isinstance(tests, list) and tests else None)}
    cards = []
    for name, default in values.items():
        if template.normal_name(str(name)) is None:
            found.warn("Variables whose names are not possible here were left out.")
        elif isinstance(default, str) and not default.startswith("file://"):
            cards.append({"name": str(name), "default": default})
        else:
            text = "" if isinstance(default, str) else json.dumps(default, ensure_ascii=False, default=str)
            cards.append({"name": str(name), "type": "json", "default": text} if text else {"name": str(name)})
    if cards:
        found.spec["variables"] = cards
    if tests:
        found.warn("Tests and their assertions were left out; the values of the first test are defaults.")


def _vars(test: Json) -> dict[Json, Json]:
    values = test.get("vars") if isinstance(test, dict) else None
    return values if isinstance(values, dict) else {}
