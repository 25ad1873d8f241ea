from __future__ import annotations

from django.urls import path

from accounts import api

urlpatterns = [
    path("me", api.Me.as_view(), name="api-me"),
    path("keys", api.Keys.as_view(), name="api-keys"),
    path("keys/<uuid:key_id>", api.OneKey.as_view(), name="api-key"),
]
