"""What makes rows history: triggers that refuse every change, except while their whole prompt is erased."""

from __future__ import annotations

import pgtrigger

_ONLY_ERASURE_DELETES = """
    IF TG_OP = 'DELETE' THEN
        IF current_setting('playground.erase_prompt', true) = OLD.prompt_id::text THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION '% is history: rows are never deleted', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END IF;
"""


def insert_only(name: str, *, what: str, person: str) -> pgtrigger.Trigger:
    """A trigger refusing UPDATE and DELETE. The column `person` may become null, when the account is removed.

    The erasing transaction names the prompt in the setting `playground.erase_prompt`.
    """
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.Before,
        operation=pgtrigger.Update | pgtrigger.Delete,
        func=_ONLY_ERASURE_DELETES
        + f"""
            IF NEW.{person} IS NULL THEN
                OLD.{person} := NULL;
            END IF;
            IF NEW IS DISTINCT FROM OLD THEN
                RAISE EXCEPTION '{what} never changes' USING ERRCODE = 'restrict_violation';
            END IF;
            RETURN NEW;
        """,
    )
