"""Every route of the project, with who may use it. A route that is not here fails `test_every_route`.

To add one: `"name-of-the-route": [row("GET", SEES)]`, a row for each method. `who` is the kinds of people who may;
what all others are answered follows (401 or the sign-in page for who is signed out, 403 for who sees the prompt but may
not do this, else 404), and no answer to them holds a word of the prompt.

    row(method, who, data=..., query=..., ids={...}, sees=...)
        `sees`: who is told 403 instead of 404; by default who sees the prompt. NOBODY for what is a person's own.
        `ids`: what the pattern names, where it is not what `crowd.gather` calls it.
    row(..., tells=...)     of a list: everybody in `who` may ask, and only those in `tells` find the prompt in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.sharing.crowd import (
    ANONYMOUS,
    COMMENTER,
    EDITOR,
    EVERYBODY,
    EXPIRED,
    OWNER,
    REVOKED,
    SECRET,
    SIGNED_OUT,
    STRANGER,
    VIEWER,
    VISITOR,
)

NOBODY: frozenset[str] = frozenset()
ALL = frozenset(EVERYBODY)
SIGNED_IN = ALL - SIGNED_OUT
SEES = frozenset({OWNER, EDITOR, COMMENTER, VIEWER})
COMMENTS = SEES - {VIEWER}
EDITS = frozenset({OWNER, EDITOR})
OWNS = frozenset({OWNER})
TALKS = frozenset({OWNER, EDITOR})
VISITS = frozenset({VISITOR})


@dataclass(frozen=True, kw_only=True)
class Row:
    method: str
    who: frozenset[str]
    sees: frozenset[str] = SEES
    tells: frozenset[str] | None = None
    data: dict[str, Any] = field(default_factory=dict)
    query: str = ""
    ids: dict[str, Any] = field(default_factory=dict)
    #: Signed out or a stranger: the same 404, since only the cookie of a visit counts.
    by_link: bool = False
    #: What this person is answered, where the rules above do not say it.
    answers: dict[str, int] = field(default_factory=dict)


def row(method: str, who: Iterable[str], **options: Any) -> Row:
    return Row(method=method, who=frozenset(who), **options)


def own(method: str, who: Iterable[str] = OWNS, **options: Any) -> Row:
    """Something of one person's own: nobody else is told that it exists."""
    return row(method, who, sees=NOBODY, **options)


def visit(method: str, **options: Any) -> Row:
    return row(method, VISITS, sees=NOBODY, by_link=True, **options)


def everybody(method: str, **options: Any) -> Row:
    return row(method, ALL, tells=options.pop("tells", NOBODY), **options)


def signed_in(method: str, **options: Any) -> Row:
    """A page or call about oneself."""
    return row(method, SIGNED_IN, tells=options.pop("tells", NOBODY), **options)


_SPEC = {"model": "test-model", "max_tokens": 9, "messages": [{"role": "user", "content": "New."}]}
_NAMED = {"ids": {"name": "main"}}
_LABEL = {"ids": {"name": "production"}}
_PATH = {"ids": {"number": 1}}

