"""The live status page: true figures, nothing private, and readable in a browser."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

from inference_backend.settings import Settings
from inference_backend.status.quantiles import quantile
from tests.browser.conftest import find_chromium
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.waiting import wait_until

FLEET = """
[[models]]
id = "simulated-model"
[[models.replicas]]
name = "gpu-0"
engine = "simulated"
slots = 4
kv_tokens = 8192
options = { slots = 4, answer_tokens = 20, speed = 20 }
[[models.replicas]]
name = "gpu-<b>1</b>"
engine = "vllm"
url = "http://127.0.0.1:9"
[[embeddings]]
id = "vectors"
engine = "simulated"
call_ms = 20
"""
SECRET = "a secret of an account"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    config = tmp_path / "inference.toml"
    config.write_text(FLEET)
    settings = Settings.from_environment({"INFERENCE_CONFIG": str(config), "INFERENCE_SERVICE_KEY": SERVICE_KEY})
    with running_backend(settings) as url:
        yield url


def _ask(url: str, path: str, body: dict[str, object]) -> None:
    headers = {
        "authorization": f"Bearer {SERVICE_KEY}",
        "anthropic-version": "2023-06-01",
        "x-playground-account": "account-of-somebody",
    }
    httpx2.post(f"{url}{path}", json=body, headers=headers, timeout=30).raise_for_status()


def _work(url: str) -> None:
    message = {"role": "user", "content": SECRET}
    _ask(url, "/v1/messages", {"model": "simulated-model", "max_tokens": 20, "messages": [message]})
    _ask(url, "/v1/embeddings", {"model": "vectors", "input": SECRET})


def test_the_figures_follow_what_the_service_did(service: str) -> None:
    before = httpx2.get(f"{service}/status.json").json()["since_start"]
    _work(service)
    report = httpx2.get(f"{service}/status.json").json()
    assert report["since_start"]["output_tokens"] - before["output_tokens"] in range(1, 21)
    (model,) = report["models"]
    states = {row["replica"]: row["state"] for row in model["replicas"]}
    assert states["gpu-0"] == "ready"
    assert states["gpu-<b>1</b>"] != "ready"
    assert model["queue"]["free"] == {"waiting": 0, "expected_wait_s": 0.0, "admitted": 1.0}
    assert report["embeddings"][0]["completed"] == 1
    wait_until(lambda: _history(service))
    assert {"waiting", "running", "first_token_p99_s"} <= set(_history(service)[-1])


def _history(url: str) -> list[dict[str, object]]:
    history: list[dict[str, object]] = httpx2.get(f"{url}/status.json").json()["history"]
    return history


def test_it_holds_no_accounts_texts_or_keys(service: str) -> None:
    _work(service)
    text = json.dumps(httpx2.get(f"{service}/status.json").json())
    for private in (SECRET, "account-of-somebody", SERVICE_KEY):
        assert private not in text


def test_the_page_runs_under_a_strict_policy_and_shows_names_as_text(service: str) -> None:
    _work(service)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        answer = page.goto(f"{service}/status")
        assert answer is not None
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        expect(page.get_by_role("status")).to_have_text("ready")
        expect(page.get_by_role("cell", name="gpu-<b>1</b>")).to_be_visible()
        expect(page.get_by_role("img")).to_have_count(4)
        assert complaints == []
        browser.close()


def test_a_quantile_is_interpolated_inside_its_bucket() -> None:
    infinite = float("inf")
    before = {0.1: 5.0, 0.2: 5.0, infinite: 5.0}
    after = {0.1: 5.0, 0.2: 15.0, infinite: 15.0}
    assert quantile(before, after, 0.5) == pytest.approx(0.15)
    assert quantile(before, before, 0.5) is None
    assert quantile({}, {0.1: 0.0, infinite: 4.0}, 0.99) == 0.1
