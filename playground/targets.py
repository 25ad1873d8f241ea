"""What a request asks for and its target cannot take, told before anything is sent. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playground import spec as specs

#: The version of the Messages API that no longer takes sampling parameters.
_WITHOUT_SAMPLING = "2026-10-21"


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """`field` as it is named on the wire; `refused` is False where the target takes it, but in another way."""

    field: str
    message: str
    refused: bool = True


def misfits(body: Mapping[str, Any], *, api_version: str, capabilities: object = None) -> list[Misfit]:
    """What the target of `body` will refuse, by field.

    `capabilities` is what the backend says of the model (`/v1/models`); where it says nothing, nothing is assumed.
    """
    known: Mapping[str, Any] = capabilities if isinstance(capabilities, dict) else {}
    found = [*_sampling(body, api_version)]
    if known.get("top_k") is False and "top_k" in body:
        found.append(Misfit(field="top_k", message="This model does not take top_k."))
    if known.get("prefill") is False and body["messages"][-1]["role"] == "assistant":
        found.append(
            Misfit(field="messages", message="This model takes no prefill: the last message must be the user's.")
        )
    if known.get("own_tools") is False and _decides_by_itself(body):
        found.append(
            Misfit(
                field="tool_choice",
                message="This model cannot decide by itself whether to call a tool: "
                "choose `any`, one tool, or `none` as tool choice.",
            )
        )
    return found


def sdk_notes(body: Mapping[str, Any], language: str) -> list[Misfit]:
    """What a snippet passes on in another way than by a plain argument."""
    extra = [name for name in specs.SAMPLING if name in body]
    if extra and language in ("python", "typescript"):
        way = "in extra_body" if language == "python" else "as further fields of the object"
        return [
            Misfit(
                field=extra[0],
                message=f"The current SDK has no argument for {', '.join(extra)}: the snippet sends "
                f"{'it' if len(extra) == 1 else 'them'} {way}, under the API version that takes "
                f"{'it' if len(extra) == 1 else 'them'}.",
                refused=False,
            )
        ]
    if language == "batch" and body.get("stream"):
        return [Misfit(field="stream", message="A request in a batch is never streamed.", refused=False)]
    return []


def _sampling(body: Mapping[str, Any], api_version: str) -> Iterator[Misfit]:
    if api_version == _WITHOUT_SAMPLING:
        for name in specs.SAMPLING:
            if name in body:
                yield Misfit(field=name, message=f"API version {api_version} refuses {name}.")


def _decides_by_itself(body: Mapping[str, Any]) -> bool:
    choice = body.get("tool_choice") or {"type": "auto"}
    return bool(body.get("tools")) and choice.get("type") == "auto"
