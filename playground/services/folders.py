"""A folder renamed or moved as a whole: it is the paths in its prompts' rows, so all of them change at once."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Concat, Substr
from django.utils import timezone

from accounts.models import User
from core.errors import Conflict, InvalidInput, NotFound
from playground.models import Prompt
from playground.models.prompt import PromptQuerySet
from playground.services.lines import folder_path


def move_folder(*, owner: User, folder: str, to: str, merge: bool = False) -> int:
    """Give a folder of this person another path; folders inside follow. Answers how many prompts that were.

    Those in the archive and the trash follow, too, so that they come back to where the others are. With `merge` it
    may become one with a folder that there is already. Raises InvalidInput, NotFound, Conflict (nothing is moved then).
    """
    old, new = folder_path("folder", folder), folder_path("to", to)
    if not old or not new:
        raise InvalidInput("A folder has a name.", field="folder" if not old else "to")
    if new.startswith(f"{old}/"):
        raise InvalidInput("A folder cannot be moved into itself.", field="to")
    with transaction.atomic():
        # Two moves at once take turns, or one would find half of what the other moves.
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)
        prompts = Prompt.objects.visible_to(owner)
        moved = prompts.filter(_inside(old))
        paths = set(moved.values_list("folder", flat=True))
        if not paths:
            raise NotFound("There is no such folder.")
        if old == new:
            return 0
        for path in paths:
            folder_path("to", new + path[len(old) :])
        if not merge:
            _refuse_taken(prompts.filter(_inside(new)).exclude(_inside(old)), new)
        return moved.update(folder=Concat(Value(new), Substr(F("folder"), len(old) + 1)), updated_at=timezone.now())


def _inside(folder: str) -> Q:
    return Q(folder=folder) | Q(folder__startswith=f"{folder}/")


def _refuse_taken(there: PromptQuerySet, folder: str) -> None:
    """Raise Conflict if the folder has prompts already: once they are together nothing tells them apart."""
    if count := there.count():
        raise Conflict(
            f"There is a folder {folder} already, with {count:,} {'prompt' if count == 1 else 'prompts'}.",
            code="folder_exists",
            data={"prompts": count},
            kept="Nothing was moved.",
            next_step="Choose another name, or merge the two.",
        )
