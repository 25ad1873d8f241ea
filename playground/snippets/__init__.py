"""A version as a call from somebody's own code, in the languages that people call models from.

Pure: the request body comes from `playground.wire`, the same that a run sends. The key is read from the environment
when the snippet runs and is never in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from playground.snippets import own_api, plain, powershell, python, shell, typescript

__all__ = ["CHOICES", "LANGUAGES", "OWN_API", "OWN_API_CHOICE", "own_api"]

Renderer = Callable[..., str]

#: Snippet languages by their name in the API: `render(body, *, base_url, api_version)`.
LANGUAGES: Mapping[str, Renderer] = {
    "curl": shell.render,
    "powershell": powershell.render,
    "python": python.render,
    "typescript": typescript.render,
    "json": plain.request,
    "batch": plain.batch,
}

#: The call of this application's own API, which is made of a pointer and values instead of a body (`own_api.render`).
OWN_API = "run"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A language as people choose it: what they call it, and the name of a file that holds it."""

    name: str
    title: str
    file: str


CHOICES = (
    Choice(name="curl", title="cURL", file="request.sh"),
    Choice(name="powershell", title="PowerShell", file="request.ps1"),
    Choice(name="python", title="Python", file="request.py"),
    Choice(name="typescript", title="TypeScript", file="request.ts"),
    Choice(name="json", title="JSON", file="request.json"),
    Choice(name="batch", title="Batch file", file="batch.json"),
)
OWN_API_CHOICE = Choice(name=OWN_API, title="Run by label", file="run.sh")
