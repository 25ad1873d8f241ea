"""cURL for a POSIX shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

_HEREDOC = "REQUEST"
#: The version of the Messages API that takes keys as `x-api-key`.
WITH_KEY_HEADER = "2023-06-01"


def render(body: Mapping[str, Any], *, base_url: str, api_version: str) -> str:
    """A bash command. The body is a quoted here-document, so nothing in it is expanded and no length limit applies.

    A line of pretty-printed JSON never equals the delimiter: each starts with a brace, a bracket, a blank or a quote.
    """
    return "\n".join(
        [
            f"curl --silent --show-error --no-buffer {shlex.quote(base_url + '/v1/messages')} \\",
            f'  --header "{_key(api_version)}" \\',
            f"  --header {shlex.quote('anthropic-version: ' + api_version)} \\",
            "  --header 'content-type: application/json' \\",
            f"  --data-binary @- <<'{_HEREDOC}'",
            json.dumps(body, ensure_ascii=False, indent=2),
            _HEREDOC,
            "",
        ]
    )


def _key(api_version: str) -> str:
    """Later versions of the Messages API take keys as bearer tokens only."""
    return (
        "x-api-key: $ANTHROPIC_API_KEY"
        if api_version == WITH_KEY_HEADER
        else "Authorization: Bearer $ANTHROPIC_API_KEY"
    )
