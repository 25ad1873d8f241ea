from __future__ import annotations

from django.urls import path

from sharing import card_pages, link_pages, link_texts, pages, share_pages

OPEN = "s/open/<uuid:link_id>"
OPEN_VERSION = f"{OPEN}/versions/<int:number>"

urlpatterns = [
    path("s/<str:token>", link_pages.landing, name="share-landing"),
    path(f"{OPEN}/", link_pages.shared, name="shared"),
    path(f"{OPEN}/state/", link_pages.state, name="shared-state"),
    path(f"{OPEN}/fork/", link_pages.fork, name="shared-fork"),
    path(f"{OPEN_VERSION}/", link_pages.shared, name="shared-version"),
    path(f"{OPEN_VERSION}/texts/<int:index>", link_texts.text, name="shared-text"),
    path(f"{OPEN_VERSION}/texts/<int:index>/lines", link_texts.lines, name="shared-text-lines"),
    path(f"{OPEN_VERSION}/texts/<int:index>/search", link_texts.search, name="shared-text-search"),
    path(f"{OPEN_VERSION}/snippets/<str:language>", link_texts.snippet, name="shared-snippet"),
    path("prompts/<uuid:prompt_id>/sharing/", share_pages.share_body, name="share-body"),
    path("prompts/<uuid:prompt_id>/access/", share_pages.access_log, name="access-log"),
    path("shares/", share_pages.shares, name="shares"),
    path("shares/qr/", share_pages.qr_code, name="share-qr"),
    path("shared/", pages.with_me, name="shared-with-me"),
    path("shared/requests/<uuid:request_id>/", pages.answer_request, name="request-answer"),
    path("shared/transfers/<uuid:transfer_id>/", pages.answer_transfer, name="transfer-answer"),
    path("shared/cards/<str:kind>/<uuid:subject>/", card_pages.card, name="shared-card"),
    path("shared/cards/<str:kind>/<uuid:subject>/ask/", card_pages.ask, name="shared-card-ask"),
    path("notifications/", pages.notifications, name="notifications"),
]