API: dict[str, list[Row]] = {
    "api-me": [signed_in("GET")],
    "api-keys": [signed_in("GET", tells=OWNS), signed_in("POST", data={"name": "k", "scopes": ["api"]})],
    "api-key": [own("DELETE")],
    "api-models": [signed_in("GET")],
    "api-providers": [signed_in("GET")],
    "api-provider-key": [
        signed_in("PUT", ids={"provider": "anthropic"}, data={"key": "x"}, answers=dict.fromkeys(SIGNED_IN, 400)),
        signed_in("DELETE", ids={"provider": "anthropic"}, answers=dict.fromkeys(SIGNED_IN, 404)),
    ],
    "api-provider-key-test": [
        signed_in("POST", ids={"provider": "anthropic"}, answers=dict.fromkeys(SIGNED_IN, 404)),
    ],
    "api-runs": [signed_in("GET", tells=OWNS), signed_in("GET", query="prompt={prompt_id}&kind=all", tells=OWNS)],
    "api-run": [own("GET")],
    "api-run-cancel": [own("POST")],
    "api-runs-cancel": [signed_in("POST", data={"ids": ["{run_id}"]})],
    "api-run-events": [own("GET")],
    "api-run-replies": [own("POST", data={"content": "Hello"})],
    "api-run-conversation": [own("GET")],
    "api-tool-results": [row("GET", SEES, query="tool=get_weather")],
    "api-folders": [signed_in("GET", tells=OWNS)],
    "api-folders-move": [
        signed_in("POST", data={"folder": "none", "to": "other"}, answers=dict.fromkeys(SIGNED_IN, 404))
    ],
    "api-tags": [signed_in("GET", tells=OWNS)],
    "api-prompts-import": [
        signed_in("POST", data={"text": "Hello", "name": "New"}),
        row("POST", EDITS, data={"text": "Hello", "name": "New"}, query="prompt={prompt_id}"),
    ],
    "api-prompts-import-preview": [signed_in("POST", data={"text": "Hello"})],
    "api-imports": [
        signed_in("POST", data={"size": 3, "sha256": "c" * 64, "format": "json"}),
        row("POST", EDITS, data={"size": 3, "sha256": "d" * 64, "format": "json", "prompt": "{prompt_id}"}),
    ],
    "api-import": [own("GET"), own("DELETE")],
    "api-import-start": [own("POST")],
    "api-prompts": [
        signed_in("GET", tells=OWNS),
        signed_in("GET", query=f"q={SECRET}", tells=SEES),
        signed_in("GET", query="whose=shared", tells=SEES - OWNS),
        signed_in("POST", data={"name": "New"}),
    ],
    "api-prompt": [row("GET", SEES), row("PATCH", OWNS, data={"name": "x"}), row("DELETE", OWNS, data={"name": "x"})],
    "api-prompt-export": [row("GET", SEES)],
    "api-prompt-archive": [row("POST", OWNS)],
    "api-prompt-restore": [row("POST", OWNS)],
    "api-prompt-trash": [row("POST", OWNS)],
    "api-drafts": [row("GET", SEES)],
    "api-draft": [
        row("GET", OWNS, answers={EDITOR: 404, COMMENTER: 404, VIEWER: 404}),
        row("PUT", EDITS, data={"content": "{}", "revision": None}),
        row("DELETE", SEES),
    ],
    "api-version-fork": [row("POST", SEES, data={"name": "Mine"})],
    "api-comparisons": [
        row("GET", SEES, tells=NOBODY),
        row("POST", EDITS, data={"columns": [{"version": 1}, {"version": 2}]}),
    ],
    "api-comparison": [own("GET")],
    "api-comparison-answers": [own("GET")],
    "api-comparison-cancel": [own("POST")],
    "api-comparison-retry": [own("POST")],
    "api-count": [row("POST", SEES, data={"spec": _SPEC})],
    "api-diff": [row("GET", SEES, query="from=1&to=2"), row("POST", SEES, data={"from": "1", "spec": _SPEC})],
    "api-merge": [row("GET", SEES, query="ours=main&theirs=side")],
    "api-tree": [row("GET", SEES)],
    "api-tree-columns": [row("GET", SEES)],
    "api-versions": [row("GET", SEES), row("POST", EDITS, data={"spec": _SPEC})],
    "api-version": [row("GET", SEES), row("GET", SEES, query="include=texts")],
    "api-version-runs": [row("POST", EDITS, data={"variables": {}})],
    "api-snippet": [row("GET", SEES), row("POST", SEES, data={"variables": {}})],
    "api-text": [row("GET", SEES)],
    "api-text-lines": [row("GET", SEES)],
    "api-text-search": [row("GET", SEES, query="q=text")],
    "api-text-address": [row("GET", SEES)],
    "api-past-values": [row("GET", SEES, tells=NOBODY)],
    "api-past-values-of-run": [own("GET")],
    "api-kept-values": [row("GET", SEES, tells=NOBODY), row("PATCH", SEES, data={"values": {"name": "x"}})],
    "api-uploads": [row("POST", EDITS, data={"size": 3, "sha256": "e" * 64})],
    "api-upload": [own("GET"), own("DELETE")],
    "api-upload-complete": [own("POST")],
    "api-branches": [row("GET", SEES), row("POST", EDITS, data={"name": "fresh", "at": 1})],
    "api-branch-move": [row("POST", EDITS, data={"to": 1, "expected": 2}, **_NAMED)],
    "api-branch-undo": [row("POST", EDITS, **_NAMED)],
    "api-branch-redo": [row("POST", EDITS, **_NAMED)],
    "api-labels": [row("GET", SEES)],
    "api-label": [row("PUT", EDITS, data={"version": 2}, **_LABEL), row("DELETE", EDITS, **_LABEL)],
    "api-label-history": [row("GET", SEES, **_LABEL)],
    "api-links": [row("GET", OWNS), row("POST", OWNS, data={"audience": "public", "target": {"version": 1}})],
    "api-link": [row("PATCH", OWNS, data={"note": "x"})],
    "api-link-revoke": [row("POST", OWNS)],
    "api-link-rotate": [row("POST", OWNS)],
    "api-grants": [
        row("GET", OWNS),
        row("POST", OWNS, data={"account": "signed-in-stranger@example.com", "role": "viewer"}),
    ],
    "api-grant": [row("PATCH", OWNS, data={"role": "editor"}), row("DELETE", OWNS)],
    "api-access": [row("GET", SEES), row("DELETE", SEES - OWNS)],
    "api-revoke-all": [row("POST", OWNS)],
    "api-prompt-transfers": [row("POST", OWNS, data={"account": "viewer@example.com"})],
    "api-transfers": [signed_in("GET")],
    "api-transfer-accept": [own("POST", {EDITOR}, answers={OWNER: 404})],
    "api-transfer-decline": [own("POST", {OWNER, EDITOR})],
    "api-requests": [
        signed_in("GET"),
        signed_in("POST", data={"kind": "prompt", "id": "{prompt_id}"}),
    ],
    "api-request": [row("POST", OWNS, data={"role": "viewer"})],
    "api-access-log": [row("GET", OWNS)],
    "api-access-log-csv": [row("GET", OWNS)],
    "api-notifications": [signed_in("GET", tells=SEES | {REVOKED, EXPIRED})],
    "api-notifications-seen": [signed_in("GET"), signed_in("POST")],
    "api-schema": [everybody("GET")],
}

