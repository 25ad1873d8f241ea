"""A version as a call from somebody's own code, in the languages that people call models from.

Pure: the request body comes from `playground.wire`, the same that a run sends. The key is read from the environment
when the snippet runs and is never in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from playground.snippets import own_api, plain, powershell, python, shell, typescript

__all__ = ["LANGUAGES", "OWN_API", "TITLES", "own_api"]

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

#: What people call them.
TITLES: Mapping[str, str] = {
    "curl": "cURL",
    "powershell": "PowerShell",
    "python": "Python",
    "typescript": "TypeScript",
    "json": "JSON",
    "batch": "Batch file",
}
