from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from accounts.models import User
from core import idempotency
from inference_client.models import Run
from inference_client.services import create_run
from playground import freezing, wire
from playground.models import Version, VersionRun


def run_version(
    *,
    account: User,
    version: Version,
    values: Mapping[str, str],
    model: str | None = None,
    turns: Sequence[Mapping[str, Any]] = (),
    idempotency_key: str | None = None,
) -> Run:
    """Send a version to a model once: the run is queued when this returns.

    Raises Unprocessable (unset variable, unsendable prefill), StorageUnavailable, IdempotencyKeyReused.
    """

    def make() -> tuple[Run, uuid.UUID]:
        run = create_run(account=account, body=body, api_version=wire.api_version(spec))
        VersionRun.objects.create(run=run, version=version, variables=json.dumps(filled))
        return run, run.pk

    spec = freezing.thaw(version)
    filled = wire.complete_values(spec, values)
    wire.refuse_incomplete(spec, filled)
    body = wire.build(spec, filled, model=model, turns=turns)
    wire.refuse_unsendable(body)
    return idempotency.once(
        account_id=account.pk,
        scope="runs",
        key=idempotency_key,
        request=idempotency.fingerprint(version.pk, dict(values), model, list(turns)),
        make=make,
        find=lambda pk: Run.objects.get(pk=pk),
    )
