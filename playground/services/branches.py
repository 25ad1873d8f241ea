"""Branches: names that move over the tree. Every move is compare-and-swap, and every move is a row."""

from __future__ import annotations

import itertools
from typing import NoReturn

from django.db import transaction

from accounts.models import User
from core.errors import Conflict
from playground.models import Branch, BranchMove, Prompt, Version
from playground.services.lines import pointer_name


def start_branch(*, actor: User, prompt: Prompt, name: str, at: Version) -> Branch:
    """A new branch whose head is `at`. Raises InvalidInput for the name, Conflict if there is one."""
    name = pointer_name("name", name)
    with transaction.atomic():
        fresh = Branch(prompt=prompt, name=name, head=at)
        Branch.objects.bulk_create([fresh], ignore_conflicts=True)
        if not Branch.objects.filter(pk=fresh.pk).exists():
            raise Conflict("There is a branch of this name.", code="branch_exists", field="name")
        record_move(fresh, actor=actor, from_version=None, to_version=at)
        return fresh


def move_branch(*, actor: User, branch: Branch, to: Version, expected: Version) -> Branch:
    """Move the head from `expected` to `to`, which may be any version of the prompt.

    Raises Conflict, with the head as it is now, if somebody moved it meanwhile; nothing is changed then.
    """
    with transaction.atomic():
        moved = Branch.objects.filter(pk=branch.pk, head=expected).update(head=to)
        if not moved:
            refuse_moved(branch)
        if to != expected:
            record_move(branch, actor=actor, from_version=expected, to_version=to)
    branch.head = to
    return branch


def undo_branch(*, actor: User, branch: Branch, expected: Version) -> Branch:
    """One step back: the head's parent becomes the head. Nothing is lost; `redo_branch` goes forward again."""
    if expected.parent is None:
        raise Conflict("This is the first version: there is nothing to undo.", code="nothing_to_undo")
    return move_branch(actor=actor, branch=branch, to=expected.parent, expected=expected)


def redo_branch(*, actor: User, branch: Branch, expected: Version) -> Branch:
    """One step forward: to the child of the head from which this branch last came back."""
    last = (
        BranchMove.objects.filter(branch=branch, from_version__parent=expected)
        .exclude(from_version=None)
        .select_related("from_version")
        .order_by("-id")
        .first()
    )
    if last is None or last.from_version is None:
        raise Conflict("There is nothing to redo on this branch.", code="nothing_to_redo")
    return move_branch(actor=actor, branch=branch, to=last.from_version, expected=expected)


def refuse_moved(branch: Branch) -> NoReturn:
    """Raise the Conflict that tells where the branch is now."""
    head = Branch.objects.filter(pk=branch.pk).values_list("head__number", flat=True).first()
    raise Conflict(
        f"Somebody moved this branch; its head is version {head} now.",
        code="branch_moved",
        data={"head": head},
        kept="Nothing was changed.",
        next_step="Look at the new head and try again.",
    )


def start_beside(name: str, version: Version) -> str:
    """A new branch on a fresh version that `name` did not move to, and what it is called.

    `name` if there is no such branch, else a sibling of it. Runs inside the caller's transaction.
    """
    taken = Branch.objects.filter(prompt_id=version.prompt_id, name=name).exists()
    return start_free(f"{name}-{version.number}" if taken else name, version).name


def start_free(name: str, version: Version) -> Branch:
    """A new branch on a fresh version. If the name is taken, the next free `name-2`, `name-3`..."""
    for attempt in itertools.count(1):
        candidate = name if attempt == 1 else f"{name}-{attempt}"
        fresh = Branch(prompt=version.prompt, name=candidate, head=version)
        Branch.objects.bulk_create([fresh], ignore_conflicts=True)
        if Branch.objects.filter(pk=fresh.pk).exists():
            record_move(fresh, actor=version.author, from_version=None, to_version=version)
            return fresh
    raise AssertionError("unreachable: the loop has no end")


def record_move(branch: Branch, *, actor: User | None, from_version: Version | None, to_version: Version) -> None:
    BranchMove.objects.create(
        prompt_id=branch.prompt_id, branch=branch, actor=actor, from_version=from_version, to_version=to_version
    )
