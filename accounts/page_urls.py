from __future__ import annotations

from django.urls import path

from accounts import pages

urlpatterns = [
    path("account/", pages.account, name="account"),
    path("account/name/", pages.name, name="account-name"),
    path("account/keys/", pages.keys, name="account-keys"),
]
