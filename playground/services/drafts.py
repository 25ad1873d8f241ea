"""Drafts: what somebody types, kept while they type. Compare-and-swap, so that no tab overwrites another unseen."""

from __future__ import annotations

import json

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core.errors import Conflict, InvalidInput, TooLarge
from playground.models import Draft, Prompt, Version
from playground.services.lines import pointer_name

MAX_CONTENT_BYTES = 8 * 1024 * 1024


def keep_draft(
    *, person: User, prompt: Prompt, branch: str, content: str, base: Version | None, revision: int | None
) -> Draft:
    """Keep `content`, a JSON text, exactly as it is; what it says is not checked.

    `revision` is the one this tab knows, None for no draft. Raises Conflict if another tab wrote meanwhile (unless
    both wrote the same, as a repeated call does), InvalidInput, TooLarge.
    """
    branch = pointer_name("branch", branch)
    _check_content(content)
    mine = Draft.objects.of(person, prompt).filter(branch=branch)
    changes = {"content": content, "base": base, "updated_at": timezone.now()}
    with transaction.atomic():
        if revision is None:
            fresh = Draft(prompt=prompt, person=person, branch=branch, revision=_first_revision(), **changes)
            Draft.objects.bulk_create([fresh], ignore_conflicts=True)
        else:
            mine.filter(revision=revision).update(revision=revision + 1, **changes)
        kept = mine.select_related("base").first()
    if kept is None or kept.content != content or kept.base != base:
        raise _stale(kept, person)
    return kept


def drop_draft(*, person: User, prompt: Prompt, branch: str) -> None:
    """Remove a draft, if there is one: it was saved as a version, or thrown away."""
    Draft.objects.of(person, prompt).filter(branch=branch).delete()


def _first_revision() -> int:
    """Of a new draft: beyond all of an earlier one, which grew by one a write. Exact in a JavaScript number."""
    return int(timezone.now().timestamp() * 1000)


def _check_content(content: str) -> None:
    size = len(content.encode("utf-8"))
    if size > MAX_CONTENT_BYTES:
        raise TooLarge(
            f"This draft has {size:,} bytes; {MAX_CONTENT_BYTES:,} can be kept.",
            field="content",
            kept="Your text is still in this page.",
            next_step="Upload large texts as files, or save a version.",
        )
    try:
        json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"A draft's content is JSON text: {error}.", code="invalid_json", field="content") from error


def _stale(current: Draft | None, person: User) -> Conflict:
    data: dict[str, object] = {"revision": None}
    if current is not None:
        data = {
            "revision": current.revision,
            "base": current.base.number if current.base else None,
            "updated_at": current.updated_at.isoformat(),
            "by": person.label,
        }
    return Conflict(
        "This draft was changed in another tab." if current else "This draft was removed in another tab.",
        code="draft_changed",
        data=data,
        kept="Nothing was overwritten; your text is still in this page.",
        next_step="Look at the other one, then keep one of them.",
    )
