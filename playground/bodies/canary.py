"""Whether a bucket keeps the promises that sharing and uploads rest on, asked of the bucket itself.

Compatible stores exist that accept an expired address or a body that does not match its signed hash. With one of
those, a revoked reader reads on and a text is not what its hash says, and no other test would notice. So the bucket
is tried at every start, with objects of its own that are deleted afterwards. Knows nothing of Django.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
import httpx2
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

BODY = b"canary"
OTHER_BODY = b"not it"  # of the same length: only the hash tells them apart
TIMEOUT_S = 10
SHORT_S = 1
#: The signed time has whole seconds, so an address for one second may live for two.
EXPIRED_AFTER_S = 2.1
UPLOAD_HEADERS = "content-type,if-none-match,x-amz-checksum-sha256"


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Where the bucket is. `public_endpoint_url` is what browsers use; None stands for AWS in both."""

    endpoint_url: str | None
    public_endpoint_url: str | None
    access_key_id: str
    secret_access_key: str
    name: str
    region: str
    #: The site whose pages use the bucket: scheme, host and port.
    origin: str


class BucketRefused(Exception):
    """The bucket must not be used. One problem a line, each with what to change."""


def check(bucket: Bucket) -> None:
    """Try everything. Takes about two seconds; raises BucketRefused."""
    key = f"canary/{secrets.token_hex(8)}"
    s3 = _client(bucket, bucket.endpoint_url)
    try:
        s3.put_object(Bucket=bucket.name, Key=key, Body=BODY)
    except (BotoCoreError, ClientError) as error:
        raise BucketRefused(
            f"The bucket {bucket.name} cannot be written: {error}. Check S3_ENDPOINT_URL, S3_BUCKET, S3_REGION and "
            "the keys, and that the bucket exists."
        ) from error
    try:
        problems = list(_problems(bucket, s3, key))
    except httpx2.HTTPError as error:
        where = bucket.public_endpoint_url or "S3"
        raise BucketRefused(
            f"{where} does not answer ({error}). Set S3_PUBLIC_ENDPOINT_URL to the address of the bucket's server "
            "that browsers reach; this machine must reach it too."
        ) from error
    finally:
        _clean(s3, bucket, key)
    if problems:
        raise BucketRefused("\n".join(problems))


def _problems(bucket: Bucket, s3: S3Client, key: str) -> Iterator[str]:
    signer = _client(bucket, bucket.public_endpoint_url)
    short = _signed_get(signer, bucket, key, SHORT_S)
    signed_at = time.monotonic()
    with httpx2.Client(timeout=TIMEOUT_S) as http:
        yield from _fresh_address_works(http, _signed_get(signer, bucket, key, 60))
        yield from _wrong_body_is_refused(http, signer, bucket, f"{key}-upload")
        yield from _wrong_part_is_refused(http, s3, signer, bucket, f"{key}-upload")
        yield from _browsers_may_upload(http, signer, bucket, f"{key}-upload")
        time.sleep(max(0.0, signed_at + EXPIRED_AFTER_S - time.monotonic()))
        yield from _expired_address_is_refused(http, short)


def _fresh_address_works(http: httpx2.Client, url: str) -> Iterator[str]:
    answer = http.get(url)
    if answer.status_code != 200 or answer.content != BODY:
        yield (
            f"A signed address that is still valid answers {answer.status_code}. Check that S3_PUBLIC_ENDPOINT_URL "
            f"leads to the same bucket, that a proxy passes the Host header on unchanged, and the clock of this "
            f"machine{_skew(answer)}."
        )


def _wrong_body_is_refused(http: httpx2.Client, signer: S3Client, bucket: Bucket, key: str) -> Iterator[str]:
    url, headers = _signed_put(signer, bucket, key)
    answer = http.put(url, headers=headers, content=OTHER_BODY)
    if answer.is_success:
        yield (
            f"An upload whose bytes do not match the signed x-amz-checksum-sha256 was accepted ({answer.status_code}). "
            "Texts could be swapped during upload. Use a store that checks it (AWS S3, SeaweedFS 4, recent MinIO), "
            "or remove a proxy that drops the header."
        )


