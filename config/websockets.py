"""The sockets: origin checked with scheme and port, and every unknown path closed instead of raising.

Whose session it is, a consumer asks by itself and asks again while it is open; Channels' middleware would read it once,
in the one thread that all of the process shares.
"""

from __future__ import annotations

from typing import Any, cast

from channels.routing import URLRouter
from channels.security.websocket import OriginValidator
from channels.sessions import CookieMiddleware
from django.conf import settings
from django.urls import re_path

from chat.consumer import ChatConsumer
from core.sockets import UnknownPath
from sharing.consumer import AccessConsumer

_ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

routes = [
    re_path(r"^ws/chat/$", cast(Any, ChatConsumer.as_asgi())),
    re_path(rf"^ws/prompts/(?P<prompt_id>{_ID})/$", cast(Any, AccessConsumer.as_asgi())),
    re_path(rf"^s/open/(?P<link_id>{_ID})/watch/$", cast(Any, AccessConsumer.as_asgi())),
    # Channels' own router raises ValueError for a path it does not know: an error in the log for every scanner.
    re_path(r"", cast(Any, UnknownPath.as_asgi())),
]

websocket = OriginValidator(CookieMiddleware(URLRouter(routes)), settings.CSRF_TRUSTED_ORIGINS)
