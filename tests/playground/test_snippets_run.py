"""Each snippet, executed as a person would, makes the call that a run makes: the same body, and a real answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import rfc8785

from tests.playground.recorder import Recorder, recording
from tests.services_plugin import Instance

pytestmark = pytest.mark.model

NASTY = {
    "quotes": 'it\'s "quoted" `id` $(id) $HOME ${HOME} !! !x',
    "lines": "one\r\ntwo\n\n  three\t\n",
    "backslashes": "\\n \\\\ \\x41 \\u0041 %s %% {0}",
    "delimiters": "REQUEST\nEOF\n<<'REQUEST'\n\"\"\"'''",
    "unicode": "日本語 👩‍👩‍👧 e\u0301 \u202eabc\u202c \ufeff\u2028",
    "control": "\u0001\u0007\u001b[31m\u007f",
    "markup": "<b>&amp;</b> </script> {{{{literal}}",
}


@pytest.fixture(scope="module")
def client(live_stack: Instance) -> Iterator[httpx2.Client]:
    made = live_stack.manage("create_api_key", next(iter(live_stack.accounts)))
    with live_stack.api(made.stdout.strip()) as client:
        yield client


@pytest.fixture
def recorder(live_stack: Instance) -> Iterator[Recorder]:
    with recording(live_stack.environment["INFERENCE_BASE_URL"]) as recorder:
        yield recorder


def ended_run(client: httpx2.Client, version: str, variables: dict[str, str]) -> dict[str, Any]:
    run = client.post(f"{version}/runs", json={"variables": variables}).raise_for_status().json()["id"]
    for _ in range(300):
        shown: dict[str, Any] = client.get(f"runs/{run}").json()
        if shown["status"] in ("succeeded", "failed", "cancelled"):
            return shown
        time.sleep(0.2)
    raise AssertionError("the run does not end")


def saved(client: httpx2.Client, text: str, **fields: Any) -> str:
    prompt = client.post("prompts", json={"name": "Snippet"}).raise_for_status().json()["id"]
    spec = {
        "model": "smollm2-135m-instruct",
        "max_tokens": 4,
        "system": f"system: {text}",
        "messages": [
            {"role": "user", "content": f"{text} {{{{who}}}}"},
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": [{"type": "text", "text": text}]},
        ],
        **fields,
    }
    path = f"prompts/{prompt}/versions"
    number = client.post(path, json={"spec": spec}).raise_for_status().json()["number"]
    return f"{path}/{number}"


def execute(language: str, script: str, folder: Path, key: str) -> subprocess.CompletedProcess[str]:
    program = {"curl": ["bash"], "python": [sys.executable]}[language]
    path = folder / "snippet"
    path.write_text(script, encoding="utf-8", newline="")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": key, "PYTHONUTF8": "1"}
    return subprocess.run(
        [*program, str(path)], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def compared(client: httpx2.Client, recorder: Recorder, version: str, language: str, folder: Path) -> dict[str, Any]:
    """Runs the version and its snippet; the body both sent. Fails if they differ."""
    variables = {"who": "$& 'Ada' \\1"}
    run = ended_run(client, version, variables)
    assert run["status"] == "succeeded", run["error"]
    query = {"variables": json.dumps(variables)}
    script = client.get(f"{version}/snippets/{language}", params=query).raise_for_status().text
    script = script.replace(recorder.upstream, recorder.url)
    done = execute(language, script, folder, client.headers["Authorization"].removeprefix("Bearer "))
    assert done.returncode == 0, done.stderr
    [body] = recorder.bodies
    sent: dict[str, Any] = json.loads(body)
    assert rfc8785.dumps(sent) == rfc8785.dumps(run["wire_request"])
    assert "message_stop" in done.stdout if language == "curl" else done.stdout.endswith("\n")
    return sent


@pytest.mark.parametrize("language", ["curl", "python"])
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_a_snippet_sends_what_a_run_sends(
    client: httpx2.Client, recorder: Recorder, tmp_path: Path, language: str, text: str
) -> None:
    version = saved(client, text)
    sent = compared(client, recorder, version, language, tmp_path)
    assert sent["messages"][2]["content"][0]["text"] == text.replace("{{{{", "{{")
    assert sent["messages"][0]["content"].endswith(" $& 'Ada' \\1")


@pytest.mark.parametrize("language", ["curl", "python"])
def test_every_parameter_travels(client: httpx2.Client, recorder: Recorder, tmp_path: Path, language: str) -> None:
    version = saved(
        client,
        "x",
        temperature=0,
        top_p=0.9,
        top_k=5,
        stop_sequences=["END\n", "it's"],
        output_schema='{"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "null"}}}',
    )
    sent = compared(client, recorder, version, language, tmp_path)
    assert (sent["temperature"], sent["top_p"], sent["top_k"]) == (0, 0.9, 5)
    assert sent["output_config"]["format"]["type"] == "json_schema"
    assert recorder.headers[0]["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize("language", ["curl", "python"])
def test_a_snippet_that_does_not_stream_prints_the_answer(
    client: httpx2.Client, recorder: Recorder, tmp_path: Path, language: str
) -> None:
    version = saved(client, "What is the capital of France?", max_tokens=12)
    query = {"variables": '{"who": ""}', "stream": "false"}
    script = client.get(f"{version}/snippets/{language}", params=query).text.replace(recorder.upstream, recorder.url)
    done = execute(language, script, tmp_path, client.headers["Authorization"].removeprefix("Bearer "))
    assert done.returncode == 0, done.stderr
    assert "stream" not in json.loads(recorder.bodies[0])
    assert done.stdout.strip()


@pytest.mark.parametrize("language", ["curl", "python"])
def test_without_a_key_the_backend_refuses(
    client: httpx2.Client, recorder: Recorder, tmp_path: Path, language: str
) -> None:
    version = saved(client, "x")
    script = client.get(f"{version}/snippets/{language}").text.replace(recorder.upstream, recorder.url)
    done = execute(language, script, tmp_path, "ppk_" + "x" * 43)
    assert "authentication_error" in done.stdout + done.stderr
