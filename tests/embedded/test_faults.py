"""Kills, of one service and of the supervisor; and an orderly stop."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import boto3
import httpx2
import psutil
import psycopg
import pytest
import redis
from botocore.exceptions import BotoCoreError, ClientError

from embedded.ports import free_port
from tests.embedded.conftest import StartAlone, is_stopped
from tests.processes import is_alive
from tests.services_plugin import Instance
from tests.waiting import wait_until

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

STORES = ("--only", "postgres,valkey,seaweedfs")
#: Some 5 s on a quiet machine. That none had to be killed says more than the clock does.
STOP_WITHIN_S = 45

pytestmark = pytest.mark.faults


def family(instance: Instance) -> list[psutil.Process]:
    supervisor = psutil.Process(instance.supervisor_pid)
    return [supervisor, *supervisor.children(recursive=True)]


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [each for each in processes if is_alive(each)]


def write_everywhere(environment: dict[str, str]) -> None:
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('row')")
    with redis.Redis.from_url(environment["REDIS_URL"]) as client:
        client.set("kept", "value")
    time.sleep(1.1)  # what Valkey may lose at most
    for number in range(20):
        bucket(environment).put_object(Bucket=environment["S3_BUCKET"], Key=f"kept-{number}", Body=b"object" * number)


def assert_everything_is_there(environment: dict[str, str]) -> None:
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT word FROM kept").fetchall() == [("row",)]
    with redis.Redis.from_url(environment["REDIS_URL"]) as client:
        assert client.get("kept") == b"value"
    for number in range(20):
        found = bucket(environment).get_object(Bucket=environment["S3_BUCKET"], Key=f"kept-{number}")
        assert found["Body"].read() == b"object" * number


def bucket(environment: dict[str, str]) -> S3Client:
    return boto3.client(
        "s3",
        endpoint_url=environment["S3_ENDPOINT_URL"],
        aws_access_key_id=environment["S3_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["S3_SECRET_ACCESS_KEY"],
        region_name=environment["S3_REGION"],
    )


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("service", ["postgres", "valkey", "seaweedfs"])
def test_a_killed_store_is_started_again_with_its_data(start_alone: StartAlone, service: str) -> None:
    instance = start_alone(*STORES)
    write_everywhere(instance.environment)
    before = instance.pid(service)
    kill(before)
    wait_until(lambda: instance.pid(service) != before)

    def works() -> bool:
        try:
            assert_everything_is_there(instance.environment)
        except (psycopg.OperationalError, redis.ConnectionError, BotoCoreError, ClientError):
            return False
        return True

    wait_until(works)


def test_after_a_kill_of_the_supervisor_the_next_start_finds_no_orphan_and_all_data(start_alone: StartAlone) -> None:
    instance = start_alone(*STORES)
    write_everywhere(instance.environment)
    before = family(instance)
    addresses = instance.environment
    kill(instance.supervisor_pid)
    again = start_alone(*STORES)
    assert alive(before) == []
    assert again.environment == addresses
    assert_everything_is_there(again.environment)


def test_the_same_after_a_kill_of_everything_at_once(start_alone: StartAlone) -> None:
    instance = start_alone(*STORES)
    write_everywhere(instance.environment)
    before = family(instance)
    for process in before:
        # Who dies first takes its children along, so that a later one may be gone before its turn.
        with suppress(psutil.NoSuchProcess):
            process.kill()
    again = start_alone(*STORES)
    assert alive(before) == []
    assert_everything_is_there(again.environment)


def test_without_supervisord_nothing_runs_on(start_alone: StartAlone) -> None:
    instance = start_alone(*STORES)
    before = family(instance)
    kill(instance.pid("supervisord"))
    wait_until(lambda: alive(before) == [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_whole_application_stops_in_time_and_leaves_no_process(
    start_alone: StartAlone, number: signal.Signals
) -> None:
    instance = start_alone("--port", str(free_port()))
    before = family(instance)
    began = time.monotonic()
    os.kill(instance.supervisor_pid, number)
    wait_until(lambda: is_stopped(instance))
    assert time.monotonic() - began < STOP_WITHIN_S
    assert alive(before) == []
    assert not re.search("killing '(postgres|valkey|web)'", instance.log("supervisor"))


def test_a_dead_model_server_is_restarted_and_the_pages_work_meanwhile(live_stack: Instance) -> None:
    before = live_stack.pid("engine")
    kill(before)
    assert httpx2.get(f"{live_stack.base_url}/accounts/login/", timeout=60).status_code == 200
    wait_until(lambda: live_stack.pid("engine") != before)
    wait_until(lambda: httpx2.get(f"{live_stack.base_url}/readyz", timeout=60).status_code == 200)


@pytest.mark.parametrize(
    "service", ["web", "worker", "upkeep", "beat", "inference_backend", "postgres", "valkey", "seaweedfs"]
)
def test_the_application_works_again_after_a_kill_of_any_process(live_stack: Instance, service: str) -> None:
    before = live_stack.pid(service)
    kill(before)
    wait_until(lambda: live_stack.pid(service) != before)

    def ready() -> bool:
        try:
            return httpx2.get(f"{live_stack.base_url}/readyz", timeout=60).status_code == 200
        except httpx2.HTTPError:
            return False

    wait_until(ready)
