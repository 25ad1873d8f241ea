from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.models import User
from core import idempotency
from core.errors import InvalidInput
from playground import freezing
from playground.bodies import store
from playground.models import DEFAULT_BRANCH, Branch, BranchMove, Prompt, Version
from playground.services.branches import start_beside
from playground.services.inserting import insert_at_once, insert_version
from playground.services.lines import line, pointer_name
from playground.services.prompts import touch
from playground.services.search import index_saved, quick_document, texts_to_index
from playground.spec import Spec


@dataclass(frozen=True, kw_only=True)
class SavedVersion:
    """`branch` is where the version is now the head; `forked` says that it is not the branch that was asked for."""

    version: Version
    branch: str
    forked: bool


def save_version(
    *,
    author: User,
    prompt: Prompt,
    spec: Spec,
    parent: Version | None = None,
    merged: Version | None = None,
    branch: str = DEFAULT_BRANCH,
    message: str = "",
    idempotency_key: str | None = None,
) -> SavedVersion:
    """Keep `spec` as a new version on top of `parent` (default: the branch's head), with `merged` as second parent.

    A save is never refused because somebody else saved first: then it is kept on a new sibling branch (`forked`).
    Raises InvalidInput (fields of the spec), StorageUnavailable (nothing saved), IdempotencyKeyReused, Conflict.
    """
    branch, message = pointer_name("branch", branch), line("message", message, empty=True)
    if merged is not None and (parent is None or parent == merged):
        raise InvalidInput("A merge names two different parents.", field="merged")
    before = parent or _head(prompt, branch)
    frozen = freezing.freeze(author=author, prompt=prompt, spec=spec, parent=before)
    parents = [version.pk if version else None for version in (parent, merged)]
    request = idempotency.fingerprint(prompt.pk, frozen.digest.hex(), parents, branch, message)
    texts = texts_to_index(prompt=prompt, frozen=frozen)
    fields = {"message": message, "model": spec.model, "spec": frozen.spec, "digest": frozen.digest}
    version = Version(prompt=prompt, author=author, parent=before, merged_parent=merged, **fields)
    words = quick_document(message, texts)
    call: dict[str, Any] = {"account_id": author.pk, "scope": "versions", "key": idempotency_key, "request": request}
    claim = idempotency.claim_values(**call)
    for there in _seen(prompt, frozen, before):
        staged = store.stage(prompt=prompt, texts=frozen.texts, there=there, later=True)
        named = [name for name in frozen.names if there.named.get(name)]
        if words is None or before is None or len(named) + len(staged) < len(frozen.names):
            continue
        if insert_at_once(version, branch=branch, words=words, staged=staged, named=named, claim=claim):
            return SavedVersion(version=version, branch=branch, forked=False)

    def make() -> tuple[SavedVersion, uuid.UUID]:
        version.parent = parent
        saved = _insert(version, branch, texts, words)
        inserted = store.commit(prompt=prompt, staged=staged)
        store.link(prompt_id=prompt.pk, sha256s=frozen.names - inserted)
        return saved, version.pk

    return idempotency.once(**call, make=make, find=lambda pk: _saved_before(pk, branch))


def _seen(prompt: Prompt, frozen: freezing.Frozen, before: Version | None) -> Iterator[store.Seen]:
    """What the store has of the texts of a save: first by what the version `before` says, if that may do, then asked.

    What `before` names is there; the rest is most likely new. That may do where no text is to rest on another one: the
    statement that makes the version looks itself, and makes nothing if it is otherwise.
    """
    nears = store.nears(frozen.texts)
    if before is not None and not nears:
        given = {text.sha256 for text in frozen.texts}
        named = frozen.names.intersection(freezing.references(before.frozen))
        if frozen.names <= given | named:
            yield store.Seen(named=dict.fromkeys(named, True), paths={})
    there = store.seen(prompt_id=prompt.pk, sha256s=frozen.names, nears=nears)
    if waiting := [name for name in frozen.names if there.named.get(name) is False]:
        # No version names these yet: they are kept from the sweeps meanwhile.
        store.hold(prompt_id=prompt.pk, sha256s=waiting)
        # A sweep that was at one of them has removed it by now.
        there = store.seen(prompt_id=prompt.pk, sha256s=frozen.names, nears=nears)
    yield there


def _saved_before(version_id: uuid.UUID, wanted: str) -> SavedVersion:
    version = Version.objects.select_related("parent").get(pk=version_id)
    move = BranchMove.objects.select_related("branch").filter(to_version=version).earliest("id")
    return SavedVersion(version=version, branch=move.branch.name, forked=move.branch.name != wanted)


def _insert(version: Version, wanted: str, texts: Sequence[bytes] | None, words: str | None) -> SavedVersion:
    """Number the version, insert it and put a branch on it, inside the caller's transaction."""
    if version.parent is None:
        touch(version.prompt_id)  # nobody else saves a first version meanwhile
        target = Branch.objects.select_related("head").filter(prompt=version.prompt, name=wanted).first()
        version.parent = target.head if target else _head(version.prompt, DEFAULT_BRANCH)
    moved = insert_version(version, branch=wanted, words=words)
    branch = wanted if moved else start_beside(wanted, version)
    if words is None:
        index_saved(version=version, texts=texts)
    return SavedVersion(version=version, branch=branch, forked=branch != wanted)


def _head(prompt: Prompt, branch: str) -> Version | None:
    """The head of a branch; of the default one if there is no such branch yet."""
    heads = {
        each.name: each.head
        for each in Branch.objects.select_related("head").filter(prompt=prompt, name__in=[branch, DEFAULT_BRANCH])
    }
    return heads.get(branch) or heads.get(DEFAULT_BRANCH)
