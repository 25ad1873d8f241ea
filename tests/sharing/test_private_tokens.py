"""A token opens a door: it is in no log and on no page of an error, wherever it came from."""

from __future__ import annotations

import io
import json
import logging
import logging.config
from collections.abc import Iterator

import pytest
from django.test import Client

from config.settings.logs import logging_config
from sharing import access, tokens
from tests.sharing.conftest import Link

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configured = logging_config("DEBUG")
    configured["handlers"]["stderr"]["stream"] = stream
    logging.config.dictConfig(configured)
    yield stream
    logging.config.dictConfig(logging_config("INFO"))


def test_opening_a_link_and_failing_to_logs_no_token(log: io.StringIO, link: Link, client: Client) -> None:
    made = link(password="open sesame")
    for token in (made.token, tokens.new_token()):
        for send in (client.get, client.post):
            send(f"/s/{token}", {"password": "wrong sesame"})
    assert "psl_" not in log.getvalue()
    assert "sesame" not in log.getvalue()
    assert any(json.loads(line)["message"] == "request" for line in log.getvalue().splitlines())


def test_an_error_of_ours_tells_no_token(
    log: io.StringIO, link: Link, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = link().token

    def broken(given: str, person: object) -> None:
        raise RuntimeError(f"cannot look up {given}")

    monkeypatch.setattr(access, "landing", broken)
    client.raise_request_exception = False
    answer = client.get(f"/s/{token}", headers={"Referer": f"https://example.com/{token}"})
    assert answer.status_code == 500
    assert str(token) not in answer.content.decode()
    assert str(token) not in log.getvalue()
    assert "cannot look up psl_..." in log.getvalue()


def test_a_token_that_somebody_logs_is_blanked(log: io.StringIO) -> None:
    token, key = tokens.new_token(), "ppk_" + "k" * 43
    logging.getLogger("anybody").warning("saw %s and %s", token, key, extra={"url": f"/s/{token}"})
    assert token not in log.getvalue()
    assert key not in log.getvalue()


@pytest.mark.parametrize("path", ["/s/{token}", "/s/open/{link}/"])
def test_pages_of_a_link_send_no_referrer_and_are_kept_nowhere(link: Link, client: Client, path: str) -> None:
    made = link()
    answer = client.get(path.format(token=made.token, link=made.link.pk))
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["X-Robots-Tag"] == "noindex, nofollow"
    assert answer["Cache-Control"] == "private, no-store"
