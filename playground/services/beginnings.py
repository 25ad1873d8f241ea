"""New prompts that have a first version from the start: forks, and prompts read from other formats."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from accounts.models import User
from core import idempotency
from core.errors import InvalidInput
from playground import freezing
from playground.bodies import store
from playground.importing.imported import Imported
from playground.models import DEFAULT_BRANCH, Prompt, Version
from playground.services.branches import start_free
from playground.services.imports import ImportedTree
from playground.services.labels import move_label
from playground.services.lines import line, pointer_name, tag_list
from playground.services.search import index_saved
from playground.services.versions import save_version
from playground.spec import parse


def fork_prompt(*, actor: User, version: Version, name: str, idempotency_key: str | None = None) -> Version:
    """A new prompt of the actor, whose first version is a copy of `version`: its `prompt` is the new one.

    Texts are stored anew, as whole copies: none is shared between prompts. Raises InvalidInput, StorageUnavailable,
    IdempotencyKeyReused.
    """
    source = version.prompt
    # How somebody else sorts their prompts is not part of what they share.
    tags = list(source.tags) if source.owner_id == actor.pk else []
    prompt = Prompt(owner=actor, name=line("name", name), description=source.description, tags=tags)
    texts = store.read_bytes(prompt_id=source.pk, sha256s=freezing.references(version.frozen))
    copy = Version(
        message=f"Forked from {source.name}, version {version.number}",
        model=version.model,
        spec=version.spec,
        digest=version.digest,
    )
    request = idempotency.fingerprint("fork", version.pk, prompt.name)
    return _begin(prompt, copy, list(texts.values()), key=idempotency_key, request=request)


def import_single(
    *, actor: User, found: Imported, into: Prompt | None = None, idempotency_key: str | None = None
) -> ImportedTree:
    """A new prompt with what was read from another format, or a version of it on the main branch of `into`.

    What `into` has already is not saved again. Raises InvalidInput (a field of the spec), StorageUnavailable,
    IdempotencyKeyReused.
    """
    spec, message = parse(found.spec), f"Imported ({found.kind})"
    prompt = into or Prompt(owner=actor, name=line("name", found.name or "Imported prompt"), tags=_tags(found))
    frozen = freezing.freeze(author=actor, prompt=prompt, spec=spec, parent=None)
    if into is not None:
        if Version.objects.filter(prompt=into, digest=frozen.digest).exists():
            return ImportedTree(prompt=into, versions_made=0)
        save_version(author=actor, prompt=into, spec=spec, message=message, idempotency_key=idempotency_key)
        return ImportedTree(prompt=into, versions_made=1)
    version = Version(message=message, model=spec.model, spec=frozen.spec, digest=frozen.digest)
    request = idempotency.fingerprint("import", frozen.digest.hex(), prompt.name)
    texts = [text.data for text in frozen.texts]
    made = _begin(prompt, version, texts, key=idempotency_key, request=request, labels=_possible(found.labels))
    return ImportedTree(prompt=made.prompt, versions_made=int(made.prompt == prompt))


def _begin(
    prompt: Prompt,
    version: Version,
    texts: Sequence[bytes],
    *,
    key: str | None,
    request: bytes,
    labels: Sequence[str] = (),
) -> Version:
    """Insert both, with the version as the head of main. Neither is in the database yet."""
    actor = prompt.owner
    staged = store.stage(prompt=prompt, texts=[store.Text(data=text) for text in texts])

    def make() -> tuple[Version, uuid.UUID]:
        prompt.save(force_insert=True)
        store.commit(prompt=prompt, staged=staged)
        version.prompt, version.author, version.number = prompt, actor, 1
        version.save(force_insert=True)
        start_free(DEFAULT_BRANCH, version)
        for name in labels:
            move_label(actor=actor, prompt=prompt, name=name, to=version)
        index_saved(version=version, texts=texts)
        return version, version.pk

    return idempotency.once(
        account_id=actor.pk,
        scope="beginnings",
        key=key,
        request=request,
        make=make,
        find=lambda pk: Version.objects.select_related("prompt", "author", "parent").get(pk=pk),
    )


def _tags(found: Imported) -> list[str]:
    return tag_list("tags", [tag.replace("\0", "")[:50] for tag in found.tags[:50] if tag.strip()])


def _possible(labels: Sequence[str]) -> list[str]:
    """Those that are possible names here; the others are lost, which is better than refusing the prompt."""
    kept = []
    for label in labels[:50]:
        try:
            kept.append(pointer_name("labels", label))
        except InvalidInput:
            continue
    return kept
