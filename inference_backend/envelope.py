"""Around every request: its id, its log line, its place in the metrics, and errors in the API's shape."""

import asyncio
import logging
import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inference_backend.bytes_in_hand import BytesInHand
from inference_backend.connection import ClientGoneError, send_json
from inference_backend.dialect.errors import error_body, error_headers, shape_of
from inference_backend.errors import BackendError, InvalidRequestError, NotFoundError
from inference_backend.metrics import Metrics
from inference_backend.record import CLIENT_GONE_STATUS, RequestRecord, open_record

logger = logging.getLogger(__name__)

CLOSING_DELAY_S = 0.01
QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics", "/status", "/status.json"})


class RequestEnvelope:
    def __init__(self, app: ASGIApp, *, metrics: Metrics, bytes_in_hand: BytesInHand) -> None:
        self._app = app
        self._metrics = metrics
        self._bytes_in_hand = bytes_in_hand
        self._ended: list[tuple[Scope, RequestRecord]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._live(scope, receive, send)
            return
        if scope["path"] in QUIET_PATHS:
            # Who looks at the figures sees all that ended before.
            self._close_ended()
        record = open_record(scope)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                quota = record.quota() if record.quota else ()
                own = ((b"request-id", record.request_id.encode()), *quota)
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        try:
            await self._app(scope, self._bytes_in_hand.counted(receive, record), send_with_id)
        except ClientGoneError:
            record.status = CLIENT_GONE_STATUS
        except Exception as error:  # noqa: BLE001 - the outermost handler: whatever it is, the caller gets an answer
            await self._answer(error, scope, send_with_id)
        finally:
            self._bytes_in_hand.give_back(record)
            if scope["path"] not in QUIET_PATHS:
                self._close_soon(scope, record)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """From the start of the process to its end."""
        try:
            await self._app(scope, receive, send)
        finally:
            self._close_ended()

    def _close_soon(self, scope: Scope, record: RequestRecord) -> None:
        """When the answers of this moment are on their way: a batch call ends fifty requests at once, and the last of
        them would wait for the lines of all."""
        record.ended_at = time.monotonic()
        if not self._ended:
            asyncio.get_running_loop().call_later(CLOSING_DELAY_S, self._close_ended)
        self._ended.append((scope, record))

    def _close_ended(self) -> None:
        ended, self._ended = self._ended, []
        for scope, record in ended:
            self._metrics.requests.count(getattr(scope.get("route"), "path", "unknown"), record)
            record.is_closed = True
            logger.info("request", extra=record.as_log_fields(scope))

    async def _answer(self, error: Exception, scope: Scope, send: Send) -> None:
        record = scope["state"]["inference_record"]
        known = _as_backend_error(error)
        record.error = known.code or shape_of(known).type
        if not isinstance(error, BackendError | HTTPException):
            logger.error("unexpected failure", exc_info=error, extra={"request_id": record.request_id})
        if record.status is not None:
            # Too late for a status. Returning without an end makes the server cut the connection: not a clean end.
            return
        status, headers = shape_of(known).status, error_headers(known)
        if isinstance(error, HTTPException):
            status, headers = error.status_code, {**headers, **(error.headers or {})}
        await send_json(send, status, error_body(known, request_id=record.request_id), headers)


def _as_backend_error(error: Exception) -> BackendError:
    if isinstance(error, BackendError):
        return error
    if isinstance(error, HTTPException):
        if error.status_code == 404:
            return NotFoundError("There is nothing at this address.")
        return InvalidRequestError(error.detail)
    return BackendError("An unexpected error occurred; the request id is in the log.")
