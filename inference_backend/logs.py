"""JSON log lines on stderr. Of an exception only its type and place are kept: its text may quote a prompt."""

import logging
import sys
import traceback
from types import TracebackType
from typing import Any

import pydantic_core
from pythonjsonlogger.json import JsonFormatter

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class PlaceOnlyFormatter(JsonFormatter):
    def formatException(self, exc_info: ExceptionInfo) -> str:  # noqa: N802 - the name is logging's
        kind, _, trace = exc_info
        frames = traceback.extract_tb(trace)[-8:]
        places = " < ".join(f"{frame.name} {frame.filename}:{frame.lineno}" for frame in reversed(frames))
        return f"{kind.__name__ if kind else 'error'} in {places}"


def configure_logging(level: int = logging.INFO) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        PlaceOnlyFormatter(
            "%(asctime)s %(levelname)s %(name)s %(message)s",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            json_serializer=_to_json,
        )
    )
    # What no line shows need not be found out for each (the logging HOWTO, "Optimization"): a third of their time.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # One line per call to the engine, with its address: our own line per request says more.
    for chatty in ("httpx2", "httpcore2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _to_json(line: dict[str, Any], **_: object) -> str:
    return pydantic_core.to_json(line, fallback=str).decode()
