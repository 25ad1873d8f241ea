"""Objects in S3, by key. Every failure is a StorageUnavailable or ObjectMissing.

boto3 is known here, in `parts` and in `fetching` only.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from django.conf import settings
from urllib3 import Timeout

from core.errors import StorageUnavailable
from playground.bodies.fetching import Fetcher

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


_CONTENT_TYPE = "application/octet-stream"


class ObjectMissing(Exception):
    """There is no object under this key, or nothing that is being sent to it in parts."""


CONNECT_S = 2
#: How long the store may be silent over something small, twice: somebody waits for the answer.
SILENT_S = 5.0
#: The same over something that it may have to work on: a large object, parts to join, a list.
PATIENT_SILENT_S = 20.0
#: What is larger goes through the client, whose rules cost nothing beside it.
SMALL_BYTES = 256 * 1024
#: What is larger is stored patiently.
LARGE_BYTES = 4 * 1024 * 1024


@functools.cache
def client() -> S3Client:
    """The S3 client of this process. boto3 clients may be used by many threads."""
    return _connect(settings.S3_ENDPOINT_URL, silent_s=PATIENT_SILENT_S)


@functools.cache
def _quick_client() -> S3Client:
    """The one for what a store answers at once or not at all."""
    return _connect(settings.S3_ENDPOINT_URL, silent_s=SILENT_S)


@functools.cache
def signer() -> S3Client:
    """A client that only signs addresses, for the endpoint that browsers use; it never connects."""
    return _connect(settings.S3_PUBLIC_ENDPOINT_URL, silent_s=SILENT_S)


def forget_connections() -> None:
    """Connect anew at the next call: the settings changed, or this is a forked process."""
    for kept in (client, _quick_client, _fetcher):
        kept.cache_clear()


def _connect(endpoint_url: str | None, *, silent_s: float) -> S3Client:
    """Each call is tried twice.

    `when_required`: newer defaults add a CRC32 that compatible stores disagree on and that would be baked into
    presigned URLs.
    """
    return _session().client(
        "s3",
        endpoint_url=endpoint_url,
        config=Config(
            signature_version="s3v4",
            connect_timeout=CONNECT_S,
            read_timeout=silent_s,
            retries={"total_max_attempts": 2, "mode": "standard"},
            max_pool_connections=32,
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path"},
        ),
    )


def _session() -> boto3.Session:
    """A new one each time: threads that share one may not make clients at once, as the first reads of a process do."""
    return boto3.Session(
        aws_access_key_id=settings.S3_ACCESS_KEY_ID,
        aws_secret_access_key=settings.S3_SECRET_ACCESS_KEY,
        region_name=settings.S3_REGION,
    )


@functools.lru_cache(maxsize=1)
def _fetcher(s3: S3Client, bucket: str) -> Fetcher:
    credentials = _session().get_credentials()
    if credentials is None:
        raise NoCredentialsError
    timeout = Timeout(connect=CONNECT_S, read=SILENT_S)
    return Fetcher(s3, bucket=bucket, credentials=credentials, timeout=timeout)


#: A forked process would read the answers of its parent's connections.
os.register_at_fork(after_in_child=forget_connections)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """What boto3 raises inside comes out as ObjectMissing or StorageUnavailable."""
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in ("NoSuchKey", "NoSuchUpload", "404"):
            raise ObjectMissing from error
        raise StorageUnavailable from error
    except (BotoCoreError, OSError) as error:  # OSError: a connection cut while a body is read
        raise StorageUnavailable from error


def put(key: str, data: bytes) -> None:
    """Store `data` under `key`. Raises StorageUnavailable."""
    with translated():
        s3 = client() if len(data) > LARGE_BYTES else _quick_client()
        if len(data) <= SMALL_BYTES and _fetcher(s3, settings.S3_BUCKET).store(key, data, content_type=_CONTENT_TYPE):
            return
        s3.put_object(Bucket=settings.S3_BUCKET, Key=key, Body=data, ContentType=_CONTENT_TYPE)


def put_file(key: str, file: IO[bytes]) -> None:
    """Store what is in `file` from where it is, without reading it into memory. Raises StorageUnavailable."""
    with translated():
        client().put_object(Bucket=settings.S3_BUCKET, Key=key, Body=file, ContentType=_CONTENT_TYPE)


def get(key: str) -> bytes:
    """The bytes under `key`. Raises ObjectMissing, StorageUnavailable."""
    with translated():
        s3 = _quick_client()
        data = _fetcher(s3, settings.S3_BUCKET).fetch(key)
        return s3.get_object(Bucket=settings.S3_BUCKET, Key=key)["Body"].read() if data is None else data


def delete(key: str) -> None:
    """Remove the object under `key`; an absent one is no error. Raises StorageUnavailable."""
    with translated():
        _quick_client().delete_object(Bucket=settings.S3_BUCKET, Key=key)


@dataclass(frozen=True, kw_only=True)
class SignedPut:
    """An address that takes one exact object for a while, and the headers that have to be sent with the bytes."""

    url: str
    headers: Mapping[str, str]


def sign_put(key: str, *, size: int, sha256: bytes, seconds: int) -> SignedPut:
    """Let whoever holds the answer store `size` bytes with this SHA-256 under `key`, and nothing else. No network."""
    checksum = base64.b64encode(sha256).decode("ascii")
    parameters = {
        "Bucket": settings.S3_BUCKET,
        "Key": key,
        "ContentLength": size,
        "ContentType": _CONTENT_TYPE,
        "ChecksumSHA256": checksum,
    }
    url = signer().generate_presigned_url("put_object", Params=parameters, ExpiresIn=seconds)
    return SignedPut(url=url, headers={"content-type": _CONTENT_TYPE, "x-amz-checksum-sha256": checksum})


def sign_get(key: str, *, seconds: int, name: str) -> str:
    """An address at which whoever has it may read the object for so many seconds, as a file called `name`. No network.

    The store is told to send it as plain text that nobody keeps or draws.
    """
    parameters = {
        "Bucket": settings.S3_BUCKET,
        "Key": key,
        "ResponseCacheControl": "private, no-store",
        "ResponseContentDisposition": f'attachment; filename="{name}"',
        "ResponseContentType": "text/plain; charset=utf-8",
    }
    return signer().generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds)


def modified_at(key: str) -> dt.datetime:
    """When the object under `key` was written. Raises ObjectMissing, StorageUnavailable."""
    with translated():
        return _quick_client().head_object(Bucket=settings.S3_BUCKET, Key=key)["LastModified"]


def length(key: str) -> int:
    """The size of the object under `key` in bytes. Raises ObjectMissing, StorageUnavailable."""
    with translated():
        return _quick_client().head_object(Bucket=settings.S3_BUCKET, Key=key)["ContentLength"]


def chunks(key: str, *, size: int = 1024 * 1024) -> Iterator[bytes]:
    """The bytes under `key`, piece by piece. Raises ObjectMissing, StorageUnavailable."""
    with translated():
        body = client().get_object(Bucket=settings.S3_BUCKET, Key=key)["Body"]
        try:
            while piece := body.read(size):
                yield piece
        finally:
            body.close()


@dataclass(frozen=True, kw_only=True)
class Listed:
    key: str
    modified_at: dt.datetime


def page(prefix: str, *, after: str, limit: int = 1000) -> Sequence[Listed]:
    """Up to `limit` objects whose keys start with `prefix` and sort behind `after`, in order.

    Raises StorageUnavailable.
    """
    with translated():
        found = client().list_objects_v2(Bucket=settings.S3_BUCKET, Prefix=prefix, StartAfter=after, MaxKeys=limit)
    return [Listed(key=each["Key"], modified_at=each["LastModified"]) for each in found.get("Contents", [])]
