"""The runs that a person made, filtered: what the pages of runs and the API list. Newest first, without their texts.

Everybody sees their own runs and nobody else's (the values of a run may be private, also to whoever owns the prompt),
and of those the ones whose prompt they may still see.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlencode

from django.db.models import Q

from accounts.models import User
from core.errors import InvalidInput
from core.ids import first_id_at
from inference_client.models import Provider, Run, RunKind, RunQuerySet, RunStatus
from playground.models import Prompt, Version, VersionRun

#: What `kind` may be besides the kinds themselves.
ALL_KINDS = "all"
ME = "me"
_LONGEST_MODEL = 200
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which runs are asked for; "" and None do not narrow. `kind` "": all but those of batches, which are thousands.

    `since` and `until` are the first moment that counts and the first that does not any more.
    """

    status: str = ""
    model: str = ""
    provider: str = ""
    kind: str = ""
    author: str = ""
    prompt: uuid.UUID | None = None
    version: int | None = None
    since: dt.datetime | None = None
    until: dt.datetime | None = None

    @classmethod
    def read(cls, given: Mapping[str, str]) -> RunFilter:
        """From the parameters of an address. Raises InvalidInput naming the one that is none."""
        return cls(
            status=_one_of(given, "status", RunStatus.values),
            model=given.get("model", "").strip()[:_LONGEST_MODEL],
            provider=_one_of(given, "provider", Provider.values),
            kind=_one_of(given, "kind", [*RunKind.values, ALL_KINDS]),
            author=_author(given.get("author", "")),
            prompt=_id(given, "prompt"),
            version=_number(given, "version"),
            since=_moment(given, "since", end_of_day=False),
            until=_moment(given, "until", end_of_day=True),
        )

    @property
    def narrows(self) -> bool:
        return replace(self, prompt=None) != RunFilter()

    def address(self, *, cursor: str = "", **changes: Any) -> str:
        """The query of a page with this filter, changed so; the prompt is in the path of its page."""
        shown = replace(self, prompt=None, **changes)
        moments = {"since": shown.since, "until": shown.until}
        given = {
            **{name: str(getattr(shown, name) or "") for name in ("status", "model", "provider", "kind", "version")},
            "author": shown.author,
            **{name: moment.isoformat() if moment else "" for name, moment in moments.items()},
            "cursor": cursor,
        }
        pairs = [(name, value) for name, value in given.items() if value]
        return f"?{urlencode(pairs)}" if pairs else "./"

    def select(self, person: User) -> RunQuerySet:
        """Those of this person's runs."""
        runs = Run.objects.visible_to(person).lightly()
        if self.author not in ("", ME, str(person.pk)):
            return runs.none()
        runs = self._of_prompt(runs, person)
        equal = {"status": self.status, "model": self.model, "provider": self.provider}
        runs = runs.filter(**{name: value for name, value in equal.items() if value})
        if self.kind not in ("", ALL_KINDS):
            runs = runs.filter(kind=self.kind)
        elif not self.kind:
            runs = runs.exclude(kind=RunKind.BATCH)
        # Ids are UUIDv7: by them a time is found in the same index that gives the order.
        bounds = {"pk__gte": self.since and first_id_at(self.since), "pk__lt": self.until and first_id_at(self.until)}
        return runs.filter(**{name: bound for name, bound in bounds.items() if bound is not None})

    def _of_prompt(self, runs: RunQuerySet, person: User) -> RunQuerySet:
        readable = Prompt.objects.readable_by(person).filter(trashed_at=None)
        if self.prompt is None:
            if self.version is not None:
                raise InvalidInput("A version is of a prompt: name it, too.", field="version")
            return runs.filter(Q(group_id=None) | Q(group_id__in=readable.values("pk")))
        if not readable.filter(pk=self.prompt).exists():
            return runs.none()
        if self.version is None:
            return runs.filter(group_id=self.prompt)
        version = Version.objects.filter(prompt=self.prompt, number=self.version).values_list("pk", flat=True).first()
        return runs.filter(subject_id=version) if version is not None else runs.none()


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A run with what it is a run of; None where it is of no version."""

    run: Run
    version: Version | None
    comparison_id: uuid.UUID | None


def listed(runs: Iterable[Run]) -> list[ListedRun]:
    """The runs of one page with their versions, prompts and comparisons: a query each, for all of them."""
    rows = list(runs)
    named = {run.subject_id for run in rows if run.subject_id is not None}
    versions = Version.objects.select_related("prompt").defer("spec").in_bulk(named) if named else {}
    compared = [run.pk for run in rows if run.kind == RunKind.COMPARISON]
    ties = VersionRun.objects.filter(pk__in=compared).values_list("pk", "comparison_id") if compared else []
    comparisons = dict(cast("Iterable[tuple[uuid.UUID, uuid.UUID | None]]", ties))
    return [
        ListedRun(
            run=run,
            version=versions.get(run.subject_id) if run.subject_id else None,
            comparison_id=comparisons.get(run.pk),
        )
        for run in rows
    ]


def recent_models(person: User) -> list[str]:
    """The models of this person's newest runs, by name: to choose from."""
    newest = Run.objects.visible_to(person).order_by("-pk").values_list("model", flat=True)[:200]
    return sorted(set(newest))


def _one_of(given: Mapping[str, str], name: str, values: Iterable[str]) -> str:
    value = given.get(name, "")
    if value and value not in values:
        raise InvalidInput(f"{name.capitalize()} is one of {', '.join(values)}.", field=name)
    return value


def _author(value: str) -> str:
    if not value or value == ME:
        return value
    try:
        return str(uuid.UUID(value))
    except ValueError as error:
        raise InvalidInput("An author is `me` or the id of an account.", field="author") from error


def _id(given: Mapping[str, str], name: str) -> uuid.UUID | None:
    value = given.get(name, "")
    try:
        return uuid.UUID(value) if value else None
    except ValueError as error:
        raise InvalidInput("This is no id.", field=name) from error


def _number(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name, "")
    if not value:
        return None
    if not value.isascii() or not value.isdecimal() or not 0 < int(value[:10]) < 2**31:
        raise InvalidInput("A version has a number from 1.", field=name)
    return int(value)


def _moment(given: Mapping[str, str], name: str, *, end_of_day: bool) -> dt.datetime | None:
    """A date (of UTC, and all of it), or a moment with its zone."""
    value = given.get(name, "").strip()
    if not value:
        return None
    try:
        # A plus sign in an address reads as a blank.
        moment = dt.datetime.fromisoformat(value.replace(" ", "+"))
        is_day = len(value) == len("2026-01-01")
        moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        moment = moment + _DAY if is_day and end_of_day else moment
        first_id_at(moment)
    except (ValueError, OverflowError) as error:
        raise InvalidInput("A time is a date such as 2026-11-30, or a moment with its zone.", field=name) from error
    return moment
