from __future__ import annotations

import uuid

from accounts.models import User
from core import idempotency
from playground import freezing
from playground.bodies import store
from playground.models import DEFAULT_BRANCH, Prompt, Version
from playground.services.branches import start_free
from playground.services.lines import line
from playground.services.search import index_saved


def fork_prompt(*, actor: User, version: Version, name: str, idempotency_key: str | None = None) -> Version:
    """A new prompt of the actor, whose first version is a copy of `version`: its `prompt` is the new one.

    Texts are stored anew, as whole copies: none is shared between prompts. Raises InvalidInput, StorageUnavailable,
    IdempotencyKeyReused.
    """
    source = version.prompt
    prompt = Prompt(owner=actor, name=line("name", name), description=source.description, tags=list(source.tags))
    texts = list(store.read_bytes(prompt_id=source.pk, sha256s=freezing.references(version.frozen)).values())
    staged = store.stage(prompt=prompt, texts=[store.Text(data=text) for text in texts])

    def make() -> tuple[Version, uuid.UUID]:
        prompt.save(force_insert=True)
        store.commit(prompt=prompt, staged=staged)
        copy = Version.objects.create(
            prompt=prompt,
            number=1,
            author=actor,
            message=f"Forked from {source.name}, version {version.number}",
            model=version.model,
            spec=version.spec,
            digest=version.digest,
        )
        start_free(DEFAULT_BRANCH, copy)
        index_saved(version=copy, texts=texts)
        return copy, copy.pk

    return idempotency.once(
        account_id=actor.pk,
        scope="forks",
        key=idempotency_key,
        request=idempotency.fingerprint(version.pk, prompt.name),
        make=make,
        find=lambda pk: Version.objects.select_related("prompt", "author", "parent").get(pk=pk),
    )
