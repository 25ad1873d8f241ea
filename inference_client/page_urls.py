from __future__ import annotations

from django.urls import path

from inference_client import pages

urlpatterns = [path("account/providers/", pages.own_providers, name="account-providers")]
