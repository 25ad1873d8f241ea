"""Whether a snippet makes the call that a run made: the hashes of both requests, and what sets them apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.models import User
from inference_client.models import Run, RunKind
from inference_client.services import canonical_sha256
from playground.models import Version


@dataclass(frozen=True, kw_only=True)
class Proof:
    """`sha256` is the snippet's (hex, of the canonical form by RFC 8785); `run` the last run it is held against.

    `differences` names the fields in which the two requests differ; empty where they are the same request.
    """

    sha256: str
    run: Run | None
    differences: tuple[str, ...]

    @property
    def is_equal(self) -> bool | None:
        """None where nothing was run that could be compared."""
        return None if self.run is None else self.sha256 == bytes(self.run.request_sha256).hex()


def prove(person: User, version: Version, body: Mapping[str, Any]) -> Proof:
    """Hold `body` against the last run of `version` by `person`, who may see it.

    Raises InvalidInput if it has no canonical form.
    """
    sha256 = canonical_sha256(body)
    # Not those of batches: some of them ask a judge about an answer, which is no request of the version.
    mine = Run.objects.visible_to(person).filter(subject_id=version.pk).exclude(kind=RunKind.BATCH)
    run = mine.order_by("-pk").first()
    if run is None or bytes(run.request_sha256) == sha256:
        return Proof(sha256=sha256.hex(), run=run, differences=())
    return Proof(sha256=sha256.hex(), run=run, differences=differing_fields(body, json.loads(run.request)))


def differing_fields(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """The top-level fields in which two requests differ, one with and one without it included."""
    names = [*one, *(name for name in other if name not in one)]
    return tuple(
        name for name in names if (name in one) != (name in other) or not _mean_the_same(one.get(name), other.get(name))
    )


def _mean_the_same(one: object, other: object) -> bool:
    """By their canonical forms: to Python 1 is True. Those of large texts take a while, sorted JSON a tenth of it."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or canonical_sha256(
        {"value": one}
    ) == canonical_sha256({"value": other})
