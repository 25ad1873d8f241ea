"""Finding prompts by words in their names, descriptions and tags, and in the messages and texts of all their versions.

Words are written as in a search engine (`"a phrase"`, `-without`, `a or b`); the last one may be unfinished. Names and
descriptions are also searched for the query itself, which finds what has no words in it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQueryField, SearchVectorField
from django.db.models import BooleanField, F, Func, Q, QuerySet, TextField, Value, Window
from django.db.models.functions import Concat, RowNumber

from playground import freezing, words
from playground.bodies.peeking import small_texts
from playground.excerpts import Excerpt, excerpt
from playground.models import Version, VersionSearch
from playground.models.prompt import PromptQuerySet

MAX_QUERY = 1000
MATCHES_SHOWN = 3
#: What is read for excerpts: no text above this, and no more than this many bytes for one page of prompts.
EXCERPT_TEXT_BYTES = 256 * 1024
EXCERPT_TOTAL_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Query:
    """What was typed; the same for PostgreSQL (`""` if there is no word in it); what an excerpt should show."""

    typed: str
    parsed: str
    operands: list[words.Operand]


@dataclass(frozen=True, kw_only=True)
class Match:
    """A version in which the words are; `excerpt` is None if they are further inside than is read for a list."""

    number: int
    excerpt: Excerpt | None


class _Matches(Func):
    template = "(%(expressions)s)"
    arg_joiner = " @@ "
    output_field = BooleanField()


class _Words(Func):
    """Of a prompt's own lines, which are short. What joins words is made a blank first, so that all are words here."""

    template = "to_tsvector('simple', regexp_replace(lower(%(expressions)s), '[-_./:@#]+', ' ', 'g'))"
    output_field = SearchVectorField()


class _AsQuery(Func):
    template = "%(expressions)s::tsquery"
    output_field = SearchQueryField()


def read_query(typed: str) -> Query:
    """Never fails: what is no query has no words."""
    typed = typed.replace("\0", " ").strip()[:MAX_QUERY]
    parsed, operands = words.read_query(typed)
    return Query(typed=typed, parsed=parsed, operands=operands)


def matching(prompts: PromptQuerySet, query: Query) -> PromptQuerySet:
    """Those of `prompts` that the words are in: in the prompt's own lines, or in one of its versions."""
    if not query.typed:
        return prompts
    found = Q(name__icontains=query.typed) | Q(description__icontains=query.typed) | Q(tags__contains=[query.typed])
    if query.parsed:
        tags = Func(F("tags"), Value(" "), function="array_to_string", output_field=TextField())
        lines = Concat("name", Value(" "), "description", Value(" "), tags, output_field=TextField())
        versions = _versions_with(query).values("prompt_id")
        found |= Q(_Matches(_Words(lines), _AsQuery(Value(query.parsed)))) | Q(pk__in=versions)
    return prompts.filter(found)


def _versions_with(query: Query) -> QuerySet[VersionSearch]:
    return VersionSearch.objects.filter(_Matches(F("document"), _AsQuery(Value(query.parsed))))


def matches(prompt_ids: Collection[uuid.UUID], query: Query) -> dict[uuid.UUID, list[Match]]:
    """By prompt: its newest versions that the words are in, at most MATCHES_SHOWN, newest first."""
    if not query.parsed or not prompt_ids:
        return {}
    newest = Window(RowNumber(), partition_by=F("prompt_id"), order_by=F("version__number").desc())
    rows = _versions_with(query).filter(prompt_id__in=prompt_ids).annotate(place=newest)
    ids = [row.version_id for row in rows.filter(place__lte=MATCHES_SHOWN).defer("document")]
    versions = list(Version.objects.filter(pk__in=ids).order_by("prompt_id", "-number"))
    found: dict[uuid.UUID, list[Match]] = {}
    for version, part in zip(versions, _excerpts(versions, query.operands), strict=True):
        found.setdefault(version.prompt_id, []).append(Match(number=version.number, excerpt=part))
    return found


def _excerpts(versions: Sequence[Version], operands: Sequence[words.Operand]) -> list[Excerpt | None]:
    """For each version: from its message, else from the first text the words are in."""
    found = [excerpt(version.message, operands) for version in versions]
    places = {
        index: [(version.prompt_id, sha256) for sha256 in freezing.references(version.frozen)]
        for index, version in enumerate(versions)
        if found[index] is None
    }
    texts = small_texts(
        [place for each in places.values() for place in each],
        each_bytes=EXCERPT_TEXT_BYTES,
        total_bytes=EXCERPT_TOTAL_BYTES,
    )
    for index, each in places.items():
        parts = (excerpt(texts[place], operands) for place in each if place in texts)
        found[index] = next((part for part in parts if part), None)
    return found
