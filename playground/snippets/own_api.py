"""A version called by its label through this application's own API, where the label may move without a new release."""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from inference_client.awaiting import LONGEST_WAIT_S

_HEREDOC = "REQUEST"


def render(prompt_id: uuid.UUID, pointer: str, values: Mapping[str, str], *, site_url: str, stream: bool) -> str:
    """A bash command that runs the version `pointer` means when it is called. The key is $PLAYGROUND_API_KEY.

    Without `stream` it waits for the whole answer. One key for one wish: sent again with the same `Idempotency-Key`,
    the same run answers.
    """
    way: dict[str, Any] = {"stream": True} if stream else {"wait_s": LONGEST_WAIT_S}
    address = f"{site_url}/api/v1/prompts/{prompt_id}/versions/{quote(pointer, safe='')}/runs"
    return "\n".join(
        [
            f"curl --silent --show-error --no-buffer {shlex.quote(address)} \\",
            '  --header "Authorization: Bearer $PLAYGROUND_API_KEY" \\',
            '  --header "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)" \\',
            "  --header 'content-type: application/json' \\",
            f"  --data-binary @- <<'{_HEREDOC}'",
            json.dumps({"variables": dict(values), **way}, ensure_ascii=False, indent=2),
            _HEREDOC,
            "",
        ]
    )
