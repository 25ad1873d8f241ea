"""Objects that arrive in parts (S3's multipart upload): a cut costs the part that was on its way, not the whole.

Each part is bound to its length and SHA-256 by its address; what the parts make together is checked by who reads it.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError
from django.conf import settings

from core.errors import StorageUnavailable
from playground.bodies.objects import ObjectMissing, SignedPut, client, signer, translated

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import CompletedPartTypeDef

#: Of each part but the last. S3 takes no less than 5 MiB; the pages of this site cut at the same length (`sizes.js`).
PART_BYTES = 8 * 1024 * 1024
HASH_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Part:
    """A stretch of an object: `size` bytes from `offset`. Numbers count from 1."""

    number: int
    offset: int
    size: int
    sha256: bytes


def count(size: int) -> int:
    """How many parts `size` bytes have."""
    return -(-size // PART_BYTES)


def cut(size: int, hashes: bytes) -> Sequence[Part]:
    """The parts of an object of `size` bytes; `hashes` holds the SHA-256 of each, one behind the other."""
    return [
        Part(
            number=index + 1,
            offset=index * PART_BYTES,
            size=min(PART_BYTES, size - index * PART_BYTES),
            sha256=hashes[index * HASH_BYTES : (index + 1) * HASH_BYTES],
        )
        for index in range(count(size))
    ]


def begin(key: str) -> str:
    """Let the store await parts for `key`, and answer its name for that. Raises StorageUnavailable.

    AWS takes a part with a SHA-256 only if that was said here.
    """
    with translated():
        answer = client().create_multipart_upload(Bucket=settings.S3_BUCKET, Key=key, ChecksumAlgorithm="SHA256")
    return answer["UploadId"]


def sign(key: str, multipart_id: str, part: Part, *, seconds: int) -> SignedPut:
    """Let whoever holds the answer send this one part, and nothing else. No network."""
    checksum = _checksum(part)
    parameters = {
        "Bucket": settings.S3_BUCKET,
        "Key": key,
        "UploadId": multipart_id,
        "PartNumber": part.number,
        "ContentLength": part.size,
        "ChecksumSHA256": checksum,
    }
    url = signer().generate_presigned_url("upload_part", Params=parameters, ExpiresIn=seconds)
    return SignedPut(url=url, headers={"x-amz-checksum-sha256": checksum})


@dataclass(frozen=True, kw_only=True)
class Received:
    size: int
    etag: str


def received(key: str, multipart_id: str) -> Mapping[int, Received]:
    """What has arrived, by number of part. Raises ObjectMissing (joined or aborted), StorageUnavailable."""
    with translated():
        answer = client().list_parts(Bucket=settings.S3_BUCKET, Key=key, UploadId=multipart_id)
    found = answer.get("Parts", [])
    return {each["PartNumber"]: Received(size=each["Size"], etag=each["ETag"]) for each in found}


def join(key: str, multipart_id: str, parts: Sequence[Part]) -> bool:
    """Make one object of the parts; False if some have not arrived, or are not what they should be: then all go.

    Raises ObjectMissing (joined or aborted before), StorageUnavailable.
    """
    there = received(key, multipart_id)
    if any(part.number not in there or there[part.number].size != part.size for part in parts):
        return False
    # The hashes are ours: not every store lists them, and each wants them back.
    named: list[CompletedPartTypeDef] = [
        {"PartNumber": part.number, "ETag": there[part.number].etag, "ChecksumSHA256": _checksum(part)}
        for part in parts
    ]
    try:
        with translated():
            client().complete_multipart_upload(
                Bucket=settings.S3_BUCKET, Key=key, UploadId=multipart_id, MultipartUpload={"Parts": named}
            )
    except StorageUnavailable as error:
        if not _is_refusal(error.__cause__):
            raise
        abort(key, multipart_id)  # or it would be refused again each time
        return False
    return True


def _is_refusal(error: BaseException | None) -> bool:
    """Whether the store understood and will never do it, as against one that is down."""
    return isinstance(error, ClientError) and error.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def abort(key: str, multipart_id: str) -> None:
    """Remove the parts that arrived and await no more; what is over is no error. Raises StorageUnavailable."""
    try:
        with translated():
            client().abort_multipart_upload(Bucket=settings.S3_BUCKET, Key=key, UploadId=multipart_id)
    except ObjectMissing:
        return


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    key: str
    multipart_id: str
    begun_at: dt.datetime


def unfinished(prefix: str) -> Iterator[Unfinished]:
    """What is being sent in parts to keys that start with `prefix`. Raises StorageUnavailable."""
    with translated():
        pages = client().get_paginator("list_multipart_uploads")
        for page in pages.paginate(Bucket=settings.S3_BUCKET, Prefix=prefix):
            for each in page.get("Uploads", []):
                yield Unfinished(key=each["Key"], multipart_id=each["UploadId"], begun_at=each["Initiated"])


def _checksum(part: Part) -> str:
    return base64.b64encode(part.sha256).decode("ascii")
