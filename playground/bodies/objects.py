"""Objects in S3, by key. The one place that knows boto3; every failure is a StorageUnavailable or ObjectMissing."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings

from core.errors import StorageUnavailable

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


class ObjectMissing(Exception):
    """There is no object under this key."""


@functools.cache
def client() -> S3Client:
    """The S3 client of this process. boto3 clients may be used by many threads.

    `when_required`: newer defaults add a CRC32 that compatible stores disagree on and that would be baked into
    presigned URLs.
    """
    return boto3.client(
        "s3",
        endpoint_url=settings.S3_ENDPOINT_URL,
        aws_access_key_id=settings.S3_ACCESS_KEY_ID,
        aws_secret_access_key=settings.S3_SECRET_ACCESS_KEY,
        region_name=settings.S3_REGION,
        config=Config(
            connect_timeout=3,
            read_timeout=20,
            retries={"max_attempts": 2, "mode": "standard"},
            max_pool_connections=32,
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path"},
        ),
    )


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in ("NoSuchKey", "404"):
            raise ObjectMissing from error
        raise StorageUnavailable from error
    except BotoCoreError as error:
        raise StorageUnavailable from error


def put(key: str, data: bytes) -> None:
    """Store `data` under `key`. Raises StorageUnavailable."""
    with _translated():
        client().put_object(Bucket=settings.S3_BUCKET, Key=key, Body=data, ContentType="application/octet-stream")


def get(key: str) -> bytes:
    """The bytes under `key`. Raises ObjectMissing, StorageUnavailable."""
    with _translated():
        return client().get_object(Bucket=settings.S3_BUCKET, Key=key)["Body"].read()


def delete(key: str) -> None:
    """Remove the object under `key`; an absent one is no error. Raises StorageUnavailable."""
    with _translated():
        client().delete_object(Bucket=settings.S3_BUCKET, Key=key)