REVIEW: dict[str, list[Row]] = {
    "api-prompt-threads": [row("GET", SEES)],
    "api-mentionable": [row("GET", COMMENTS, query="q=viewer")],
    "api-version-threads": [row("GET", SEES), row("POST", COMMENTS, data={"anchor": None, "body": "Hello"})],
    "api-thread": [row("GET", SEES)],
    "api-thread-comments": [row("POST", COMMENTS, data={"body": "Hello"})],
    "api-thread-resolve": [row("POST", COMMENTS)],
    "api-thread-reopen": [row("POST", COMMENTS)],
    "api-thread-place": [row("POST", COMMENTS, data={"version": 2, "accept": True})],
    "api-comment": [row("PATCH", {COMMENTER}, data={"body": "Hello"}), row("DELETE", {OWNER, COMMENTER})],
}

_CASES = {"name": "New", "rows": [{"values": {"a": "b"}}]}
_BATCH = {"rows": [{"values": {"a": "b"}}], "versions": [1]}
#: Also read by who may no longer run the prompt, if they started it; steered by who started it.
_STARTED = {"answers": {EDITOR: 403}}

BATCHES: dict[str, list[Row]] = {
    "api-datasets": [row("GET", EDITS), row("POST", EDITS, data=_CASES)],
    "api-dataset": [own("GET", EDITS), own("PATCH", EDITS, data={"name": "New"}), own("DELETE", EDITS)],
    "api-dataset-complete": [own("POST", EDITS)],
    "api-dataset-rows": [own("GET", EDITS), own("PATCH", EDITS, data={"revision": 1, "edits": []})],
    "api-dataset-rows-csv": [own("GET", EDITS)],
    "api-dataset-rows-jsonl": [own("GET", EDITS)],
    "api-batches": [row("GET", EDITS), row("POST", EDITS, data=_BATCH)],
    "api-batches-estimate": [row("POST", EDITS, data=_BATCH)],
    "api-batch": [own("GET", EDITS), own("DELETE", **_STARTED)],
    "api-batch-pause": [own("POST", **_STARTED)],
    "api-batch-resume": [own("POST", **_STARTED)],
    "api-batch-cancel": [own("POST", **_STARTED)],
    "api-batch-retry": [own("POST", **_STARTED)],
    "api-batch-results": [own("GET", EDITS)],
    "api-batch-result-row": [own("GET", EDITS)],
    "api-batch-results-csv": [own("GET", EDITS)],
    "api-batch-results-jsonl": [own("GET", EDITS)],
}

