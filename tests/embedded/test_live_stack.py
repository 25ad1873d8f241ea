"""The whole application as `manage.py up` runs it."""

import os
from pathlib import Path

import httpx2
import psutil

from tests.processes import of_each
from tests.services_plugin import Instance


def test_every_page_of_health_answers(live_stack: Instance) -> None:
    assert httpx2.get(f"{live_stack.base_url}/healthz", timeout=60).status_code == 200
    ready = httpx2.get(f"{live_stack.base_url}/readyz", timeout=60)
    assert ready.status_code == 200, ready.text


def test_a_command_given_the_data_folder_reaches_the_running_instance(live_stack: Instance) -> None:
    email = next(iter(live_stack.accounts))
    made = live_stack.manage("create_api_key", email)
    assert made.returncode == 0, made.stderr
    [key] = made.stdout.splitlines()
    answer = httpx2.get(f"{live_stack.base_url}/api/v1/me", headers={"Authorization": f"Bearer {key}"}, timeout=60)
    assert answer.status_code == 200, answer.text
    assert email in answer.text


def test_the_storage_check_passes_on_seaweedfs(live_stack: Instance) -> None:
    checked = live_stack.manage("check_storage")
    assert checked.returncode == 0, checked.stderr


def test_nothing_listens_beyond_this_machine(live_stack: Instance) -> None:
    supervisor = psutil.Process(live_stack.supervisor_pid)
    connections = of_each(supervisor.children(recursive=True), lambda process: process.net_connections("inet"))
    listening = [each for of_one in connections for each in of_one if each.status == psutil.CONN_LISTEN]
    assert len(listening) > 5
    assert {connection.laddr.ip for connection in listening} == {"127.0.0.1"}


def test_files_with_secrets_are_for_their_owner_only(live_stack: Instance) -> None:
    assert live_stack.data.stat().st_mode & 0o777 == 0o700
    secrets = [live_stack.data / "run" / "environment.json", *(live_stack.data / "secrets").iterdir()]
    assert len(secrets) > 8
    assert {path.stat().st_mode & 0o777 for path in secrets} == {0o600}


def test_no_command_line_shows_a_secret(live_stack: Instance) -> None:
    secrets = {path.read_text().strip() for path in (live_stack.data / "secrets").iterdir()}
    supervisor = psutil.Process(live_stack.supervisor_pid)
    lines = " ".join(of_each(supervisor.children(recursive=True), lambda process: " ".join(process.cmdline())))
    assert "postgres" in lines
    assert not [secret for secret in secrets if secret in lines]


def test_postgresql_does_not_run_as_root(live_stack: Instance) -> None:
    uids = psutil.Process(live_stack.pid("postgres")).uids()
    assert uids.effective != 0
    if os.geteuid() != 0:
        assert uids.effective == os.geteuid()


def test_the_embedded_servers_are_the_ones_of_the_environment(live_stack: Instance) -> None:
    environment = live_stack.environment
    assert environment["DATABASE_URL"].startswith("postgres://playground:")
    assert environment["S3_ENDPOINT_URL"] == environment["S3_PUBLIC_ENDPOINT_URL"]
    assert Path(environment["DEMO_ACCOUNTS_FILE"]).is_relative_to(live_stack.data)
