from __future__ import annotations

from django.urls import path

from inference_client import api, provider_api

urlpatterns = [
    path("runs/cancel", api.RunsCancel.as_view(), name="api-runs-cancel"),
    path("runs/<uuid:run_id>", api.RunDetail.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel", api.RunCancel.as_view(), name="api-run-cancel"),
    path("runs/<uuid:run_id>/events", api.RunEvents.as_view(), name="api-run-events"),
    path("models", api.ModelList.as_view(), name="api-models"),
    path("providers", provider_api.Providers.as_view(), name="api-providers"),
    path("providers/<slug:provider>/key", provider_api.OwnKey.as_view(), name="api-provider-key"),
    path("providers/<slug:provider>/key/test", provider_api.OwnKeyTest.as_view(), name="api-provider-key-test"),
]
