"""Labels: what programs follow. Every move says who, from where and to where."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from core.errors import Conflict, NotFound
from playground.models import Label, LabelMove, Prompt, Version
from playground.services.lines import pointer_name


def move_label(
    *, actor: User, prompt: Prompt, name: str, to: Version, expected: Version | None = None, check: bool = False
) -> Label:
    """Point the label `name` at `to`, making it if need be; pointing it where it points already records nothing.

    With `check`, raises Conflict unless it points at `expected` (None: nowhere) now. Raises InvalidInput for the name.
    """
    name = pointer_name("name", name)
    with transaction.atomic():
        Label.objects.bulk_create([Label(prompt=prompt, name=name, version=None)], ignore_conflicts=True)
        label = Label.objects.select_for_update(of=("self",)).select_related("version").get(prompt=prompt, name=name)
        if check and label.version != expected:
            raise _moved(label)
        _point(label, actor=actor, to=to)
    return label


def remove_label(*, actor: User, prompt: Prompt, name: str) -> None:
    """Make the label point nowhere: it is gone for readers, and its history stays. Raises NotFound."""
    with transaction.atomic():
        label = (
            Label.objects.select_for_update(of=("self",))
            .select_related("version")
            .filter(prompt=prompt, name=name.strip())
            .exclude(version=None)
            .first()
        )
        if label is None:
            raise NotFound
        _point(label, actor=actor, to=None)


def _point(label: Label, *, actor: User, to: Version | None) -> None:
    before = label.version
    if before == to:
        return
    LabelMove.objects.create(prompt_id=label.prompt_id, label=label, actor=actor, from_version=before, to_version=to)
    label.version = to
    label.updated_at = timezone.now()
    label.save(update_fields=["version", "updated_at"])


def _moved(label: Label) -> Conflict:
    number = label.version.number if label.version else None
    return Conflict(
        f"Somebody moved this label; it points at version {number} now." if number else "This label was removed.",
        code="label_moved",
        data={"version": number},
        kept="Nothing was changed.",
        next_step="Look at where it points and try again.",
    )
