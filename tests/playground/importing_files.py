"""Files with a whole tree, made and sent, for the tests of imports that a worker takes in."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

from rest_framework.test import APIClient

from playground.bodies import parts
from tests.playground.uploading import put, put_parts, sha256

IMPORTS = "/api/v1/imports"
_DATE = "2026-01-01T00:00:00+00:00"


def history(versions: int, *, length: int = 20, name: str = "Large") -> bytes:
    """A zip with one line of `versions`, each with a text of its own."""
    entries, bodies = [], {}
    for number in range(1, versions + 1):
        text = f"{number}: ".encode() + b"x" * length
        body = hashlib.sha256(text).hexdigest()
        bodies[body] = text
        spec = {"max_tokens": number, "messages": [{"content": {"body": body}, "role": "user"}], "model": "m"}
        digest = hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        entry = {"number": number, "parent": number - 1 or None, "digest": digest, "spec": spec, "created_at": _DATE}
        entries.append(entry)
    manifest = {
        "format": "prompt-playground-export",
        "version": 1,
        "prompt": {"name": name},
        "versions": entries,
        "branches": [{"name": "main", "head": versions}],
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("manifest.json", json.dumps(manifest))
        for body, text in bodies.items():
            opened.writestr(f"bodies/{body}.txt", text)
    return file.getvalue()


def announce_file(api: APIClient, file: bytes, **changes: Any) -> Any:
    """The response to announcing it in parts."""
    pieces = [file[start : start + parts.PART_BYTES] for start in range(0, len(file), parts.PART_BYTES)]
    declared = {"size": len(file), "sha256": sha256(file), "format": "zip", "part_sha256": [*map(sha256, pieces)]}
    headers = {name: changes.pop(name) for name in list(changes) if name.startswith("HTTP_")}
    return api.post(IMPORTS, {**declared, **changes}, format="json", **headers)


def send_file(api: APIClient, file: bytes, **changes: Any) -> dict[str, Any]:
    """Announced, sent past the application, started: the import as it is queued."""
    announced = announce_file(api, file, **changes)
    assert announced.status_code == 202, announced.content
    started: dict[str, Any] = announced.json()
    if "parts" in started:
        put_parts(started, file)
    else:
        assert put(started, file).is_success
    answer = api.post(f"{IMPORTS}/{started['id']}/complete")
    assert answer.status_code == 202, answer.content
    queued: dict[str, Any] = answer.json()
    return queued


def state_of(api: APIClient, queued: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(f"{IMPORTS}/{queued['id']}")
    assert answer.status_code == 200
    shown: dict[str, Any] = answer.json()
    return shown
