from __future__ import annotations

from django.urls import path

from inference_client import api

urlpatterns = [
    path("runs", api.RunList.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>", api.RunDetail.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel", api.RunCancel.as_view(), name="api-run-cancel"),
    path("runs/<uuid:run_id>/events", api.RunEvents.as_view(), name="api-run-events"),
    path("models", api.ModelList.as_view(), name="api-models"),
]
