"""The start-up canary: a bucket that breaks a promise is refused, with what to change."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from playground.bodies.canary import Bucket, BucketRefused, check
from tests.embedded.lax_store import CORS, EXPIRY, HASHES, MULTIPART, PARTS, lax_store

ORIGIN = "http://127.0.0.1:8000"


def bucket_at(url: str) -> Bucket:
    return Bucket(
        endpoint_url=url,
        public_endpoint_url=url,
        access_key_id="AKID",
        secret_access_key="secret",
        name="prompts",
        region="us-east-1",
        origin=ORIGIN,
    )


@pytest.fixture
def seaweedfs() -> Bucket:
    """The bucket of this test run; its CORS rule is for the PUBLIC_URL that the run was started with."""
    return Bucket(
        endpoint_url=os.environ["S3_ENDPOINT_URL"],
        public_endpoint_url=os.environ["S3_PUBLIC_ENDPOINT_URL"],
        access_key_id=os.environ["S3_ACCESS_KEY_ID"],
        secret_access_key=os.environ["S3_SECRET_ACCESS_KEY"],
        name="playground",
        region=os.environ["S3_REGION"],
        origin=os.environ["PUBLIC_URL"],
    )


def test_seaweedfs_passes(seaweedfs: Bucket) -> None:
    check(seaweedfs)


def test_seaweedfs_refuses_uploads_from_pages_of_another_site(seaweedfs: Bucket) -> None:
    with pytest.raises(BucketRefused, match=r"(?s)https://evil\.example\.com.*CORS rule"):
        check(replace(seaweedfs, origin="https://evil.example.com"))


def test_a_store_that_keeps_every_promise_passes() -> None:
    with lax_store() as store:
        check(bucket_at(store.url))
        assert store.objects == {}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (EXPIRY, "still works after it expired"),
        (HASHES, "An upload whose bytes do not match the signed x-amz-checksum-sha256"),
        (PARTS, "A part of an upload whose bytes do not match the signed x-amz-checksum-sha256"),
        (MULTIPART, "takes no multipart uploads"),
        (CORS, "PUBLIC_URL"),
    ],
)
def test_a_store_that_breaks_a_promise_is_refused_and_cleaned_up(broken: str, said: str) -> None:
    with lax_store(broken) as store:
        with pytest.raises(BucketRefused) as refused:
            check(bucket_at(store.url))
        assert said in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1
        assert store.objects == {}


def test_every_broken_promise_is_told_at_once() -> None:
    with lax_store(EXPIRY, HASHES, CORS) as store, pytest.raises(BucketRefused) as refused:
        check(bucket_at(store.url))
    assert len(str(refused.value).splitlines()) == 3


def test_a_server_that_does_not_answer_is_named_with_its_setting() -> None:
    with pytest.raises(BucketRefused, match="S3_ENDPOINT_URL"):
        check(bucket_at("http://127.0.0.1:1"))


def test_wrong_keys_are_told_apart_from_a_lax_store(seaweedfs: Bucket) -> None:
    with pytest.raises(BucketRefused, match="keys"):
        check(replace(seaweedfs, secret_access_key="wrong"))


def test_a_public_address_that_nobody_answers_is_named(seaweedfs: Bucket) -> None:
    with pytest.raises(BucketRefused, match="S3_PUBLIC_ENDPOINT_URL"):
        check(replace(seaweedfs, public_endpoint_url="http://127.0.0.1:1"))
