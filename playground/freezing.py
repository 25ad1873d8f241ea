"""Spec -> what a version keeps (texts by reference), and back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import rfc8785

from core.errors import InvalidInput
from playground import spec as specs
from playground.bodies import store
from playground.models import Prompt, Version


@dataclass(frozen=True, kw_only=True)
class Frozen:
    """`spec`: JSON text, texts as `{"body": sha256}`; `texts`: their UTF-8 bytes; `digest`: of the canonical form."""

    spec: str
    digest: bytes
    texts: list[bytes]


def freeze(*, prompt: Prompt, spec: specs.Spec) -> Frozen:
    """Replace each text by its reference. Raises InvalidInput for a reference to a text this prompt does not have."""
    texts: list[bytes] = []
    referenced: set[str] = set()

    def reference(text: Any, kind: specs.TextKind) -> dict[str, str]:
        del kind
        if isinstance(text, specs.UploadRef):
            raise InvalidInput("There is no such upload, or it is not complete.", code="no_such_upload", field="spec")
        if isinstance(text, specs.BodyRef):
            referenced.add(text.sha256)
            return {"body": text.sha256}
        data = text.encode("utf-8")
        texts.append(data)
        return {"body": hashlib.sha256(data).hexdigest()}

    frozen = specs.map_texts(spec.plain(), reference)
    _refuse_unknown(prompt, referenced)
    return Frozen(
        spec=json.dumps(frozen, ensure_ascii=False, separators=(",", ":")),
        digest=hashlib.sha256(rfc8785.dumps(frozen)).digest(),
        texts=texts,
    )


def _refuse_unknown(prompt: Prompt, referenced: set[str]) -> None:
    """A hash from elsewhere answers like one that exists nowhere: naming a text is no way to obtain it."""
    if referenced and len(store.lengths(prompt_id=prompt.pk, sha256s=referenced)) != len(referenced):
        raise InvalidInput("This prompt has no text with that SHA-256.", code="no_such_body", field="spec")


def thaw(version: Version) -> dict[str, Any]:
    """The spec of a version with its texts read back. Raises StorageUnavailable."""
    frozen = version.frozen
    wanted: set[str] = set()

    def collect(text: Any, kind: specs.TextKind) -> Any:
        del kind
        wanted.add(text["body"])
        return text

    specs.map_texts(frozen, collect)
    texts = store.read(prompt_id=version.prompt_id, sha256s=wanted)
    return specs.map_texts(frozen, lambda text, kind: texts[text["body"]])


def with_lengths(version: Version) -> dict[str, Any]:
    """The spec of a version with `{"body": sha256, "bytes": n}` for texts."""
    frozen = version.frozen
    wanted: set[str] = set()

    def collect(text: Any, kind: specs.TextKind) -> Any:
        del kind
        wanted.add(text["body"])
        return text

    specs.map_texts(frozen, collect)
    sizes = store.lengths(prompt_id=version.prompt_id, sha256s=wanted)
    return specs.map_texts(frozen, lambda text, kind: {**text, "bytes": sizes.get(text["body"], 0)})
