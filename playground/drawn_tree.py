"""A prompt's versions as the history draws them, newest first: all of them, or the rows around one.

Columns, not an object a row: 10,000 versions are a third of the bytes, written and read in a third of the time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BigIntegerField, F, Max, TextField
from django.db.models.functions import Cast, Extract, Floor

from accounts.models import User
from playground.models import DEFAULT_BRANCH, Branch, Draft, Label, Prompt, Version
from playground.serializers import BranchOutput, LabelOutput
from playground.tree import Line, Node, lanes, lines_across

#: Rows on either side of the open version that a page carries: more than any window shows of it when it opens.
AROUND = 64


@dataclass(frozen=True, kw_only=True)
class Skeleton:
    """Every version, newest first, in its lane. What is drawn of some depends on all of them."""

    nodes: Sequence[Node]
    lane_of: dict[int, int]

    @property
    def lanes(self) -> int:
        return max(self.lane_of.values(), default=-1) + 1

    def around(self, number: int) -> range:
        """The rows that a page carries: around a version, around the newest for one that is not there."""
        here = next((row for row, node in enumerate(self.nodes) if node.number == number), 0)
        return range(max(0, here - AROUND), min(len(self.nodes), here + AROUND + 1))

    def lines(self, rows: range) -> list[Line]:
        return lines_across(self.nodes, self.lane_of, first=rows.start, last=rows.stop)


def skeleton(prompt: Prompt, branches: Sequence[Branch]) -> Skeleton:
    # Three arrays, not a row a version: a tenth of the time in this process, and every page of the prompt waits for it.
    found = Version.objects.filter(prompt=prompt).aggregate(
        numbers=ArrayAgg("number", order_by="-number", default=[]),
        parents=ArrayAgg("parent__number", order_by="-number", default=[]),
        merged=ArrayAgg("merged_parent__number", order_by="-number", default=[]),
    )
    nodes = [
        Node(number, (parent, other) if other else (parent,) if parent else ())
        for number, parent, other in zip(found["numbers"], found["parents"], found["merged"], strict=True)
    ]
    return Skeleton(nodes=nodes, lane_of=lanes(nodes, first=main_first(branches)))


def branches_of(prompt: Prompt) -> list[Branch]:
    return list(Branch.objects.filter(prompt=prompt).select_related("head").order_by("name"))


def main_first(branches: Sequence[Branch]) -> list[int]:
    """The heads whose lines are drawn leftmost, in order."""
    return [branch.head.number for branch in sorted(branches, key=lambda branch: branch.name != DEFAULT_BRANCH)]


def pointers(prompt: Prompt, branches: Sequence[Branch]) -> dict[str, object]:
    """What points into the tree, as the API answers it."""
    labels = Label.objects.filter(prompt=prompt, version__isnull=False).select_related("version").order_by("name")
    return {
        "branches": BranchOutput(branches, many=True).data,
        "labels": LabelOutput(labels, many=True).data,
    }


def whole_tree(prompt: Prompt) -> dict[str, object]:
    """Everything that the drawing needs, in columns."""
    branches = branches_of(prompt)
    tree = skeleton(prompt, branches)
    return _columns(prompt, tree, range(len(tree.nodes))) | pointers(prompt, branches)


def tree_state(prompt: Prompt) -> str:
    """Changes with whatever `whole_tree` answers, and is found in a tenth of its time. SHA-256 in hex.

    Versions are never changed and never taken out, so the newest number stands for all of them; but a person may have
    another name today, or be gone.
    """
    versions = Version.objects.filter(prompt=prompt)
    writers = User.objects.filter(pk__in=versions.values("author")).order_by("pk")
    state = {
        "newest": versions.aggregate(newest=Max("number"))["newest"],
        "people": [(person.pk, person.label) for person in writers],
        **pointers(prompt, branches_of(prompt)),
    }
    return hashlib.sha256(json.dumps(state, cls=DjangoJSONEncoder).encode()).hexdigest()


def tree_around(prompt: Prompt, number: int, *, person: User) -> dict[str, object]:
    """What a page carries, so that the first rows wait for no further answer: those around version `number`.

    `lines` are the ones that cross these rows; `drafts` the others with unsaved text of this person.
    """
    branches = branches_of(prompt)
    tree = skeleton(prompt, branches)
    rows = tree.around(number)
    drafts = Draft.objects.of(person, prompt).exclude(base=None).values_list("base__number", flat=True)
    return (
        _columns(prompt, tree, rows)
        | pointers(prompt, branches)
        | {"lines": tree.lines(rows), "drafts": sorted({*drafts} - {number})}
    )


def is_part(tree: Mapping[str, Any]) -> bool:
    """Whether some versions are missing from what a page carries."""
    return len(tree["numbers"]) < int(tree["count"])


def _columns(prompt: Prompt, tree: Skeleton, rows: range) -> dict[str, object]:
    nodes = tree.nodes[rows.start : rows.stop]
    words = _words(prompt, nodes)
    people = {writer: index for index, writer in enumerate({row[1]: None for row in words})}
    return {
        "count": len(tree.nodes),
        "first": rows.start,
        "lanes": tree.lanes,
        "numbers": [node.number for node in nodes],
        "parents": [node.parents[0] if node.parents else 0 for node in nodes],
        "merged": [node.parents[1] if len(node.parents) > 1 else 0 for node in nodes],
        "lane_of": [tree.lane_of[node.number] for node in nodes],
        "people": _names(list(people)),
        "authors": [people[row[1]] for row in words],
        "times": [row[2] for row in words],
        "messages": [row[3] for row in words],
    }


def _words(prompt: Prompt, nodes: Sequence[Node]) -> list[tuple[int, str | None, int, str]]:
    """Number, author's id, time in seconds and message of each node. Numbers and words made by the database."""
    if not nodes:
        return []
    return list(
        Version.objects.filter(prompt=prompt, number__lte=nodes[0].number, number__gte=nodes[-1].number)
        .recent_first()
        .annotate(
            writer=Cast("author_id", TextField()),
            when=Cast(Floor(Extract(F("created_at"), "epoch")), BigIntegerField()),
        )
        .values_list("number", "writer", "when", "message")
    )


def _names(people: Sequence[str | None]) -> list[str | None]:
    known = User.objects.filter(pk__in=[person for person in people if person])
    labels: dict[str | None, str] = {str(author.pk): author.label for author in known}
    return [labels.get(person) for person in people]
