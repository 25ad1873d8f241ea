from sharing.services.grants import (
    change_grant,
    change_role,
    grant_access,
    leave_prompt,
    revoke_all,
    revoke_grant,
)
from sharing.services.links import NewLink, create_link, narrow_link, revoke_link, rotate_link
from sharing.services.notices import mark_seen, notify
from sharing.services.ownership import accept_ownership, decline_ownership, offer_ownership
from sharing.services.redeeming import LinkSession, redeem_link
from sharing.services.requests import answer_request, ask_for_access
from sharing.targets import Target

__all__ = [
    "LinkSession",
    "NewLink",
    "Target",
    "accept_ownership",
    "answer_request",
    "ask_for_access",
    "change_grant",
    "change_role",
    "create_link",
    "decline_ownership",
    "grant_access",
    "leave_prompt",
    "mark_seen",
    "narrow_link",
    "notify",
    "offer_ownership",
    "redeem_link",
    "revoke_all",
    "revoke_grant",
    "revoke_link",
    "rotate_link",
]
