"""Finding prompts by words in their names, descriptions and tags, and in the messages and texts of all their versions.

Words are written as in a search engine (`"a phrase"`, `-without`, `a or b`); the last one may be unfinished. Writing
without blanks between words has no words to index, so names and descriptions are also searched for the query itself.
"""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQueryField, SearchVectorField
from django.db import DatabaseError, connection, transaction
from django.db.models import BooleanField, F, Func, Q, QuerySet, TextField, Value, Window
from django.db.models.functions import Concat, Lower, RowNumber

from playground import freezing
from playground.bodies.peeking import small_texts
from playground.excerpts import Excerpt, Word, excerpt
from playground.models import Version, VersionSearch
from playground.models.prompt import PromptQuerySet

#: PostgreSQL refuses a word of 2 KiB in a query, so no query is longer.
MAX_QUERY_BYTES = 2000
MATCHES_SHOWN = 3
#: What is read for excerpts: no text above this, and no more than this many bytes for one page of prompts.
EXCERPT_TEXT_BYTES = 256 * 1024
EXCERPT_TOTAL_BYTES = 8 * 1024 * 1024
_LEXEME = re.compile(r"(?P<without>!)?'(?P<word>(?:[^']|'')*)'(?P<marks>:\*)?")


@dataclass(frozen=True, kw_only=True)
class Query:
    """What was typed, and PostgreSQL's reading of it (`""` if there is no word in it)."""

    typed: str
    parsed: str

    @property
    def words(self) -> list[Word]:
        found = [match for match in _LEXEME.finditer(self.parsed) if not match["without"]]
        return [Word(text=match["word"].replace("''", "'"), prefix=bool(match["marks"])) for match in found]


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
    template = "to_tsvector('simple', %(expressions)s)"
    output_field = SearchVectorField()


class _AsQuery(Func):
    template = "%(expressions)s::tsquery"
    output_field = SearchQueryField()


def plain_words(text: str) -> str:
    """As words are indexed and looked for: NFC, lower case (whatever the database's locale), without NUL."""
    return unicodedata.normalize("NFC", text).lower().replace("\0", " ")


def read_query(typed: str) -> Query:
    """Never fails: what is no query has no words."""
    typed = typed.replace("\0", " ").encode("utf-8", "replace")[:MAX_QUERY_BYTES].decode("utf-8", "ignore").strip()
    if not typed:
        return Query(typed="", parsed="")
    words = plain_words(typed).encode("utf-8")[:MAX_QUERY_BYTES].decode("utf-8", "ignore")
    return Query(typed=typed, parsed=_unfinished(words, _parse(words)))


def _parse(words: str) -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT websearch_to_tsquery('simple', %s)::text", [words])
            return str(cursor.fetchone()[0])
    except DatabaseError:  # too many operators in a row, for one
        return ""


def _unfinished(words: str, parsed: str) -> str:
    """The last word as the beginning of one; a compound is there as a whole (`'foo-ba' <-> 'foo' <-> 'ba'`) as well."""
    if not parsed.endswith("'") or not words[-1:].isalnum():
        return parsed
    last = words.rsplit(maxsplit=1)[-1]
    if "-" in last.lstrip("-"):
        parsed = parsed.replace(f"'{last}' <->", f"'{last}':* <->")
    return f"{parsed}:*"


def matching(prompts: PromptQuerySet, query: Query) -> PromptQuerySet:
    """Those of `prompts` that the words are in: in the prompt's own lines, or in one of its versions."""
    if not query.typed:
        return prompts
    found = Q(name__icontains=query.typed) | Q(description__icontains=query.typed) | Q(tags__contains=[query.typed])
    if query.parsed:
        tags = Func(F("tags"), Value(" "), function="array_to_string", output_field=TextField())
        lines = Concat("name", Value(" "), "description", Value(" "), tags, output_field=TextField())
        versions = _versions_with(query).values("prompt_id")
        found |= Q(_Matches(_Words(Lower(lines)), _AsQuery(Value(query.parsed)))) | Q(pk__in=versions)
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
    for version, part in zip(versions, _excerpts(versions, query.words), strict=True):
        found.setdefault(version.prompt_id, []).append(Match(number=version.number, excerpt=part))
    return found


def _excerpts(versions: Sequence[Version], words: Sequence[Word]) -> list[Excerpt | None]:
    """For each version: from its message, else from the first text the words are in."""
    found = [excerpt(version.message, words) for version in versions]
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
        parts = (excerpt(texts[place], words) for place in each if place in texts)
        found[index] = next((part for part in parts if part), None)
    return found
