from __future__ import annotations

from django.urls import path

from chat import card_pages, pages

urlpatterns = [
    path("chat/", pages.conversations, name="chat"),
    path("chat/new/", pages.new_conversation, name="chat-new"),
    path("chat/search/", pages.search, name="chat-search"),
    path("chat/send/<str:kind>/<uuid:subject>/", card_pages.send, name="chat-send"),
    path("chat/<uuid:conversation_id>/", pages.conversation, name="chat-conversation"),
    path("chat/<uuid:conversation_id>/read/", pages.read, name="chat-read"),
    path("chat/<uuid:conversation_id>/mute/", pages.mute, name="chat-mute"),
    path("chat/<uuid:conversation_id>/block/", pages.block, name="chat-block"),
    path("chat/<uuid:conversation_id>/report/", pages.report, name="chat-report"),
]
