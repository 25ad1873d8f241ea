"""Parameters that a run sends in place of its version's own: another value, or none at all. Pure.

`{"temperature": 0, "top_p": null}` sends temperature 0 and no top_p; what is not named stays as the version has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import InvalidInput
from playground import spec as specs

NAMES = ("max_tokens", *specs.SAMPLING, "stop_sequences", "thinking", "api_version")
#: What a spec needs besides parameters, to be checked as one.
_REST: Mapping[str, Any] = {"model": "any", "messages": [{"role": "user", "content": "any"}]}


def checked(raw: object, *, field: str = "parameters") -> dict[str, Any]:
    """The overrides as they are kept: values held to what a spec may have, None for what is left out.

    Raises InvalidInput naming the dotted field.
    """
    if not isinstance(raw, dict):
        raise InvalidInput("Parameters are a JSON object from name to value.", field=field)
    for name in raw:
        if name not in NAMES:
            raise InvalidInput(
                f"A run may change {', '.join(NAMES)}. Anything else is part of its version.", field=f"{field}.{name}"
            )
    if "max_tokens" in raw and raw["max_tokens"] is None:
        raise InvalidInput("A request always has a token limit.", field=f"{field}.max_tokens")
    given = {name: value for name, value in raw.items() if value is not None}
    plain = specs.parse({"max_tokens": 1, **_REST, **given}, field=field).plain()
    return {name: None if raw[name] is None else plain[name] for name in raw}


def applied(spec: Mapping[str, Any], overrides: Mapping[str, Any], *, field: str = "parameters") -> dict[str, Any]:
    """A copy of a plain spec with the overrides in it, its fields in the usual order.

    Raises InvalidInput for what the whole does not allow (temperature under an API version that takes none, say).
    """
    if not overrides:
        return dict(spec)
    merged = {**spec, **overrides}
    kept = {name: merged[name] for name in specs.Spec.model_fields if merged.get(name) is not None}
    specs.parse({**_REST, **{name: kept[name] for name in NAMES if name in kept}}, field=field)
    return kept
