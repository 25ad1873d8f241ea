"""The access log in words: who, what, why it was refused."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass

from django.db.models import QuerySet

from playground.models import Prompt
from sharing import rows
from sharing.models import AccessLogEntry, ShareLink

_WHAT = {
    "opened": "Opened the link",
    "link.created": "Made a link",
    "link.changed": "Changed a link",
    "link.rotated": "Gave a link a new address",
    "link.revoked": "Revoked a link",
    "grant.given": "Shared it with somebody",
    "grant.changed": "Changed a role",
    "grant.revoked": "Removed somebody",
    "grant.left": "Left",
    "all.revoked": "Revoked everything",
    "ownership.offered": "Offered it to a new owner",
    "ownership.accepted": "Became its owner",
}
_ROUTES = {
    "shared": "Read the shared page",
    "shared-version": "Read an earlier version",
    "shared-state": "Kept the page open",
    "shared-text": "Read a text",
    "shared-text-lines": "Read a text",
    "shared-text-search": "Searched in a text",
    "shared-snippet": "Got the code",
    "shared-fork": "Forked it",
    "prompt": "Opened the prompt",
    "prompt-version": "Opened a version",
    "prompt-compare": "Compared versions",
    "shared-card": "Saw its card in a chat",
    "share-body": "Looked at who has access",
    "prompt-merge": "Looked at a merge",
    "api-access": "Kept the page open",
    "api-prompt": "Read its name and description",
    "api-versions": "Read the list of versions",
    "api-version": "Read a version",
    "api-tree": "Read the history",
    "api-tree-columns": "Read the history",
    "api-diff": "Compared versions",
    "api-merge": "Looked at a merge",
    "api-snippet": "Got the code",
    "api-text": "Read a text",
    "api-text-lines": "Read a text",
    "api-text-search": "Searched in a text",
    "api-text-address": "Downloaded a text",
    "api-prompt-export": "Exported it",
    "api-version-fork": "Copied it",
    "api-prompt-threads": "Read the comments",
    "api-version-threads": "Read the comments",
    "api-thread": "Read the comments",
    "api-label-history": "Read the history of a label",
}
_WRITES = {
    "POST api-versions": "Saved a version",
    "POST api-version-runs": "Ran it",
    "PUT api-draft": "Kept a draft",
    "DELETE api-draft": "Threw a draft away",
    "POST api-branches": "Made a branch",
    "POST api-branch-move": "Moved a branch",
    "POST api-branch-undo": "Moved a branch back",
    "POST api-branch-redo": "Moved a branch forward",
    "PUT api-label": "Moved a label",
    "DELETE api-label": "Removed a label",
    "POST api-uploads": "Sent a text",
    "POST api-links": "Made a link",
    "POST api-grants": "Shared it with somebody",
    "DELETE api-access": "Left",
    "POST api-version-threads": "Wrote a comment",
    "POST api-thread-comments": "Wrote a comment",
    "POST api-thread-resolve": "Resolved a thread",
    "POST api-thread-reopen": "Reopened a thread",
}
_REASONS = {
    "gone": "revoked or ended",
    "ended": "revoked or ended",
    "signed_out": "not signed in",
    "wrong_password": "wrong password",
    "used_up": "views used up",
    "404": "may not see it",
    "403": "may not do that",
    "429": "too often",
}


@dataclass(frozen=True, kw_only=True)
class LogLine:
    at: dt.datetime
    who: str
    what: str
    version: int | None
    allowed: bool
    reason: str
    address: str


@dataclass(frozen=True, kw_only=True)
class Filter:
    """`who`: `person:<id>` or `link:<id>`; `outcome`: `allowed` or `refused`; "" for all."""

    who: str = ""
    outcome: str = ""

    @property
    def is_set(self) -> bool:
        return bool(self.who or self.outcome)

    def select(self, entries: QuerySet[AccessLogEntry]) -> QuerySet[AccessLogEntry]:
        kind, _, written = self.who.partition(":")
        try:
            wanted = uuid.UUID(written) if written else None
        except ValueError:
            return entries.none()
        if wanted and kind == "person":
            entries = entries.filter(account=wanted, link=None)
        elif wanted and kind == "link":
            entries = entries.filter(link=wanted)
        return entries.filter(allowed=self.outcome == "allowed") if self.outcome else entries


def line(entry: AccessLogEntry) -> LogLine:
    return LogLine(
        at=entry.at,
        who=_who(entry),
        what=_what(entry.what),
        version=entry.version_number,
        allowed=entry.allowed,
        reason=_REASONS.get(entry.reason, entry.reason),
        address=entry.address or "",
    )


def _who(entry: AccessLogEntry) -> str:
    person = entry.account.label if entry.account else ""
    if entry.link is None or "." in entry.what:
        return person or "An account that is gone"
    visitor = person or (f"visitor {entry.visitor[:4]}" if entry.visitor else "somebody")
    return f"{visitor}, by link {entry.link.token_prefix}…"


def _what(what: str) -> str:
    method, _, route = what.rpartition(" ")
    if what in _WHAT:
        return _WHAT[what]
    known = _WRITES.get(what) or _ROUTES.get(route)
    if known:
        return known
    return f"{'Read' if method in ('GET', 'HEAD') else 'Changed'}: {route}" if route else what


def link_choices(prompt: Prompt) -> list[dict[str, object]]:
    """All links that the log may speak of, those taken back too."""
    found = ShareLink.objects.filter(prompt=prompt).order_by("-pk")[: rows.MOST]
    return [
        {
            "pk": link.pk,
            "key": f"link:{link.pk}",
            "words": f"Link {link.token_prefix}… {link.note}".strip() + (" (revoked)" if link.revoked_at else ""),
        }
        for link in found
    ]
