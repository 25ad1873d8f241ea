from __future__ import annotations

import logging

import pytest
from django.test import Client

from core import requestid


@pytest.mark.parametrize("offered", ["trace-12345678", "a" * 64, "req_0.1-2"])
def test_a_harmless_id_of_the_caller_is_kept(offered: str) -> None:
    assert requestid.begin(offered) == offered


@pytest.mark.parametrize(
    "offered", [None, "", "short", "a" * 65, "with space 1", "line\nbreak-1", 'quote"12345', "é" * 10]
)
def test_anything_else_is_replaced(offered: str | None) -> None:
    assert requestid.begin(offered).startswith("req_")


def test_each_request_gets_its_own() -> None:
    assert requestid.begin(None) != requestid.begin(None)


def test_the_answer_carries_it() -> None:
    response = Client().get("/healthz", headers={"X-Request-ID": "trace-12345678"})

    assert response["X-Request-ID"] == "trace-12345678"


def test_log_records_are_stamped() -> None:
    requestid.begin("trace-12345678")
    record = logging.LogRecord("x", logging.INFO, "", 0, "", None, None)

    assert requestid.RequestIdFilter().filter(record)
    assert record.__dict__["request_id"] == "trace-12345678"
