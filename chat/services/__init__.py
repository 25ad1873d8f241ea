from chat.messages import Reference
from chat.sending import Sent
from chat.services.conversations import clear_conversation, mark_read, mute_conversation, start_conversation
from chat.services.messages import delete_message, edit_message, send_message
from chat.services.safety import block_person, report_message, unblock_person

__all__ = [
    "Reference",
    "Sent",
    "block_person",
    "clear_conversation",
    "delete_message",
    "edit_message",
    "mark_read",
    "mute_conversation",
    "report_message",
    "send_message",
    "start_conversation",
    "unblock_person",
]
