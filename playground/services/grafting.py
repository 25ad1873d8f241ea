"""The versions, branches and labels of a file put into a prompt: what it has already stays as it is."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence

from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.interchange import tree
from playground.interchange.manifest import BranchEntry, LabelEntry, Manifest, Move
from playground.models import Branch, BranchMove, Label, LabelMove, Prompt, Version
from playground.services.branches import record_move, start_free
from playground.services.lines import line, pointer_name
from playground.tree import nearest_common_ancestor

_ROWS = 500


def graft(*, actor: User, prompt: Prompt, nodes: Sequence[tree.Node], manifest: Manifest) -> list[Version]:
    """Insert what is missing, inside the caller's transaction, and say which versions were made.

    Authors and dates are kept as the file has them, except that nobody becomes the author of anything but the actor.
    """
    ids = tree.match(nodes, _existing(prompt))
    missing = [node for node in nodes if node.entry.number not in ids]
    ids |= {node.entry.number: new_id() for node in missing}
    made = [_version(actor, prompt, node, ids) for node in missing]
    _number(prompt, made)
    Version.objects.bulk_create(made, batch_size=_ROWS)
    _put_branches(actor, prompt, manifest.branches, ids)
    _put_labels(actor, prompt, manifest.labels, ids)
    return made


def _existing(prompt: Prompt) -> list[tree.Existing[uuid.UUID]]:
    rows = Version.objects.filter(prompt=prompt).order_by("number")
    return [
        tree.Existing(key=pk, digest=bytes(digest), parents=(parent, merged))
        for pk, digest, parent, merged in rows.values_list("pk", "digest", "parent_id", "merged_parent_id")
    ]


def _version(actor: User, prompt: Prompt, node: tree.Node, ids: dict[int, uuid.UUID]) -> Version:
    entry = node.entry
    return Version(
        id=ids[entry.number],
        prompt=prompt,
        number=entry.number,
        parent_id=ids[entry.parent] if entry.parent else None,
        merged_parent_id=ids[entry.merged_parent] if entry.merged_parent else None,
        author=_person(actor, entry.author),
        message=line("message", entry.message, empty=True),
        model=node.model,
        spec=node.spec,
        digest=node.digest,
        acl_epoch=prompt.acl_epoch,
        created_at=_past(entry.created_at),
    )


def _number(prompt: Prompt, made: Sequence[Version]) -> None:
    """A prompt that is empty gets the numbers of the file; another one goes on with its own."""
    highest = Version.objects.filter(prompt=prompt).recent_first().values_list("number", flat=True).first()
    if highest is not None:
        for number, version in enumerate(made, highest + 1):
            version.number = number


def _person(actor: User, label: str | None) -> User | None:
    return actor if label == actor.label else None


def _past(moment: dt.datetime) -> dt.datetime:
    return min(moment, timezone.now())


def _put_branches(actor: User, prompt: Prompt, entries: Sequence[BranchEntry], ids: dict[int, uuid.UUID]) -> None:
    known = {branch.name: branch for branch in Branch.objects.filter(prompt=prompt).select_related("head")}
    moves: list[BranchMove] = []
    for index, entry in enumerate(entries):
        name = pointer_name(f"branches.{index}.name", entry.name)
        if name in known:
            _bring_forward(actor, known[name], ids[entry.head])
            continue
        branch = Branch.objects.create(prompt=prompt, name=name, head_id=ids[entry.head])
        moves += [
            BranchMove(
                prompt=prompt,
                branch=branch,
                actor=_person(actor, move.actor),
                from_version_id=ids[move.from_version] if move.from_version else None,
                to_version_id=ids[move.to_version or entry.head],
                created_at=_past(move.created_at),
            )
            for move in _history(actor, entry.moves, entry.head)
        ]
    BranchMove.objects.bulk_create(moves, batch_size=_ROWS)


def _bring_forward(actor: User, branch: Branch, head_id: uuid.UUID) -> None:
    """A branch that the file has grown beyond goes along; one that went another way stays, and gets a sibling."""
    head = Version.objects.select_related("prompt", "author").get(pk=head_id)
    parents = Version.objects.filter(prompt_id=branch.prompt_id).parent_numbers()
    common = nearest_common_ancestor(parents, branch.head.number, head.number)
    if common == head.number or Branch.objects.filter(prompt_id=branch.prompt_id, head=head).exists():
        return
    if common != branch.head.number:
        start_free(f"{branch.name[:80]}-imported", head)
    elif Branch.objects.filter(pk=branch.pk, head=branch.head).update(head=head):
        record_move(branch, actor=actor, from_version=branch.head, to_version=head)


def _put_labels(actor: User, prompt: Prompt, entries: Sequence[LabelEntry], ids: dict[int, uuid.UUID]) -> None:
    """Only labels that the prompt never had: programs follow the others."""
    known = set(Label.objects.filter(prompt=prompt).values_list("name", flat=True))
    moves: list[LabelMove] = []
    for index, entry in enumerate(entries):
        name = pointer_name(f"labels.{index}.name", entry.name)
        if name in known:
            continue
        label = Label.objects.create(prompt=prompt, name=name, version_id=ids[entry.version] if entry.version else None)
        moves += [
            LabelMove(
                prompt=prompt,
                label=label,
                actor=_person(actor, move.actor),
                from_version_id=ids[move.from_version] if move.from_version else None,
                to_version_id=ids[move.to_version] if move.to_version else None,
                created_at=_past(move.created_at),
            )
            for move in _history(actor, entry.moves, entry.version)
        ]
    LabelMove.objects.bulk_create(moves, batch_size=_ROWS)


def _history(actor: User, moves: Sequence[Move], ends_at: int | None) -> Sequence[Move]:
    """The moves of the file, if they lead to where the pointer is; else one that does."""
    if moves and moves[-1].to_version == ends_at:
        return moves
    fields = {"from": None, "to": ends_at, "actor": actor.label, "created_at": timezone.now().isoformat()}
    return [Move.model_validate(fields)]
