"""Runs calls through whichever `anthropic` package this interpreter has: JSON lines in, JSON lines out.

The first line is `{"base_url", "key", "parallel"}`, each further one a call: `{"name", "call", "params", "client",
"request"}`. Printed per call: `{"name", "outcome"}`. driver.js does the same with the TypeScript SDK; what both print
is compared, so it holds nothing that belongs to one language.
"""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx2

SEEN_HEADERS = ("retry-after", "x-should-retry", "idempotent-replayed", "content-type")
Json = dict[str, Any]


def connect(setup: Json, options: Json, seen: Json) -> anthropic.Anthropic:
    def on_request(_: httpx2.Request) -> None:
        seen["calls"] += 1

    def on_response(response: httpx2.Response) -> None:
        headers = response.headers
        seen["headers"] = {name: headers[name] for name in SEEN_HEADERS if name in headers}
        seen["has_request_id"] = headers.get("request-id", "").startswith("req_")

    # A header that is null here is not sent.
    headers: Json = {
        name: anthropic.omit if value is None else value for name, value in options.get("headers", {}).items()
    }
    return anthropic.Anthropic(
        base_url=setup["base_url"],
        api_key=options.get("key", setup["key"]),
        max_retries=options.get("max_retries", 0),
        timeout=options.get("timeout", 20),
        default_headers=headers,
        http_client=anthropic.DefaultHttpxClient(
            event_hooks={"request": [on_request], "response": [on_response]},
            trust_env=False,
            # Reading the certificates of the machine takes longer than most of the calls.
            verify=False,
        ),
    )


def describe_block(block: Json) -> Json:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    return {
        "type": block["type"],
        "name": block["name"],
        "input": block["input"],
        "has_id": block["id"].startswith("toolu_"),
    }


def describe_message(message: Any) -> Json:
    content = message.to_dict()
    return {
        "has_id": content["id"].startswith("msg_"),
        "type": content["type"],
        "role": content["role"],
        "model": content["model"],
        "content": [describe_block(block) for block in content["content"]],
        "stop_reason": content["stop_reason"],
        "stop_sequence": content["stop_sequence"],
        "usage": {name: content["usage"][name] for name in ("input_tokens", "output_tokens")},
    }


def create(client: anthropic.Anthropic, params: Json, outcome: Json) -> None:
    outcome["message"] = describe_message(client.messages.create(**params))


def stream(client: anthropic.Anthropic, params: Json, outcome: Json) -> None:
    with client.messages.stream(**params) as events:
        outcome["text"] = "".join(events.text_stream)
        outcome["message"] = describe_message(events.get_final_message())


def raw_stream(client: anthropic.Anthropic, params: Json, outcome: Json) -> None:
    outcome |= {"events": [], "text": "", "json": ""}
    for event in client.messages.create(**params, stream=True):
        if outcome["events"][-1:] != [event.type]:
            outcome["events"].append(event.type)
        if event.type == "message_delta":
            outcome["stop_reason"], outcome["stop_sequence"] = event.delta.stop_reason, event.delta.stop_sequence
            outcome["output_tokens"] = event.usage.output_tokens
        if event.type == "content_block_delta":
            outcome["text"] += getattr(event.delta, "text", "")
            outcome["json"] += getattr(event.delta, "partial_json", "")


def parse(client: anthropic.Anthropic, params: Json, outcome: Json) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    message = client.messages.parse(**params, output_format=Person)
    outcome["parsed"] = message.parsed_output.model_dump() if message.parsed_output else None


def count_tokens(client: anthropic.Anthropic, params: Json, outcome: Json) -> None:
    outcome["input_tokens"] = client.messages.count_tokens(**params).input_tokens


def list_models(client: anthropic.Anthropic, params: Json, outcome: Json) -> None:
    outcome["models"] = [{"id": model.id, "type": model.type} for model in client.models.list(**params)]


def retrieve_model(client: anthropic.Anthropic, params: Json, outcome: Json) -> None:
    model = client.models.retrieve(params["model"])
    outcome["model"] = {"id": model.id, "type": model.type, "lifecycle": model.lifecycle}


CALLS: dict[str, Callable[[anthropic.Anthropic, Json, Json], None]] = {
    "create": create,
    "stream": stream,
    "raw_stream": raw_stream,
    "parse": parse,
    "count_tokens": count_tokens,
    "list_models": list_models,
    "retrieve_model": retrieve_model,
}


def describe_error(error: Exception) -> Json:
    if not isinstance(error, anthropic.APIStatusError):
        return {"class": "connection" if isinstance(error, httpx2.TransportError) else type(error).__name__}
    body = error.body if isinstance(error.body, dict) else {}
    detail = body.get("error") or {}
    return {
        "class": type(error).__name__,
        "status": error.status_code,
        "type": error.type,
        "message": detail.get("message"),
        "code": (detail.get("details") or {}).get("error_code"),
        "has_request_id": str(body.get("request_id")).startswith("req_"),
    }


def run(setup: Json, case: Json) -> Json:
    seen: Json = {"calls": 0, "headers": {}, "has_request_id": False}
    outcome: Json = {}
    params = dict(case["params"])
    # Fields that newer packages took out of their signatures are still part of the wire.
    params |= {f"extra_{part}": value for part, value in case.get("request", {}).items()}
    with connect(setup, case.get("client", {}), seen) as client:
        try:
            CALLS[case["call"]](client, params, outcome)
        except (anthropic.AnthropicError, httpx2.HTTPError, AssertionError) as error:
            outcome["error"] = describe_error(error)
    return {"name": case["name"], "outcome": outcome | seen}


def main() -> None:
    setup, *cases = map(json.loads, sys.stdin)
    with ThreadPoolExecutor(setup["parallel"]) as pool:
        for result in pool.map(lambda case: run(setup, case), cases):
            print(json.dumps(result), flush=True)  # noqa: T201 - the protocol


if __name__ == "__main__":
    main()
