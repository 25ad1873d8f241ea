"""One exception, three faces: a page, a fragment, JSON; always with the true status."""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404
from django.test import RequestFactory
from rest_framework import exceptions as drf

from core import boundary, errors, requestid


@pytest.mark.parametrize(
    ("raised", "kind", "status"),
    [
        (errors.Conflict(), errors.Conflict, 409),
        (Http404(), errors.NotFound, 404),
        (PermissionDenied(), errors.NotAllowed, 403),
        (RequestDataTooBig(), errors.TooLarge, 413),
        (drf.NotAuthenticated(), errors.NotAuthenticated, 401),
        (drf.AuthenticationFailed(), errors.NotAuthenticated, 401),
        (drf.PermissionDenied(), errors.NotAllowed, 403),
        (drf.NotFound(), errors.NotFound, 404),
        (drf.Throttled(wait=7), errors.RateLimited, 429),
        (drf.ParseError(), errors.InvalidInput, 400),
        (drf.ValidationError({"name": ["Bad."]}), errors.InvalidInput, 400),
        (drf.MethodNotAllowed("PUT"), errors.DomainError, 405),
        (drf.NotAcceptable(), errors.DomainError, 406),
        (drf.UnsupportedMediaType("text/csv"), errors.DomainError, 415),
    ],
)
def test_expected_exceptions_become_domain_errors(
    raised: Exception, kind: type[errors.DomainError], status: int
) -> None:
    known = boundary.translate(raised)

    assert isinstance(known, kind)
    assert known.status == status


def test_a_bug_stays_a_bug() -> None:
    assert boundary.translate(KeyError("x")) is None
    assert boundary.rest_exception_handler(KeyError("x"), {}) is None


def test_the_first_problem_is_named_by_its_dotted_path() -> None:
    detail = drf.ValidationError({"spec": {"messages": [{}, {"role": ["Unknown."]}]}}).detail

    assert boundary.first_problem(detail) == ("spec.messages.1.role", "Unknown.")


def test_problems_of_the_whole_have_no_field() -> None:
    known = boundary.translate(drf.ValidationError({"non_field_errors": ["No."]}))

    assert known is not None
    assert (known.field, known.message) == (None, "No.")


def test_the_api_gets_json() -> None:
    requestid.begin("trace-12345678")
    response = boundary.respond(RequestFactory().get("/api/v1/x"), errors.NotFound())

    assert response.status_code == 404
    assert json.loads(response.content) == {
        "error": {"code": "not_found", "message": "There is nothing here, or it is not shared with you."},
        "request_id": "trace-12345678",
    }
    assert response["Cache-Control"] == "no-store"


def test_whoever_asks_for_json_gets_it_everywhere() -> None:
    response = boundary.respond(RequestFactory().get("/x", headers={"Accept": "application/json"}), errors.NotFound())

    assert response["Content-Type"] == "application/json"


def test_a_person_gets_a_page_with_the_request_id() -> None:
    requestid.begin("trace-12345678")
    response = boundary.respond(RequestFactory().get("/x"), errors.NotFound())

    assert response.status_code == 404
    assert "<html" in response.text
    assert "trace-12345678" in response.text


def test_a_script_gets_a_fragment_with_the_true_status() -> None:
    response = boundary.respond(RequestFactory().get("/x", headers={"X-Fragment": "1"}), errors.Conflict())

    assert response.status_code == 409
    assert "<html" not in response.text
    assert "Somebody changed this" in response.text


def test_waiting_time_and_the_way_in_are_headers() -> None:
    limited = boundary.respond(RequestFactory().get("/api/v1/x"), errors.RateLimited(retry_after_s=7))
    anonymous = boundary.respond(RequestFactory().get("/api/v1/x"), errors.NotAuthenticated())

    assert limited["Retry-After"] == "7"
    assert anonymous["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(("path", "kind"), [("/api/v1/x", "application/json"), ("/x", "text/html; charset=utf-8")])
def test_our_own_fault_is_admitted_and_says_nothing_of_the_cause(path: str, kind: str) -> None:
    requestid.begin("trace-12345678")
    response = boundary.server_error(RequestFactory().get(path))

    assert response.status_code == 500
    assert response["Content-Type"] == kind
    assert "trace-12345678" in response.text


def test_a_405_of_one_request_does_not_change_the_next_error() -> None:
    boundary.translate(drf.MethodNotAllowed("PUT"))

    assert errors.DomainError().status == 400
