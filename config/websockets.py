"""The sockets: origin checked, session read once at connect, and every unknown path closed instead of raising."""

from __future__ import annotations

from typing import Any, cast

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.urls import re_path

from core.sockets import UnknownPath

# Channels' own router raises ValueError for a path it does not know: an error in the log for every scanner.
routes = [re_path(r"", cast(Any, UnknownPath.as_asgi()))]

websocket = OriginValidator(AuthMiddlewareStack(URLRouter(routes)), settings.CSRF_TRUSTED_ORIGINS)
