"""Django behind ASGI with one change of threads a request.

Django's own handler goes to a thread for the middleware, back to the loop for the view, to a thread again, and twice
more for its signals, each time of a new thread: 2 ms of processor time of a call that has 3. All of our views are
plain functions, so a request takes one thread, from the first middleware to the last byte of its answer being made.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, cast

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.db import close_old_connections
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix


class Handler(ASGIHandler):
    """The threads bound how many requests are worked on at once, and with them the connections to PostgreSQL.

    A stream holds no thread while it waits: its pieces come from the loop.
    """

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._threads = ThreadPoolExecutor(settings.HTTP_THREADS, thread_name_prefix="http")
        self._answer = sync_to_async(self._work, thread_sensitive=False, executor=self._threads)
        self._close = sync_to_async(_close, thread_sensitive=False, executor=self._threads)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.handle(scope, receive, send)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        try:
            response = await self._answer(scope, body)
            if response.streaming:
                async with ThreadSensitiveContext():
                    await self._stream(response, receive, send)
            else:
                try:
                    await self.send_response(response, send)
                finally:
                    await self._close(response)
        finally:
            body.close()

    def _work(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        try:
            request, refusal = self.create_request(scope, body)
            response = cast("HttpResponseBase", refusal if request is None else self.get_response(request))
        finally:
            # Here, because connections belong to threads, and what closes the answer may run in another one.
            close_old_connections()
        response._handler_class = self.__class__  # type: ignore[attr-defined]
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        """Until its end, or until nobody listens any more: then the stream is told by a cancellation."""
        listening = asyncio.create_task(self.listen_for_disconnect(receive))
        sending = asyncio.create_task(self.send_response(response, send))
        try:
            await asyncio.wait((listening, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (listening, sending):
                task.cancel()
            ended = await asyncio.gather(listening, sending, return_exceptions=True)
            # In the thread of this request's own, in which a stream that asks the database has its connection.
            await sync_to_async(response.close)()
        if isinstance(ended[1], Exception):
            raise ended[1]


def _close(response: HttpResponseBase) -> None:
    response.close()
