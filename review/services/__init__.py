"""Everything that changes threads: keyword-only, one transaction each. Who may call is asked before."""

from review.services.comments import delete_comment, edit_comment, reply
from review.services.placing import attach_thread, decide_placement
from review.services.threads import Anchor, reopen_thread, resolve_thread, start_thread

__all__ = [
    "Anchor",
    "attach_thread",
    "decide_placement",
    "delete_comment",
    "edit_comment",
    "reopen_thread",
    "reply",
    "resolve_thread",
    "start_thread",
]
