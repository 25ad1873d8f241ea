from sharing.models.access_log import AccessLogEntry
from sharing.models.grant import Grant, Role
from sharing.models.link import Audience, ShareLink
from sharing.models.notification import Notification
from sharing.models.owner import Owner
from sharing.models.request import AccessRequest
from sharing.models.transfer import OwnershipTransfer

__all__ = [
    "AccessLogEntry",
    "AccessRequest",
    "Audience",
    "Grant",
    "Notification",
    "Owner",
    "OwnershipTransfer",
    "Role",
    "ShareLink",
]
