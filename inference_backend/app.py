"""The ASGI application."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from inference_backend.connection import read_headers
from inference_backend.dialect.models import model_info, model_list
from inference_backend.embeddings.route import CreateEmbeddings
from inference_backend.envelope import RequestEnvelope
from inference_backend.messages import CountTokens, CreateMessage
from inference_backend.metrics import CONTENT_TYPE
from inference_backend.openapi import build_document
from inference_backend.record import record_of
from inference_backend.service import Service, build_service
from inference_backend.settings import Settings
from inference_backend.status.history import History
from inference_backend.status.page import StatusPage

logger = logging.getLogger(__name__)


def build_app(settings: Settings) -> Starlette:
    """Raises SettingsError."""
    service = build_service(settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watcher = asyncio.create_task(service.watch())
        sampler = asyncio.create_task(history.watch())
        for task in (watcher, sampler):
            task.add_done_callback(_tell_if_it_broke)
        service.embeddings.start()
        try:
            yield
        finally:
            watcher.cancel()
            sampler.cancel()
            await asyncio.gather(watcher, sampler, return_exceptions=True)
            await service.aclose()

    pages, history = Pages(service), History(service)
    app = Application(
        service,
        lifespan=lifespan,
        # Looked through from the top: the call that comes most often first.
        routes=[
            Route("/v1/embeddings", CreateEmbeddings(service), methods=["POST"]),
            Route("/v1/messages", CreateMessage(service), methods=["POST"]),
            Route("/v1/messages/count_tokens", CountTokens(service), methods=["POST"]),
            Route("/v1/models", pages.list_models),
            Route("/v1/models/{model}", pages.show_model),
            Route("/openapi.json", pages.openapi),
            Route("/healthz", pages.healthz),
            Route("/readyz", pages.readyz),
            Route("/metrics", pages.metrics),
            *StatusPage(service, history).routes(),
        ],
    )
    app.state.service = service
    return app


def _tell_if_it_broke(task: "asyncio.Task[None]") -> None:
    """Requests go on without upkeep, for a while: nobody would notice."""
    if not task.cancelled() and (error := task.exception()):
        logger.critical("upkeep has ended; restart this process", exc_info=error)


class Application(Starlette):
    """Starlette with RequestEnvelope alone around its routes.

    That one answers every exception. Starlette's own two handlers of exceptions would have nothing to do, and wrap
    each message of each answer.
    """

    def __init__(self, service: Service, **given: Any) -> None:
        super().__init__(**given)
        self._service = service

    def build_middleware_stack(self) -> ASGIApp:
        return RequestEnvelope(self.router, metrics=self._service.metrics, bytes_in_hand=self._service.bytes_in_hand)


class Pages:
    """The small read-only answers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._openapi = build_document()

    async def openapi(self, _: Request) -> Response:
        return JSONResponse(self._openapi)

    async def list_models(self, request: Request) -> Response:
        """Those that the caller may use."""
        caller, _ = await self._service.greet(read_headers(request.scope), record_of(request.scope))
        models = [model for model in self._service.fleet.models.values() if caller.tier in model.tiers]
        return JSONResponse(model_list([model_info(model) for model in models]))

    async def show_model(self, request: Request) -> Response:
        caller, _ = await self._service.greet(read_headers(request.scope), record_of(request.scope))
        return JSONResponse(model_info(self._service.find_model(request.path_params["model"], caller.tier)))

    async def healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(self, _: Request) -> Response:
        """Ready is whoever can answer for any of its models: one that is broken must not take the others along."""
        fleet = self._service.fleet
        if self._service.in_flight.is_draining:
            return JSONResponse({"status": "draining", "replicas": fleet.report()}, status_code=503)
        is_ready = not fleet.models or any(model.ready for model in fleet.models.values())
        return JSONResponse(
            {"status": "ready" if is_ready else "not ready", "replicas": fleet.report()},
            status_code=200 if is_ready else 503,
        )

    async def metrics(self, _: Request) -> Response:
        self._service.metrics.batch.forget()
        for name, pool in self._service.batch_pools():
            self._service.metrics.batch.show(name, pool.snapshot())
        self._service.metrics.show_fleet(self._service.fleet.report())
        self._service.metrics.pools.forget()
        for served in self._service.fleet.models.values():
            self._service.metrics.pools.show(served.id, served.pool)
        return Response(self._service.metrics.render(), media_type=CONTENT_TYPE)
