"""Writes on prompts: create, rename, save a version, run a version. One transaction each, no network call inside it."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from core import idempotency
from core.errors import Conflict, InvalidInput
from inference_client.models import Run
from inference_client.services import create_run
from playground import freezing, wire
from playground.bodies import store
from playground.models import DEFAULT_BRANCH, Branch, BranchMove, Prompt, Version, VersionRun
from playground.spec import Spec

_NUMBER_ATTEMPTS = 50


@dataclass(frozen=True, kw_only=True)
class SavedVersion:
    """`branch` is where the version is now the head; `forked` says that it is not the branch that was asked for."""

    version: Version
    branch: str
    forked: bool


def create_prompt(
    *,
    owner: User,
    name: str,
    description: str = "",
    tags: Sequence[str] = (),
    folder: str = "",
    idempotency_key: str | None = None,
) -> Prompt:
    """A new, empty prompt. Raises InvalidInput, IdempotencyKeyReused."""
    fields = {
        "name": line("name", name),
        "description": line("description", description, empty=True),
        "tags": [line("tags", tag) for tag in tags],
        "folder": line("folder", folder, empty=True),
    }

    def make() -> tuple[Prompt, uuid.UUID]:
        prompt = Prompt.objects.create(owner=owner, **fields)
        return prompt, prompt.pk

    return idempotency.once(
        account_id=owner.pk,
        scope="prompts",
        key=idempotency_key,
        request=idempotency.fingerprint(fields),
        make=make,
        find=lambda pk: Prompt.objects.get(pk=pk),
    )


def update_prompt(*, prompt: Prompt, **changes: Any) -> Prompt:
    """Change name, description, tags or folder; versions are not touched. Raises InvalidInput."""
    for name, value in changes.items():
        if name == "tags":
            prompt.tags = [line("tags", tag) for tag in value]
        elif name in ("name", "description", "folder"):
            setattr(prompt, name, line(name, value, empty=name != "name"))
    prompt.updated_at = timezone.now()
    prompt.save(update_fields=[*changes, "updated_at"])
    return prompt


def line(field: str, value: str, *, empty: bool = False) -> str:
    """A short text of a row: outer blanks removed, no NUL, not empty unless allowed. Raises InvalidInput."""
    if "\0" in value:
        raise InvalidInput("A NUL character is not possible here.", field=field)
    trimmed = value.strip()
    if not trimmed and not empty:
        raise InvalidInput("This cannot be empty.", field=field)
    limit = {"name": 200, "description": 2000, "tags": 50, "folder": 500, "branch": 100, "message": 5000}[field]
    if len(trimmed) > limit:
        raise InvalidInput(f"This has {len(trimmed)} characters; {limit} are possible.", field=field)
    return trimmed


def save_version(
    *,
    author: User,
    prompt: Prompt,
    spec: Spec,
    parent: Version | None = None,
    branch: str = DEFAULT_BRANCH,
    message: str = "",
    idempotency_key: str | None = None,
) -> SavedVersion:
    """Keep `spec` as a new version on top of `parent` (default: the branch's head).

    A save is never refused because somebody else saved first: then it is kept on a new sibling branch (`forked`).
    Raises InvalidInput (fields of the spec), StorageUnavailable (nothing saved), IdempotencyKeyReused.
    """
    branch, message = line("branch", branch), line("message", message, empty=True)
    if branch.isdecimal() or branch == "latest":
        raise InvalidInput("A branch cannot be named like a version.", field="branch")
    before = parent or _head(prompt, branch)
    frozen = freezing.freeze(prompt=prompt, spec=spec, parent=before)
    request = idempotency.fingerprint(prompt.pk, frozen.digest.hex(), parent.pk if parent else None, branch, message)
    staged = store.stage(prompt=prompt, texts=frozen.texts)

    def make() -> tuple[SavedVersion, uuid.UUID]:
        store.commit(prompt=prompt, staged=staged)
        version = Version(
            prompt=prompt,
            author=author,
            message=message,
            model=spec.model,
            spec=frozen.spec,
            digest=frozen.digest,
            parent=parent,
        )
        return _insert(version, branch), version.pk

    return idempotency.once(
        account_id=author.pk,
        scope="versions",
        key=idempotency_key,
        request=request,
        make=make,
        find=lambda pk: _saved_before(pk, branch),
    )


def _saved_before(version_id: uuid.UUID, wanted: str) -> SavedVersion:
    version = Version.objects.select_related("parent").get(pk=version_id)
    move = BranchMove.objects.select_related("branch").filter(to_version=version).earliest("id")
    return SavedVersion(version=version, branch=move.branch.name, forked=move.branch.name != wanted)


def _insert(version: Version, wanted: str) -> SavedVersion:
    """Number the version, insert it and put a branch on it, inside the caller's transaction."""
    target = Branch.objects.select_related("head").filter(prompt=version.prompt, name=wanted).first()
    if version.parent is None:
        version.parent = target.head if target else _head(version.prompt, DEFAULT_BRANCH)
    _insert_numbered(version)
    branch = _advance(target, version) if target else _start_branch(wanted, version)
    Prompt.objects.filter(pk=version.prompt_id).update(updated_at=timezone.now())
    return SavedVersion(version=version, branch=branch.name, forked=branch.name != wanted)


def _head(prompt: Prompt, branch: str) -> Version | None:
    """The head of a branch; of the default one if there is no such branch yet."""
    heads = {
        each.name: each.head
        for each in Branch.objects.select_related("head").filter(prompt=prompt, name__in=[branch, DEFAULT_BRANCH])
    }
    return heads.get(branch) or heads.get(DEFAULT_BRANCH)


def _insert_numbered(version: Version) -> None:
    """Insert under the next free number: two savers at once meet on the constraint, the second tries the next."""
    for _ in range(_NUMBER_ATTEMPTS):
        highest = Version.objects.filter(prompt_id=version.prompt_id).aggregate(Max("number"))["number__max"]
        version.number = (highest or 0) + 1
        try:
            with transaction.atomic():
                version.save(force_insert=True)
        except IntegrityError as error:
            if "version_number_once" not in str(error):
                raise
        else:
            return
    raise Conflict("Too many people are saving this prompt at once.", next_step="Save again.")


def _advance(branch: Branch, version: Version) -> Branch:
    """Compare-and-swap the branch from the version's parent to the version; a lost race gets a sibling branch."""
    moved = Branch.objects.filter(pk=branch.pk, head_id=version.parent_id).update(head=version)
    if not moved:
        return _start_branch(f"{branch.name}-{version.number}", version)
    _record_move(branch, version, from_version=version.parent)
    return branch


def _start_branch(name: str, version: Version) -> Branch:
    """A new branch on `version`. If the name was taken meanwhile, the next free `name-2`, `name-3`..."""
    for attempt in itertools.count(1):
        candidate = name if attempt == 1 else f"{name}-{attempt}"
        fresh = Branch(prompt=version.prompt, name=candidate, head=version)
        Branch.objects.bulk_create([fresh], ignore_conflicts=True)
        if Branch.objects.filter(pk=fresh.pk).exists():
            _record_move(fresh, version, from_version=None)
            return fresh
    raise AssertionError("unreachable: the loop has no end")


def _record_move(branch: Branch, version: Version, *, from_version: Version | None) -> None:
    BranchMove.objects.create(
        prompt_id=version.prompt_id,
        branch=branch,
        actor=version.author,
        from_version=from_version,
        to_version=version,
    )


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
