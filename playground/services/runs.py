from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.models import User
from core import idempotency
from core.prepared_insert import insert
from inference_client import catalogue
from inference_client.models import Run, RunKind
from inference_client.services import create_run
from playground import conversation, freezing, overrides, wire
from playground.models import Version, VersionRun


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A request that may be queued, once or some times over. `values` are those that filled it.

    `provider` "": whoever offers the model to the person who runs it, our own first. `turns`: those after the version's
    own messages, of which the run that is continued has sent the first `sent_before`.
    """

    version: Version
    body: Mapping[str, Any]
    api_version: str
    values: Mapping[str, str]
    parameters: Mapping[str, Any]
    provider: str = ""
    turns: Sequence[Mapping[str, Any]] = ()
    sent_before: int = 0


def prepare_run(
    *,
    version: Version,
    spec: Mapping[str, Any],
    values: Mapping[str, str],
    model: str | None = None,
    turns: Sequence[Mapping[str, Any]] = (),
    parameters: Mapping[str, Any] | None = None,
    provider: str | None = None,
    field: str = "parameters",
) -> PreparedRun:
    """The request of a version whose `spec` is read back. Nothing is written. `field`: where the parameters come from.

    Raises Unprocessable (unset variable, unsendable prefill), InvalidInput (parameters that the whole does not allow).
    """
    changed = overrides.applied(spec, parameters or {}, field=field)
    filled = wire.complete_values(changed, values)
    wire.refuse_incomplete(changed, filled)
    body = wire.build(changed, filled, model=model, turns=turns)
    wire.refuse_unsendable(body)
    return PreparedRun(
        version=version,
        body=body,
        api_version=wire.api_version(changed),
        values=filled,
        parameters=dict(parameters or {}),
        provider=provider or "",
        turns=turns,
    )


def queue_run(
    *,
    account: User,
    prepared: PreparedRun,
    kind: str = RunKind.SINGLE,
    run_id: uuid.UUID | None = None,
    **place: Any,
) -> Run:
    """Queue a prepared request in the caller's transaction. `place`: fields of the VersionRun besides.

    `kind` and `run_id`: see `create_run`.
    """
    run = create_run(
        account=account,
        body=prepared.body,
        api_version=prepared.api_version,
        provider=prepared.provider or catalogue.provider_of(account, prepared.body["model"]),
        kind=kind,
        group_id=prepared.version.prompt_id,
        subject_id=prepared.version.pk,
        run_id=run_id,
    )
    of_version = VersionRun(
        run=run,
        version=prepared.version,
        variables=json.dumps(prepared.values),
        parameters=json.dumps(prepared.parameters),
        turns=json.dumps(list(prepared.turns), separators=(",", ":")),
        added=json.dumps([conversation.summary(turn) for turn in prepared.turns[prepared.sent_before :]]),
        **place,
    )
    insert(of_version)
    return run


def run_version(
    *,
    account: User,
    version: Version,
    values: Mapping[str, str],
    model: str | None = None,
    provider: str | None = None,
    runs_at: str | None = None,
    turns: Sequence[Mapping[str, Any]] = (),
    parameters: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
    asked: str = "",
) -> Run:
    """Send a version to a model once: the run is queued when this returns.

    `asked` is how the caller named the version. A call that is repeated after its label moved is still the same call.
    `provider`: the one that the caller named; `runs_at`: the one that was chosen, where that is known already.
    Raises Unprocessable (unset variable, unsendable prefill), InvalidInput, StorageUnavailable, IdempotencyKeyReused.
    """
    request = idempotency.fingerprint(
        version.prompt_id,
        asked or version.number,
        dict(values),
        model,
        list(turns),
        dict(parameters or {}),
        provider,
    )
    earlier = idempotency.found_before(
        account_id=account.pk, scope="runs", key=idempotency_key, request=request, find=_run
    )
    if earlier is not None:
        return earlier
    prepared = prepare_run(
        version=version,
        spec=freezing.thaw(version),
        values=values,
        model=model,
        turns=turns,
        parameters=parameters,
        provider=runs_at or provider,
    )

    def make() -> tuple[Run, uuid.UUID]:
        run = queue_run(account=account, prepared=prepared)
        return run, run.pk

    return idempotency.once(
        account_id=account.pk, scope="runs", key=idempotency_key, request=request, make=make, find=_run
    )


def _run(made: uuid.UUID) -> Run:
    return Run.objects.get(pk=made)
