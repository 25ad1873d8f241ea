"""What every request to a prompt of somebody else gets: an entry in the access log, and an answer nobody keeps."""

from __future__ import annotations

import logging

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from core.middleware import GetResponse
from sharing import access_log, noting

log = logging.getLogger("playground.sharing")

_REFUSED = 400
_NOT_WRITTEN = 500


class SharedReadsMiddleware:
    """Behind sign-in. An answer that shows what somebody else may take back is never stored, by no browser either."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with noting.noted() as noted:
            response = self.get_response(request)
        if noted.any:
            response["Cache-Control"] = "private, no-store"
            if response.status_code < _NOT_WRITTEN:
                # When the answer is sent: what is written of a refusal must not be told by the time it takes.
                response._resource_closers.append(lambda: self._record(request, response.status_code, noted))  # type: ignore[attr-defined]
        return response

    def _record(self, request: HttpRequest, status: int, noted: noting.Noted) -> None:
        try:
            self._write(request, status, noted)
        except DatabaseError as error:  # whoever closes an answer swallows what is raised
            log.error("access not logged", extra={"error": type(error).__name__})

    def _write(self, request: HttpRequest, status: int, noted: noting.Noted) -> None:
        match = request.resolver_match
        for prompt_id, may_see in noted.allowed.items():
            if noted.person_id is not None:
                access_log.read_by_person(
                    prompt_id=prompt_id,
                    person_id=noted.person_id,
                    what=f"{request.method} {match.url_name if match else ''}"[:64],
                    address=access_log.address_of(request),
                    allowed=may_see and status < _REFUSED,
                    reason="" if may_see and status < _REFUSED else str(status),
                )
