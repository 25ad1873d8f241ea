"""HTTP goes to Django, sockets to `config.websockets`. `config.server` serves it."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter  # noqa: E402

from sharing.checks import refuse_wrong_bound  # noqa: E402

refuse_wrong_bound()

from config.http import Handler  # noqa: E402
from config.websockets import websocket  # noqa: E402

application = ProtocolTypeRouter({"http": Handler(), "websocket": websocket})
