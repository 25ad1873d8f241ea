"""Each snippet, executed as a person would, makes the call that a run makes: the same body, and a real answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
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


@pytest.fixture(scope="module")
def public_url(live_stack: Instance) -> str:
    return str(live_stack.environment["PUBLIC_URL"])


def ended_run(client: httpx2.Client, version: str, variables: dict[str, str]) -> dict[str, Any]:
    run = client.post(f"{version}/runs", json={"variables": variables}).raise_for_status().json()["id"]
    for _ in range(300):
        shown: dict[str, Any] = client.get(f"runs/{run}").json()
        if shown["status"] in ("succeeded", "failed", "cancelled"):
            return shown
        time.sleep(0.2)
    raise AssertionError("the run does not end")


def saved(client: httpx2.Client, text: str, *, more: Sequence[dict[str, str]] = (), **fields: Any) -> str:
    prompt = client.post("prompts", json={"name": "Snippet"}).raise_for_status().json()["id"]
    spec = {
        "model": "smollm2-135m-instruct",
        "max_tokens": 4,
        "system": f"system: {text}",
        "messages": [
            {"role": "user", "content": f"{text} {{{{who}}}}"},
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": [{"type": "text", "text": text}, *more]},
        ],
        **fields,
    }
    path = f"prompts/{prompt}/versions"
    number = client.post(path, json={"spec": spec}).raise_for_status().json()["number"]
    return f"{path}/{number}"


ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = {"curl": ["bash"], "python": [sys.executable], "typescript": ["node"]}
FILES = {"curl": "snippet.sh", "python": "snippet.py", "typescript": "snippet.mjs"}


def execute(language: str, script: str, folder: Path, key: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAMS[language]
    path = folder / FILES[language]
    path.write_text(script, encoding="utf-8", newline="")
    if language == "typescript" and not (folder / "node_modules").exists():
        assert (ROOT / "node_modules" / "@anthropic-ai" / "sdk").is_dir(), "the TypeScript SDK is missing: npm ci"
        (folder / "node_modules").symlink_to(ROOT / "node_modules")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": key, "PYTHONUTF8": "1"}
    environment["PLAYGROUND_API_KEY"] = key
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


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_snippet_sends_what_a_run_sends(
    client: httpx2.Client, recorder: Recorder, tmp_path: Path, language: str
) -> None:
    """Each text as a block of its own: they stand at the beginning and at the end of literals."""
    blocks = [{"type": "text", "text": text} for text in NASTY.values()]
    version = saved(client, "\n".join(NASTY.values()), more=blocks)
    sent = compared(client, recorder, version, language, tmp_path)
    texts = [block["text"] for block in sent["messages"][2]["content"][1:]]
    assert texts == [text.replace("{{{{", "{{") for text in NASTY.values()]
    assert sent["messages"][0]["content"].endswith(" $& 'Ada' \\1")


@pytest.mark.parametrize("language", PROGRAMS)
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


@pytest.mark.parametrize("language", PROGRAMS)
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


@pytest.mark.parametrize("language", PROGRAMS)
def test_without_a_key_the_backend_refuses(
    client: httpx2.Client, recorder: Recorder, tmp_path: Path, language: str
) -> None:
    version = saved(client, "x")
    script = client.get(f"{version}/snippets/{language}").text.replace(recorder.upstream, recorder.url)
    done = execute(language, script, tmp_path, "ppk_" + "x" * 43)
    assert "authentication_error" in done.stdout + done.stderr


def test_a_long_text_travels_whole_in_each_language(client: httpx2.Client, recorder: Recorder, tmp_path: Path) -> None:
    """Longer than the model can read: what is compared is the request, which the backend then refuses."""
    text = ('"it\'s" `$HOME` \\ 👍 {a}\n' * 45_000)[:1_000_000]
    version = saved(client, text)
    variables = {"who": "x"}
    run = ended_run(client, version, variables)
    for language in PROGRAMS:
        answer = client.post(f"{version}/snippets/{language}", json={"variables": variables}, timeout=60)
        script = answer.raise_for_status().json()["text"].replace(recorder.upstream, recorder.url)
        execute(language, script, tmp_path, client.headers["Authorization"].removeprefix("Bearer "))
    assert len(recorder.bodies) == len(PROGRAMS)
    for body in recorder.bodies:
        assert json.loads(body) == run["wire_request"]
    assert run["wire_request"]["messages"][2]["content"][0]["text"] == text


def test_the_raw_request_and_the_batch_file_are_what_a_run_sends(client: httpx2.Client) -> None:
    text = "\n".join(NASTY.values())
    version = saved(client, text)
    variables = {"who": text}
    run = ended_run(client, version, variables)
    shown = {
        language: json.loads(
            client.post(f"{version}/snippets/{language}", json={"variables": variables})
            .raise_for_status()
            .json()["text"]
        )
        for language in ("json", "batch")
    }
    assert rfc8785.dumps(shown["json"]) == rfc8785.dumps(run["wire_request"])
    [entry] = shown["batch"]["requests"]
    assert rfc8785.dumps({**entry["params"], "stream": True}) == rfc8785.dumps(run["wire_request"])


def test_the_hash_of_a_snippet_is_that_of_the_run_or_says_what_differs(client: httpx2.Client) -> None:
    version = saved(client, "x")

    def proof(language: str, **body: Any) -> dict[str, Any]:
        answer: dict[str, Any] = client.post(f"{version}/snippets/{language}", json=body).raise_for_status().json()
        return answer

    first = proof("curl", variables={"who": "Ada"})
    assert (first["last_run"], first["equal"], first["differences"]) == (None, None, [])
    run = ended_run(client, version, {"who": "Ada"})
    for language in ("curl", "powershell", "python", "typescript", "json", "run"):
        same = proof(language, variables={"who": "Ada"})
        assert same["equal"] is True, language
        assert same["request_sha256"] == run["request_sha256"] == same["last_run"]["request_sha256"]
        assert same["last_run"]["id"] == run["id"]
    assert proof("curl", variables={"who": "Ben"})["differences"] == ["messages"]
    assert proof("curl", variables={"who": "Ada"}, stream=False)["differences"] == ["stream"]
    assert proof("batch", variables={"who": "Ada"})["differences"] == ["stream"]
    unfilled = proof("json", variables={"who": "Ada"}, fill=False)
    assert "{{who}}" in unfilled["text"]
    assert unfilled["equal"] is False


@pytest.mark.parametrize("stream", [True, False])
def test_the_call_by_label_runs_the_version_that_the_label_means(
    client: httpx2.Client, tmp_path: Path, public_url: str, *, stream: bool
) -> None:
    version = saved(client, "x")
    prompt = version.removesuffix("/versions/1")
    client.put(f"{prompt}/labels/production", json={"version": 1}).raise_for_status()
    values = {"who": 'it\'s "Ada" $HOME `id` 👍'}
    answer = client.post(f"{version}/snippets/run", json={"variables": values, "stream": stream}).json()
    assert "versions/production/runs" in answer["text"]
    done = execute("curl", answer["text"], tmp_path, client.headers["Authorization"].removeprefix("Bearer "))
    assert done.returncode == 0, done.stderr
    if stream:
        assert "event: done" in done.stdout
    else:
        assert json.loads(done.stdout)["status"] == "succeeded", done.stdout
    [listed] = client.get("runs", params={"limit": 1}).json()["results"]
    run = client.get(f"runs/{listed['id']}").json()
    assert run["wire_request"]["messages"][0]["content"] == f"x {values['who']}"
    assert run["request_sha256"] == answer["request_sha256"]


def test_the_types_of_the_sdk_accept_the_typescript_snippet(client: httpx2.Client, tmp_path: Path) -> None:
    version = saved(
        client,
        "x",
        temperature=0,
        stop_sequences=["END"],
        tools='[{"name": "look", "description": "d", "input_schema": {"type": "object"}}]',
        tool_choice={"type": "any"},
    )
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    for stream in ("true", "false"):
        script = client.get(f"{version}/snippets/typescript", params={"stream": stream}).raise_for_status().text
        (tmp_path / f"{stream}.mts").write_text(script, encoding="utf-8")
    options = [
        "--noEmit",
        "--strict",
        "--skipLibCheck",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--types",
        "node",
    ]
    checked = subprocess.run(
        ["node", str(ROOT / "node_modules" / ".bin" / "tsc"), *options, "true.mts", "false.mts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
