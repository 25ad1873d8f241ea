from __future__ import annotations

from django.urls import path

from sharing.api import grants, links, ownership, reading

PROMPT = "prompts/<uuid:prompt_id>"

urlpatterns = [
    path(f"{PROMPT}/links", links.LinkList.as_view(), name="api-links"),
    path("links/<uuid:link_id>", links.LinkDetail.as_view(), name="api-link"),
    path("links/<uuid:link_id>/revoke", links.LinkRevoke.as_view(), name="api-link-revoke"),
    path("links/<uuid:link_id>/rotate", links.LinkRotate.as_view(), name="api-link-rotate"),
    path(f"{PROMPT}/grants", grants.GrantList.as_view(), name="api-grants"),
    path("grants/<uuid:grant_id>", grants.GrantDetail.as_view(), name="api-grant"),
    path(f"{PROMPT}/access", grants.Access.as_view(), name="api-access"),
    path(f"{PROMPT}/revoke-all", grants.RevokeAll.as_view(), name="api-revoke-all"),
    path(f"{PROMPT}/transfers", ownership.TransferList.as_view(), name="api-prompt-transfers"),
    path("transfers", ownership.MyTransfers.as_view(), name="api-transfers"),
    path("transfers/<uuid:transfer_id>/accept", ownership.TransferAccept.as_view(), name="api-transfer-accept"),
    path("transfers/<uuid:transfer_id>/decline", ownership.TransferDecline.as_view(), name="api-transfer-decline"),
    path("access-requests", ownership.RequestList.as_view(), name="api-requests"),
    path("access-requests/<uuid:request_id>/answer", ownership.RequestAnswer.as_view(), name="api-request"),
    path(f"{PROMPT}/access-log", reading.AccessLog.as_view(), name="api-access-log"),
    path(f"{PROMPT}/access-log.csv", reading.AccessLogFile.as_view(), name="api-access-log-csv"),
    path("notifications", reading.NotificationList.as_view(), name="api-notifications"),
    path("notifications/seen", reading.NotificationsSeen.as_view(), name="api-notifications-seen"),
    path(
        f"{PROMPT}/versions/<str:pointer>/texts/<int:index>/address",
        reading.TextAddress.as_view(),
        name="api-text-address",
    ),
]
