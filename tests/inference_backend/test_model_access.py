"""Which models a tier may use."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.inference_backend.declared import Declared
from tests.inference_backend.limited import BODY, headers_of
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine

PROMPT = {name: value for name, value in BODY.items() if name != "max_tokens"}


@pytest.fixture
def address(engine: ScriptedEngine, tmp_path: Path) -> Iterator[str]:
    """Serves one model, to pro and internal."""
    with (
        Declared(tmp_path / "inference.toml", tiers=["pro", "internal"]).add("one", engine).write().served() as running
    ):
        yield running


@pytest.fixture
def client(address: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, trust_env=False, timeout=30) as connected:
        yield connected


def test_a_tier_that_may_use_a_model_does(client: httpx2.Client) -> None:
    headers = headers_of("ada", tier="pro")
    assert client.post("/v1/messages", json=BODY, headers=headers).status_code == 200
    assert client.post("/v1/messages/count_tokens", json=PROMPT, headers=headers).status_code == 200
    assert [row["id"] for row in client.get("/v1/models", headers=headers).json()["data"]] == [MODEL]
    assert client.get(f"/v1/models/{MODEL}", headers=headers).status_code == 200


def test_another_tier_is_forbidden_and_not_shown_the_model(engine: ScriptedEngine, client: httpx2.Client) -> None:
    headers = headers_of("bob", tier="free")
    for response in (
        client.post("/v1/messages", json=BODY, headers=headers),
        client.post("/v1/messages/count_tokens", json=PROMPT, headers=headers),
        client.get(f"/v1/models/{MODEL}", headers=headers),
    ):
        assert response.status_code == 403
        assert response.json()["error"]["type"] == "permission_error"
    assert client.get("/v1/models", headers=headers).json()["data"] == []
    assert engine.requests == []


def test_a_model_that_does_not_exist_is_not_found(client: httpx2.Client) -> None:
    headers = headers_of("ada", tier="pro")
    for response in (
        client.post("/v1/messages", json=BODY | {"model": "unknown"}, headers=headers),
        client.get("/v1/models/unknown", headers=headers),
    ):
        assert response.status_code == 404
        assert response.json()["error"]["type"] == "not_found_error"