CHAT: dict[str, list[Row]] = {
    "api-chat-conversations": [
        signed_in("GET"),
        signed_in("POST", data={"person": "{person_id}"}, answers={VIEWER: 403}),
    ],
    "api-chat-conversation": [own("GET", TALKS)],
    "api-chat-read": [own("POST", TALKS, data={"upto_seq": 1})],
    "api-chat-mute": [own("PUT", TALKS, data={"muted": True})],
    "api-chat-clear": [own("POST", TALKS, data={"upto_seq": 0})],
    "api-chat-messages": [
        own("GET", TALKS),
        own("POST", TALKS, data={"client_msg_id": "{message_id}", "body": "Hello"}),
    ],
    "api-chat-search": [signed_in("GET", query=f"q={SECRET}", tells=TALKS)],
    "api-chat-message": [own("PATCH", data={"body": "Hello"}), own("DELETE")],
    "api-chat-report": [own("POST", {EDITOR}, data={"reason": "spam"})],
    "api-chat-people": [signed_in("GET", query="q=viewer")],
    "api-chat-blocks": [signed_in("GET")],
    "api-chat-block": [signed_in("PUT"), signed_in("DELETE")],
    "api-chat-unread": [signed_in("GET")],
    "chat": [signed_in("GET", tells=TALKS)],
    "chat-new": [signed_in("GET", tells=TALKS)],
    "chat-search": [signed_in("GET", query=f"q={SECRET}", tells=SIGNED_IN)],
    "chat-send": [
        signed_in("GET", ids={"kind": "version", "subject": "{version_id}"}, tells=TALKS),
        own(
            "POST",
            TALKS,
            ids={"kind": "version", "subject": "{version_id}"},
            data={"to": "conversation:{conversation_id}", "key": "{message_id}"},
        ),
    ],
    "chat-conversation": [own("GET", TALKS), own("POST", TALKS, data={"body": "Hello"})],
    "chat-read": [own("POST", TALKS, data={"upto": "1"})],
    "chat-mute": [own("POST", TALKS)],
    "chat-block": [own("POST", TALKS)],
    "chat-report": [own("POST", {EDITOR}, data={"message": "{message_id}", "reason": "spam"})],
}

_CARD = {"kind": "version", "subject": "{version_id}"}

