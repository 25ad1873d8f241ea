"""Objects are fetched over kept connections: each reader gets its own bytes, whole, whatever happens on the way."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import urllib3
from botocore.config import Config
from django.conf import settings
from pytest_django import Settings

from core.errors import StorageUnavailable
from playground.bodies import objects
from playground.bodies.fetching import Fetcher
from tests.playground.store_front import Front
from tests.playground.uploading import noise

KEY = "fetching/one"
DATA = noise(300_000)
#: Each a key of its own, with bytes of its own.
MANY = {f"fetching/many-{number}": noise(20_000 + number, seed=number) for number in range(24)}


@pytest.fixture(autouse=True)
def stored() -> Iterator[None]:
    objects.put(KEY, DATA)
    yield
    for key in [KEY, *MANY]:
        objects.delete(key)


QUICK = urllib3.Timeout(connect=2, read=5)


def fetcher(
    endpoint_url: str | None = None,
    *,
    secret: str | None = None,
    bucket: str | None = None,
    timeout: urllib3.Timeout = QUICK,
) -> Fetcher:
    session = boto3.Session(
        aws_access_key_id=settings.S3_ACCESS_KEY_ID,
        aws_secret_access_key=secret or settings.S3_SECRET_ACCESS_KEY,
        region_name=settings.S3_REGION,
    )
    config = Config(s3={"addressing_style": "path"})
    client = session.client("s3", endpoint_url=endpoint_url or settings.S3_ENDPOINT_URL, config=config)
    credentials = session.get_credentials()
    assert credentials is not None
    return Fetcher(client, bucket=bucket or settings.S3_BUCKET, credentials=credentials, timeout=timeout)


def test_an_object_comes_back_whole_in_one_request(front: Front) -> None:
    assert fetcher(front.url).fetch(KEY) == DATA
    assert len(front.asked) == 1


def test_a_connection_is_kept_for_the_next_object(front: Front) -> None:
    one = fetcher(front.url)
    for _ in range(5):
        assert one.fetch(KEY) == DATA
    assert len(front._open) == 2


@pytest.mark.parametrize("key", ["fetching/ä", "fetching/a b+c", "fetching/100%25", "fetching/~!$&'()*,;=:@[]"])
def test_any_key_is_addressed_as_it_was_stored(key: str) -> None:
    objects.put(key, key.encode())
    assert fetcher().fetch(key) == key.encode()
    objects.delete(key)


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_any_size_comes_back(size: int) -> None:
    objects.put(KEY, noise(size) if size else b"")
    assert fetcher().fetch(KEY) == (noise(size) if size else b"")


def test_an_answer_cut_in_the_middle_is_never_taken_for_the_object(front: Front) -> None:
    front.cut_after = 100_000
    assert fetcher(front.url).fetch(KEY) is None


def test_a_store_that_cuts_every_answer_is_a_clear_error(through: Front) -> None:
    through.cut_after = 100_000
    with pytest.raises(StorageUnavailable):
        objects.get(KEY)
    through.cut_after = None
    assert objects.get(KEY) == DATA


def test_connections_that_the_store_closed_in_between_harm_nobody(through: Front) -> None:
    for _ in range(3):
        assert objects.get(KEY) == DATA
        through.hang_up()


def test_a_store_that_accepts_and_says_nothing_is_given_up(front: Front) -> None:
    front.silent = True
    with pytest.raises(TimeoutError):
        fetcher(front.url, timeout=urllib3.Timeout(connect=2, read=0.5)).fetch(KEY)


def test_a_store_that_says_nothing_is_asked_once_for_an_object(impatient: Front) -> None:
    impatient.silent = True
    with pytest.raises(StorageUnavailable):
        objects.get(KEY)
    assert len(impatient.asked) == 1


def test_a_store_that_says_nothing_is_asked_twice_to_keep_one(impatient: Front) -> None:
    impatient.silent = True
    with pytest.raises(StorageUnavailable):
        objects.put("fetching/kept", DATA)
    assert len([asked for asked in impatient.asked if asked.startswith(b"PUT")]) == 2


def test_every_wait_for_the_store_has_an_end() -> None:
    assert (objects.CONNECT_S, objects.SILENT_S) == (2, 5)
    objects.get(KEY)
    kept = objects._fetcher(objects._quick_client(), settings.S3_BUCKET)
    timeout = kept._connections.connection_from_url(str(settings.S3_ENDPOINT_URL)).timeout
    assert (timeout.connect_timeout, timeout.read_timeout) == (objects.CONNECT_S, objects.SILENT_S)
    for s3, silent_s in ((objects._quick_client(), 5), (objects.client(), 20)):
        config: Any = s3.meta.config
        assert (config.connect_timeout, config.read_timeout) == (objects.CONNECT_S, silent_s)
        assert config.retries["total_max_attempts"] == 2


def test_an_object_that_is_not_there_is_missing_and_not_a_store_that_is_down() -> None:
    with pytest.raises(objects.ObjectMissing):
        objects.get("fetching/absent")


def test_a_bucket_that_is_not_there_is_no_missing_object(settings: Settings) -> None:
    settings.S3_BUCKET = "no-such-bucket"
    with pytest.raises(StorageUnavailable):
        objects.get(KEY)


def test_refused_credentials_are_no_missing_object(settings: Settings) -> None:
    settings.S3_SECRET_ACCESS_KEY = "wrong"
    objects.forget_connections()
    with pytest.raises(StorageUnavailable):
        objects.get(KEY)
    objects.forget_connections()


def test_nothing_that_is_refused_is_taken_for_an_object() -> None:
    assert fetcher(secret="wrong").fetch(KEY) is None
    assert fetcher(bucket="no-such-bucket").fetch(KEY) is None
    assert fetcher().fetch("fetching/absent") is None


def test_not_even_the_debug_log_holds_what_would_open_an_object(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        objects.get(KEY)
        with pytest.raises(objects.ObjectMissing):
            objects.get("fetching/absent")
    assert KEY in caplog.text
    for word in ("Signature", "Credential=", "Authorization", str(settings.S3_SECRET_ACCESS_KEY)):
        assert word not in caplog.text


def test_the_proxy_of_the_environment_is_used(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", front.url.replace("http://", "http://reader:word%40@"))
    monkeypatch.setenv("no_proxy", "")
    assert fetcher().fetch(KEY) == DATA
    (asked,) = front.asked
    assert asked.startswith(f"GET {settings.S3_ENDPOINT_URL}/".encode())


def test_the_proxy_is_not_asked_for_hosts_that_are_excepted(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", front.url)
    monkeypatch.setenv("no_proxy", str(urlsplit(str(settings.S3_ENDPOINT_URL)).hostname))
    assert fetcher().fetch(KEY) == DATA
    assert front.asked == []


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_the_authorities_that_the_environment_names_are_trusted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fetcher()._connections.connection_pool_kw
    assert before["cert_reqs"] == "CERT_REQUIRED"
    assert Path(before["ca_certs"]).is_file()
    for each in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "/etc/ours.pem")
    assert fetcher()._connections.connection_pool_kw["ca_certs"] == "/etc/ours.pem"


def test_many_threads_of_a_fresh_process_each_get_their_own_object() -> None:
    for key, data in MANY.items():
        objects.put(key, data)
    objects.forget_connections()
    barrier = threading.Barrier(16)

    def read(number: int) -> None:
        barrier.wait(30)
        for key in list(MANY)[number:] + list(MANY)[:number]:
            assert objects.get(key) == MANY[key]

    with ThreadPoolExecutor(max_workers=16) as pool:
        list(pool.map(read, range(16)))


def test_a_process_and_its_fork_do_not_read_each_others_answers() -> None:
    for key, data in MANY.items():
        objects.put(key, data)
    assert objects.get(KEY) == DATA  # a kept connection, which both have now
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        right = all(objects.get(key) == MANY[key] for _ in range(5) for key in list(MANY)[:12])
        os._exit(0 if right else 1)
    for _ in range(5):
        for key in list(MANY)[12:]:
            assert objects.get(key) == MANY[key]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
