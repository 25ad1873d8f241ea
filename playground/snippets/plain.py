"""The request itself, and a file of requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: In a batch file each request has a name, and the answers come back by it.
CUSTOM_ID = "request-1"


def request(body: Mapping[str, Any], *, base_url: str, api_version: str) -> str:
    """The body of `POST {base_url}/v1/messages`, as it is."""
    del base_url, api_version
    return json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def batch(body: Mapping[str, Any], *, base_url: str, api_version: str) -> str:
    """The body of `POST /v1/messages/batches` of the Messages API, with this request as its only one.

    A request in a batch is never streamed.
    """
    del base_url, api_version
    params = {name: value for name, value in body.items() if name != "stream"}
    return json.dumps({"requests": [{"custom_id": CUSTOM_ID, "params": params}]}, ensure_ascii=False, indent=2) + "\n"
