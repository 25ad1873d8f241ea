"""The site map."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from config import operations

handler400 = "core.boundary.bad_request"
handler403 = "core.boundary.forbidden"
handler404 = "core.boundary.not_found"
handler500 = "core.boundary.server_error"
# Not one of Django's: allauth looks here when somebody tries too often.
handler429 = "core.boundary.too_many_attempts"

api = [
    path("", include("accounts.api_urls")),
    path("", include("inference_client.api_urls")),
    path("", include("playground.api_urls")),
    path("", include("chat.api_urls")),
    path("", include("sharing.api_urls")),
    path("", include("review.api_urls")),
    path("", include("batches.api_urls")),
]

urlpatterns = [
    path("healthz", operations.healthz, name="healthz"),
    path("readyz", operations.readyz, name="readyz"),
    path("metrics", operations.metrics, name="metrics"),
    path("api/v1/", include(api)),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs/", operations.api_docs, name="api-docs"),
    path("accounts/", include("allauth.account.urls")),
    path("", include("accounts.page_urls")),
    path("", include("inference_client.page_urls")),
    path("", include("playground.page_urls")),
    path("", include("batches.page_urls")),
    path("", include("chat.page_urls")),
    path("", include("sharing.page_urls")),
]
