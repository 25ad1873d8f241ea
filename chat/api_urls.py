from __future__ import annotations

from django.urls import path

from chat.api import conversations, messages, people

CONVERSATION = "chat/conversations/<uuid:conversation_id>"
MESSAGE = "chat/messages/<uuid:message_id>"

urlpatterns = [
    path("chat/conversations", conversations.ConversationList.as_view(), name="api-chat-conversations"),
    path(CONVERSATION, conversations.ConversationDetail.as_view(), name="api-chat-conversation"),
    path(f"{CONVERSATION}/read", conversations.ConversationMarks.as_view(), name="api-chat-read"),
    path(f"{CONVERSATION}/mute", conversations.ConversationMute.as_view(), name="api-chat-mute"),
    path(f"{CONVERSATION}/clear", conversations.ConversationClear.as_view(), name="api-chat-clear"),
    path(f"{CONVERSATION}/messages", messages.MessageList.as_view(), name="api-chat-messages"),
    path("chat/messages", messages.MessageSearch.as_view(), name="api-chat-search"),
    path(MESSAGE, messages.MessageDetail.as_view(), name="api-chat-message"),
    path(f"{MESSAGE}/report", messages.MessageReport.as_view(), name="api-chat-report"),
    path("chat/people", people.PeopleSearch.as_view(), name="api-chat-people"),
    path("chat/blocks", people.BlockList.as_view(), name="api-chat-blocks"),
    path("chat/blocks/<uuid:person_id>", people.BlockDetail.as_view(), name="api-chat-block"),
    path("chat/unread", conversations.Unread.as_view(), name="api-chat-unread"),
]