def _wrong_part_is_refused(
    http: httpx2.Client, s3: S3Client, signer: S3Client, bucket: Bucket, key: str
) -> Iterator[str]:
    """Large texts are sent in parts, each bound to its hash as a whole object is."""
    try:
        begun = s3.create_multipart_upload(Bucket=bucket.name, Key=key, ChecksumAlgorithm="SHA256")["UploadId"]
    except (BotoCoreError, ClientError) as error:
        yield f"The bucket takes no multipart uploads with SHA-256 ({error}). Large texts need a store that does."
        return
    try:
        part = {"Bucket": bucket.name, "Key": key, "UploadId": begun, "PartNumber": 1, "ContentLength": len(BODY)}
        signed = {**part, "ChecksumSHA256": _digest()}
        url = signer.generate_presigned_url("upload_part", Params=signed, ExpiresIn=60)
        headers = {"x-amz-checksum-sha256": _digest()}
        if http.put(url, headers=headers, content=OTHER_BODY).is_success:
            yield (
                "A part of an upload whose bytes do not match the signed x-amz-checksum-sha256 was accepted. Use a "
                "store that checks it, or remove a proxy that drops the header."
            )
        right = http.put(url, headers=headers, content=BODY)
        if not right.is_success:
            yield f"A part of an upload is refused ({right.status_code}) though it is as announced: large texts fail."
    finally:
        s3.abort_multipart_upload(Bucket=bucket.name, Key=key, UploadId=begun)


def _browsers_may_upload(http: httpx2.Client, signer: S3Client, bucket: Bucket, key: str) -> Iterator[str]:
    url, _ = _signed_put(signer, bucket, key)
    ask = {
        "Origin": bucket.origin,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": UPLOAD_HEADERS,
    }
    answer = http.options(url, headers=ask)
    if not answer.is_success or answer.headers.get("access-control-allow-origin") not in (bucket.origin, "*"):
        yield (
            f"The bucket does not allow {bucket.origin} to upload from a browser (CORS preflight: "
            f"{answer.status_code}). Set a CORS rule on {bucket.name}: origin {bucket.origin} (PUBLIC_URL), methods "
            f"GET, HEAD, PUT, headers {UPLOAD_HEADERS},range, exposed ETag, Content-Range, Accept-Ranges."
        )


def _expired_address_is_refused(http: httpx2.Client, url: str) -> Iterator[str]:
    answer = http.get(url)
    if answer.is_success:
        yield (
            f"A signed address still works after it expired ({answer.status_code}){_skew(answer)}. Revoking access "
            "would not take effect. Use a store that enforces X-Amz-Expires, and set the clocks of both machines by "
            "NTP."
        )


def _signed_get(signer: S3Client, bucket: Bucket, key: str, seconds: int) -> str:
    return signer.generate_presigned_url("get_object", Params={"Bucket": bucket.name, "Key": key}, ExpiresIn=seconds)


def _signed_put(signer: S3Client, bucket: Bucket, key: str) -> tuple[str, dict[str, str]]:
    digest = _digest()
    parameters = {
        "Bucket": bucket.name,
        "Key": key,
        "ContentLength": len(BODY),
        "ContentType": "text/plain",
        "ChecksumSHA256": digest,
    }
    url = signer.generate_presigned_url("put_object", Params=parameters, ExpiresIn=60)
    return url, {"content-type": "text/plain", "x-amz-checksum-sha256": digest}


def _digest() -> str:
    return base64.b64encode(hashlib.sha256(BODY).digest()).decode()


def _client(bucket: Bucket, endpoint_url: str | None) -> S3Client:
    return boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        aws_access_key_id=bucket.access_key_id,
        aws_secret_access_key=bucket.secret_access_key,
        region_name=bucket.region,
        config=Config(
            signature_version="s3v4",
            connect_timeout=3,
            read_timeout=TIMEOUT_S,
            retries={"max_attempts": 2, "mode": "standard"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path"},
        ),
    )


def _clean(s3: S3Client, bucket: Bucket, key: str) -> None:
    for each in (key, f"{key}-upload"):
        try:
            s3.delete_object(Bucket=bucket.name, Key=each)
        except (BotoCoreError, ClientError):
            continue  # six bytes stay behind; the verdict matters more


def _skew(answer: httpx2.Response) -> str:
    """By how much the store's clock differs from ours, when it says so and it matters."""
    try:
        theirs = parsedate_to_datetime(answer.headers["date"])
    except (KeyError, ValueError):
        return ""
    behind_s = (datetime.now(UTC) - theirs).total_seconds()
    return f" (the store's clock is {behind_s:+.0f} s behind ours)" if abs(behind_s) >= 2 else ""


def origin_of(public_url: str) -> str:
    """What browsers send as Origin from the pages at `public_url`."""
    parts = urlsplit(public_url)
    return f"{parts.scheme}://{parts.netloc}"
