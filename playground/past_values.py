"""The variable values that a person's last runs of a prompt were filled with: what a new run can start from."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from dataclasses import dataclass

from django.db.models import Case, CharField, F, Func, IntegerField, TextField, When
from django.db.models.functions import MD5, Cast

from accounts.models import User
from inference_client.models import Run, RunKind
from playground.models import Prompt, VersionRun

#: How many of the newest runs are looked at, and how many different sets of values are listed of them.
SCANNED_RUNS = 200
LISTED = 20
#: A larger set is listed by its size and read by itself; one beyond `COMPARED_BYTES` is taken to be unlike any other.
WHOLE_BYTES = 16 * 1024
COMPARED_BYTES = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class PastValues:
    """`values` is None in a list if they have more than `WHOLE_BYTES`. `bytes` is the size of their JSON text."""

    run: uuid.UUID
    version: int
    status: str
    created_at: dt.datetime
    bytes: int
    values: dict[str, str] | None


def past_values(person: User, prompt: Prompt) -> list[PastValues]:
    """The different sets of values among this person's last runs of a prompt, newest first; two queries."""
    newest: dict[str, uuid.UUID] = {}
    for run_id, mark in _marked_runs(person, prompt):
        newest.setdefault(mark, run_id)
    chosen = list(newest.values())[:LISTED]
    rows = (
        VersionRun.objects.filter(pk__in=chosen)
        .annotate(
            size=_octets(),
            whole=Case(When(size__lte=WHOLE_BYTES, then=F("variables")), default=None, output_field=TextField()),
        )
        .order_by("-run_id")
        .values_list("run_id", "version__number", "run__status", "run__queued_at", "size", "whole")
    )
    return [
        PastValues(
            run=run,
            version=version,
            status=status,
            created_at=queued_at,
            bytes=size,
            values=None if whole is None else json.loads(whole),
        )
        for run, version, status, queued_at, size, whole in rows
    ]


def values_of_run(person: User, prompt: Prompt, run_id: uuid.UUID) -> dict[str, str] | None:
    """All values of one run of this person's, however large; None if there is no such run."""
    runs = VersionRun.objects.visible_to(person).filter(version__prompt=prompt, pk=run_id)
    found = runs.values_list("variables", flat=True).first()
    if found is None:
        return None
    values: dict[str, str] = json.loads(found)
    return values


def _octets() -> Func:
    return Func(F("variables"), function="octet_length", output_field=IntegerField())


def _marked_runs(person: User, prompt: Prompt) -> list[tuple[uuid.UUID, str]]:
    """The newest runs, as far as they had values, each with what equal values have in common."""
    alike = Case(
        When(size__lte=COMPARED_BYTES, then=MD5("variables")),
        default=Cast("run_id", CharField()),
        output_field=CharField(),
    )
    # By the index on who ran what, before anything large is looked at. Rows of a batch are no values that somebody
    # typed, and a hundred thousand of them would hide those that are.
    newest = Run.objects.visible_to(person).filter(group_id=prompt.pk).exclude(kind=RunKind.BATCH).order_by("-pk")
    runs = VersionRun.objects.filter(pk__in=newest.values("pk")[:SCANNED_RUNS]).exclude(variables="{}")
    marked = runs.annotate(size=_octets(), mark=alike).order_by("-run_id")
    return list(marked.values_list("run_id", "mark"))
