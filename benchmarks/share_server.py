"""The application with one view more: it renders the page of a link, and does nothing else for it.

    uvicorn benchmarks.share_server:application

What that view costs is what Django, its middleware and the template cost; the rest of the real page is sharing.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.core.asgi import get_asgi_application

application = get_asgi_application()

from django.conf import settings  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.shortcuts import render  # noqa: E402
from django.urls import path  # noqa: E402

from config import urls  # noqa: E402
from sharing import access, link_pages  # noqa: E402

settings.ROOT_URLCONF = "benchmarks.share_server"

_contexts: dict[uuid.UUID, dict[str, Any]] = {}


def plain(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """The same template with the same values, which are found once."""
    if link_id not in _contexts:
        decision = access.ask_about_link(link_id)
        if decision is None:
            raise AssertionError("the link of the benchmark is live")
        version = decision.what.version
        opened = access.Opened(
            link=decision.what.link, version=version, prompt=version.prompt, visitor="", decision=decision
        )
        _contexts[link_id] = link_pages._document(opened, version)
    return render(request, "sharing/document.html", _contexts[link_id])


urlpatterns = [path("plain/<uuid:link_id>/", plain), *urls.urlpatterns]
handler404, handler500 = urls.handler404, urls.handler500
