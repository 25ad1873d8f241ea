"""JSON lines on stderr. What may be logged is decided where it is logged; prompts, outputs and keys never are."""

from __future__ import annotations

from typing import Any


def logging_config(level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "request_id": {"()": "core.requestid.RequestIdFilter"},
            "route": {"()": "core.private_logs.RouteInsteadOfPath"},
            "exceptions": {"()": "core.private_logs.OnlyExceptions"},
        },
        "formatters": {
            "json": {
                "()": "core.private_logs.PrivateJsonFormatter",
                "format": "%(asctime)s %(levelname)s %(name)s %(message)s %(request_id)s",
            }
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["request_id", "route"]},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # It logs each 4xx with its path, which can hold a token; our own request line has what is needed.
            "django.request": {"level": "ERROR", "filters": ["exceptions"]},
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            "httpx2": {"level": "WARNING"},
            # At DEBUG it logs whole prompts.
            "anthropic": {"level": "WARNING"},
            "botocore": {"level": "WARNING"},
            # Both name the arguments of each task.
            "celery.app.trace": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "uvicorn.access": {"level": "WARNING", "handlers": [], "propagate": False},
        },
    }
