"""Taking in a file with a whole tree: into a new prompt, or what is missing into an existing one.

Texts are stored before the transaction that makes the versions. A new prompt is marked as being imported until then: it
is shown nowhere, and if the import dies half-way, the trash erases it in time, with its texts.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from core import effects, idempotency
from core.errors import Conflict, DomainError, InvalidInput
from playground import spec as specs
from playground.bodies import store
from playground.interchange import tree
from playground.interchange.archive import Texts
from playground.interchange.manifest import Manifest
from playground.models import Prompt, Version
from playground.services import library
from playground.services.grafting import graft
from playground.services.lines import folder_path, line, tag_list
from playground.services.search import INDEX_PROMPT

_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class ImportedTree:
    """`versions_made` is 0 if the prompt had them all."""

    prompt: Prompt
    versions_made: int


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A file whose versions, names and JSON texts are as they should be."""

    manifest: Manifest
    texts: Texts
    nodes: Sequence[tree.Node]
    lines: Mapping[str, Any]


#: What else happens in the transaction that makes the versions.
Seal = Callable[[Prompt, Sequence[Version]], None]


@dataclass(frozen=True, kw_only=True)
class _Ticket:
    """The key of this call, to be tied to the prompt it makes or adds to."""

    account_id: uuid.UUID
    key: str | None
    request: bytes

    def earlier(self) -> ImportedTree | None:
        found = idempotency.recall(account_id=self.account_id, scope="imports", key=self.key, request=self.request)
        return ImportedTree(prompt=Prompt.objects.get(pk=found), versions_made=0) if found else None

    def tie(self, prompt: Prompt, made: Sequence[Version]) -> None:
        """Raises Conflict if a twin of this call was faster: asked again, it is answered with the twin's prompt."""
        del made
        if not idempotency.claim(
            account_id=self.account_id, scope="imports", key=self.key, request=self.request, object_id=prompt.pk
        ):
            raise Conflict("The same call was made twice at once.", next_step="Send it again.")


def import_tree(
    *, actor: User, manifest: Manifest, texts: Texts, into: Prompt | None = None, idempotency_key: str | None = None
) -> ImportedTree:
    """Keep every version of a file, each hashed again; those that `into` has already are not made twice.

    Raises InvalidInput (nothing is kept then), TooLarge, StorageUnavailable, IdempotencyKeyReused, Conflict.
    """
    file = check_file(manifest, texts)
    digests = [node.digest.hex() for node in file.nodes]
    request = idempotency.fingerprint(into and into.pk, file.lines, digests)
    ticket = _Ticket(account_id=actor.pk, key=idempotency_key, request=request)
    if earlier := ticket.earlier():
        return earlier
    if into is not None:
        return _fill_or_release(actor, into, file, ticket)
    prompt = hidden_prompt(actor, file)
    try:
        return _fill_or_release(actor, prompt, file, ticket)
    except BaseException:
        library.erase(prompt_id=prompt.pk, trashed_before=timezone.now())
        raise


def check_file(manifest: Manifest, texts: Texts) -> Checked:
    """Raises InvalidInput, TooLarge."""
    nodes = tree.read_nodes(manifest.versions, known=texts.names())
    lines = _checked_lines(manifest)
    _check_json_texts(nodes, texts)
    return Checked(manifest=manifest, texts=texts, nodes=nodes, lines=lines)


def hidden_prompt(owner: User, file: Checked) -> Prompt:
    """The prompt of a file, for `fill`: nobody sees it, and if nobody fills it the trash erases it in time."""
    return Prompt.objects.create(owner=owner, trashed_at=timezone.now(), importing=True, **file.lines)


def _checked_lines(manifest: Manifest) -> dict[str, Any]:
    given = manifest.prompt
    return {
        "name": line("name", given.name),
        "description": line("description", given.description, empty=True),
        "tags": tag_list("tags", given.tags),
        "folder": folder_path("folder", given.folder),
    }


def _check_json_texts(nodes: Sequence[tree.Node], texts: Texts) -> None:
    """Tools and schemas are texts like others to the store, but a run reads them as JSON. Raises InvalidInput."""
    wanted = {(field, name): node.entry.number for node in nodes for field, name in node.json_texts.items()}
    for (field, name), number in wanted.items():
        smallest = {"model": "x", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        try:
            specs.parse({**smallest, field: texts.read(name).decode("utf-8")}, is_new=False)
        except DomainError as error:
            raise InvalidInput(f"Version {number}: {error.message}", code=error.code, field=field) from error


def _fill_or_release(actor: User, prompt: Prompt, file: Checked, ticket: _Ticket) -> ImportedTree:
    started = timezone.now()
    try:
        made = fill(actor=actor, prompt=prompt, file=file, seal=ticket.tie)
    except BaseException:
        library.release_unnamed(prompt_id=prompt.pk, since=started)
        raise
    return ImportedTree(prompt=Prompt.objects.get(pk=prompt.pk), versions_made=len(made))


def fill(
    *, actor: User, prompt: Prompt, file: Checked, seal: Seal, stored: Callable[[int], None] = lambda _: None
) -> Sequence[Version]:
    """Store the texts that the prompt has not, then make the versions it has not, in one transaction with `seal`.

    `stored` hears after each text of how many versions all texts are there. Broken off, it may be called again, and
    goes on with the texts that are missing. Raises StorageUnavailable, Conflict, and what `seal` and `stored` raise.
    """
    _store_texts(prompt, file, stored)
    try:
        return _insert(actor, prompt, file, seal)
    except Conflict as error:
        if error.code != store.TEXT_GONE:
            raise
    # Another import of the same texts was broken off meanwhile, and the sweep took them for leftovers.
    _store_texts(prompt, file, stored)
    return _insert(actor, prompt, file, seal)


def _store_texts(prompt: Prompt, file: Checked, stored: Callable[[int], None]) -> None:
    """Oldest first, so that each can be a delta of the one it was made from."""
    names = list(dict.fromkeys(name for node in file.nodes for name in node.names))
    known, near = store.lengths(prompt_id=prompt.pk, sha256s=names), tree.near(file.nodes)
    store.hold(prompt_id=prompt.pk, sha256s=names)
    there = set(known)
    for count, node in enumerate(file.nodes, 1):
        for name in node.names:
            if name not in there:
                staged = store.stage(prompt=prompt, texts=[store.Text(data=file.texts.read(name), near=near.get(name))])
                store.commit(prompt=prompt, staged=staged)
                there.add(name)
                stored(count - 1)
        stored(count)


def _insert(actor: User, prompt: Prompt, file: Checked, seal: Seal) -> Sequence[Version]:
    """One transaction; again with the next numbers if somebody saved a version meanwhile."""
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                # Two imports into one prompt take turns, or each would make what the other one makes.
                locked = Prompt.objects.select_for_update(no_key=True).get(pk=prompt.pk)
                made = graft(actor=actor, prompt=locked, nodes=file.nodes, manifest=file.manifest)
                seal(locked, made)
                store.link(prompt_id=prompt.pk, sha256s={name for node in file.nodes for name in node.names})
                shown = None if locked.importing else locked.trashed_at
                Prompt.objects.filter(pk=prompt.pk).update(importing=False, trashed_at=shown, updated_at=timezone.now())
                effects.enqueue(INDEX_PROMPT, str(prompt.pk))
                return made
        except IntegrityError as error:
            if "version_number_once" not in str(error):
                raise
    raise Conflict("Too many people are saving this prompt at once.", next_step="Import it again.")
