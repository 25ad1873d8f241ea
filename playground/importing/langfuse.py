"""A Langfuse prompt as its API and its export write it: one version, or a list of which the newest is taken."""

from __future__ import annotations

import json

from playground.importing import chat, openai
from playground.importing.imported import Imported, Json, bounded_number, max_tokens, refuse, sampling, stop_sequences

KIND = "langfuse"
_KNOWN = {"name", "prompt", "type", "config", "labels", "tags", "version"}
#: What its API adds about the row; nobody misses it.
_ABOUT = {"id", "createdAt", "updatedAt", "createdBy", "projectId", "isActive", "resolutionGraph", "commitMessage"}
_CONFIG = {"model", "temperature", "top_p", "top_k", "max_tokens", "maxTokens", "max_output_tokens", "stop"}
_CONFIG |= {"stop_sequences", "tools", "response_format", "json_schema"}


def reads(value: Json) -> bool:
    if isinstance(value, list):
        return bool(value) and all(reads(each) and not isinstance(each, list) for each in value)
    return (
        isinstance(value, dict)
        and isinstance(value.get("prompt"), str | list)
        and isinstance(value.get("name"), str)
        and not {"messages", "prompts", "input"} & set(value)
    )


def read(value: Json) -> Imported:
    if isinstance(value, list):
        newest = max(value, key=lambda each: each["version"] if isinstance(each.get("version"), int) else 0)
        found = read(newest)
        if len(value) > 1:
            found.warn(f"There are {len(value)} prompts or versions in it; only the newest version was read.")
        return found
    found = Imported(kind=KIND, name=value["name"])
    prompt = value["prompt"]
    if isinstance(prompt, str):
        found.spec["messages"] = [{"role": "user", "content": prompt}]
    else:
        chat.read_messages(found, prompt)
    found.tags = _texts(value.get("tags"))
    found.labels = [label for label in _texts(value.get("labels")) if label != "latest"]
    _config(found, value.get("config"))
    found.warn_left_out(name for name in value if name not in _KNOWN | _ABOUT and value[name] is not None)
    return found


def _texts(value: Json) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _config(found: Imported, config: Json) -> None:
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError) as error:
            raise refuse("The config of this prompt is not JSON.") from error
    if not isinstance(config, dict):
        return
    if isinstance(config.get("model"), str):
        found.spec["model"] = config["model"]
    sampling(found, config)
    bounded_number(found, config, "top_k", low=0, high=100_000)
    max_tokens(found, config.get("max_tokens"), config.get("maxTokens"), config.get("max_output_tokens"))
    stop_sequences(found, config.get("stop_sequences", config.get("stop")))
    openai.read_tools(found, config.get("tools"))
    openai.read_format(found, config.get("response_format", config.get("json_schema")))
    found.warn_left_out(name for name in config if name not in _CONFIG)