PAGES: dict[str, list[Row]] = {
    "home": [everybody("GET", tells=SEES), everybody("GET", query=f"q={SECRET}", tells=SEES)],
    "import": [signed_in("GET")],
    "prompt-create": [signed_in("POST", data={"name": "New"})],
    "prompt": [row("GET", SEES)],
    "prompt-version": [row("GET", SEES, **_PATH)],
    "prompt-compare": [row("GET", SEES, query="from=1&to=2")],
    "prompt-columns": [row("GET", EDITS, query="versions=1,2")],
    "prompt-comparison": [own("GET")],
    "prompt-merge": [row("GET", EDITS)],
    "prompt-tests": [row("GET", EDITS)],
    "prompt-dataset": [own("GET", EDITS)],
    "prompt-batch-new": [row("GET", EDITS)],
    "prompt-batch": [own("GET", EDITS)],
    "runs": [signed_in("GET", tells=OWNS)],
    "prompt-runs": [row("GET", SEES)],
    "run": [own("GET")],
    "share-landing": [everybody("GET"), everybody("POST")],
    "shared": [visit("GET")],
    "shared-state": [visit("GET")],
    "shared-fork": [visit("GET", answers=dict.fromkeys(SIGNED_OUT, 302))],
    "shared-version": [visit("GET", **_PATH)],
    "shared-text": [visit("GET", **_PATH)],
    "shared-text-lines": [visit("GET", **_PATH)],
    "shared-text-search": [visit("GET", query="q=text", **_PATH)],
    "shared-snippet": [visit("GET", **_PATH)],
    "share-body": [row("GET", OWNS)],
    "access-log": [row("GET", OWNS)],
    "shares": [signed_in("GET", tells=OWNS)],
    "share-qr": [signed_in("POST", data={"url": "x"})],
    "shared-with-me": [signed_in("GET", tells=SEES - OWNS)],
    "request-answer": [own("POST", OWNS, data={"role": "viewer"})],
    "transfer-answer": [own("POST", {EDITOR, OWNER}, data={"answer": "decline"})],
    "shared-card": [row("GET", SEES, ids=_CARD)],
    "shared-card-ask": [signed_in("POST", ids=_CARD)],
    "notifications": [signed_in("GET", tells=SEES | {REVOKED, EXPIRED})],
    "account": [signed_in("GET")],
    "account-name": [signed_in("POST", data={"name": "Somebody"})],
    "account-providers": [signed_in("GET")],
    "account-keys": [signed_in("GET", tells=OWNS), signed_in("POST", data={"name": "k"})],
    "api-docs": [everybody("GET")],
    "healthz": [everybody("GET")],
    "readyz": [everybody("GET")],
    "metrics": [everybody("GET", answers=dict.fromkeys(ALL, 401))],
}

#: Of django-allauth: about an account alone. What they answer is tested with accounts; here, that they tell nothing.
ACCOUNT_ROUTES = frozenset(
    {
        "account_login",
        "account_logout",
        "account_inactive",
        "account_signup",
        "account_reauthenticate",
        "account_request_reauthentication_code",
        "account_confirm_reauthentication_code",
        "account_email",
        "account_email_verification_sent",
        "account_change_password",
        "account_set_password",
        "account_reset_password",
        "account_confirm_login_code",
        "account_confirm_email",
        "account_reset_password_from_key_done",
        "account_reset_password_from_key",
        "account_reset_password_done",
    }
)

#: Patterns of `config.websockets`, with who is told something there: see `test_every_socket`.
SOCKETS = {
    r"^ws/chat/$": SIGNED_IN,
    r"^ws/prompts/(?P<prompt_id>ID)/$": SEES,
    r"^s/open/(?P<link_id>ID)/watch/$": VISITS,
    r"": NOBODY,
}

TABLE = {**API, **REVIEW, **BATCHES, **CHAT, **PAGES}

__all__ = ["ACCOUNT_ROUTES", "ANONYMOUS", "EXPIRED", "REVOKED", "SOCKETS", "STRANGER", "TABLE", "Row", "own", "row"]
