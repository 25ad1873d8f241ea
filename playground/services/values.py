"""What a person fills in for the variables of a prompt: kept for them alone, on every version and device."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from core.errors import InvalidInput, TooLarge
from playground import template
from playground.models import Prompt, VariableValue
from playground.spec import INLINE_TEXT_BYTES

#: Kept for one person and prompt. Names that left the texts stay, and the oldest of them make room.
MAX_NAMES = 400
MAX_KEPT_BYTES = 16 * 1024 * 1024


def keep_values(*, person: User, prompt: Prompt, changes: Mapping[str, object]) -> None:
    """Keep each value, a text, by its name; None forgets it. Names that are not in `changes` stay as they are.

    Raises InvalidInput for a name that is none, too many of them or a value that is no text; TooLarge for a value
    beyond 2 MiB.
    """
    checked = _checked(changes)
    now = timezone.now()
    # In one order, so that two tabs never wait for each other's rows.
    rows = [
        VariableValue(prompt=prompt, person=person, name=name, value_json=json.dumps(value), updated_at=now)
        for name, value in sorted(checked.items())
        if value is not None
    ]
    forgotten = [name for name, value in checked.items() if value is None]
    with transaction.atomic():
        VariableValue.objects.of(person, prompt).filter(name__in=forgotten).delete()
        VariableValue.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["prompt", "person", "name"],
            update_fields=["value_json", "updated_at"],
        )
        _make_room(person, prompt)


def _checked(changes: Mapping[str, object]) -> dict[str, str | None]:
    if len(changes) > MAX_NAMES:
        raise InvalidInput(f"At most {MAX_NAMES} values are kept of a prompt.", field="values")
    checked: dict[str, str | None] = {}
    for written, value in changes.items():
        name = template.normal_name(written)
        if name is None:
            raise InvalidInput("Not a variable name: letters, digits, _ and - only.", field=f"values.{written}")
        if not (value is None or isinstance(value, str)):
            raise InvalidInput("A value is a text, or null for none.", field=f"values.{name}")
        _refuse_large(name, value)
        checked[name] = value
    return checked


def _refuse_large(name: str, value: str | None) -> None:
    size = len((value or "").encode("utf-8"))
    if size > INLINE_TEXT_BYTES:
        raise TooLarge(
            f"The value of {{{{{name}}}}} has {size:,} bytes; one may have {INLINE_TEXT_BYTES:,}.",
            field=f"values.{name}",
            kept="It is still in this page.",
            next_step="Put a text of this size into a message.",
        )


_TOO_MANY = """
    DELETE FROM playground_variablevalue WHERE id IN (
        SELECT id FROM (
            SELECT id,
                   row_number() OVER newest_first AS place,
                   sum(octet_length(value_json)) OVER newest_first AS bytes
            FROM playground_variablevalue WHERE prompt_id = %s AND person_id = %s
            WINDOW newest_first AS (ORDER BY updated_at DESC, id DESC ROWS UNBOUNDED PRECEDING)
        ) AS kept
        WHERE place > 1 AND (place > %s OR bytes > %s)
    )
"""


def _make_room(person: User, prompt: Prompt) -> None:
    """Forget the values that were touched longest ago, beyond what is kept. One window over an indexed handful."""
    with connection.cursor() as cursor:
        cursor.execute(_TOO_MANY, [prompt.pk, person.pk, MAX_NAMES, MAX_KEPT_BYTES])
