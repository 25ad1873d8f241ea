from chat.models.conversation import Conversation, Member
from chat.models.mailbox import Inbox, InboxKind, Mailbox
from chat.models.message import Message, ReferenceKind
from chat.models.presence import LastSeen
from chat.models.safety import Block, Report

__all__ = [
    "Block",
    "Conversation",
    "Inbox",
    "InboxKind",
    "LastSeen",
    "Mailbox",
    "Member",
    "Message",
    "ReferenceKind",
    "Report",
]
