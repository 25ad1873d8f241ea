"""One folder, one instance: locks, kept ports, leftovers, and paths as people have them."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from embedded.folder import DataFolder
from embedded.orphans import read_records, stop_leftovers
from embedded.ports import CANDIDATES, Ports, free_port
from embedded.postgres import release_lock_file
from tests.embedded.conftest import StartAlone
from tests.services_plugin import ROOT


def run_up(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "up", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_second_start_on_a_folder_in_use_is_refused_and_leaves_the_first_alone(start_alone: StartAlone) -> None:
    first = start_alone("--only", "valkey")
    second = run_up("--data", str(first.data), "--only", "valkey")
    assert second.returncode == 1
    assert "in use" in second.stderr
    assert str(first.supervisor_pid) in second.stderr
    assert psutil.pid_exists(first.pid("valkey"))


def test_a_port_that_is_taken_is_named_together_with_the_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = run_up("--data", str(tmp_path / "data"), "--port", str(port))
    assert refused.returncode == 1
    assert f"Port {port}" in refused.stderr
    assert "--port" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_half_of_the_storage_settings_is_refused_with_the_missing_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3_ENDPOINT_URL", "https://s3.example.com")
    monkeypatch.delenv("S3_ACCESS_KEY_ID", raising=False)
    refused = run_up("--data", str(tmp_path / "data"), "--port", str(free_port()))
    assert refused.returncode == 1
    assert "S3_ACCESS_KEY_ID" in refused.stderr


def test_a_folder_may_be_deep_and_oddly_named(start_alone: StartAlone, tmp_path: Path) -> None:
    odd = tmp_path / "a folder, 100% 'ours'; #1 \"here\"" / ("deep" * 20) / ("deeper" * 10)
    odd.mkdir(parents=True)
    words = ("--only", "postgres,valkey,seaweedfs", "--throw-away")
    instance = start_alone(*words, data=odd / "data")
    assert psutil.pid_exists(instance.pid("postgres"))


def test_ports_are_kept_from_one_start_to_the_next(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json")
    chosen = {name: first.get(name) for name in ("one", "two", "three")}
    assert len(set(chosen.values())) == 3
    assert set(chosen.values()) <= set(CANDIDATES)
    second = Ports(tmp_path / "ports.json")
    assert {name: second.get(name) for name in chosen} == chosen


def test_a_kept_port_that_somebody_took_is_replaced(tmp_path: Path) -> None:
    before = Ports(tmp_path / "ports.json").get("one")
    with socket.create_server(("127.0.0.1", before)):
        assert Ports(tmp_path / "ports.json").get("one") != before


@pytest.fixture
def stranger() -> psutil.Process:
    """A process of somebody else."""
    return psutil.Process(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"]).pid)


def record(folder: DataFolder, **changes: object) -> None:
    entry = {"pid": 1, "created": 0.0, "program": sys.executable, "signal": 15, "stop_within_s": 1}
    (folder.records / "web.json").write_text(json.dumps(entry | changes))


def test_a_leftover_is_stopped(tmp_path: Path, stranger: psutil.Process) -> None:
    folder = DataFolder.open(tmp_path)
    record(folder, pid=stranger.pid, created=stranger.create_time())
    assert stop_leftovers(folder.records) == ["web"]
    assert not stranger.is_running()
    assert read_records(folder.records) == []


@pytest.mark.parametrize("changes", [{"created": time.time() - 1000}, {"program": "/usr/bin/other"}])
def test_a_process_that_only_has_the_same_pid_is_left_alone(
    tmp_path: Path, stranger: psutil.Process, changes: dict[str, object]
) -> None:
    folder = DataFolder.open(tmp_path)
    record(folder, **{"pid": stranger.pid, "created": stranger.create_time(), **changes})
    assert stop_leftovers(folder.records) == []
    assert stranger.is_running()
    stranger.kill()
    stranger.wait(60)


def test_a_record_cut_short_by_a_crash_is_ignored(tmp_path: Path) -> None:
    folder = DataFolder.open(tmp_path)
    (folder.records / "web.json").write_text('{"pid": 12')
    assert stop_leftovers(folder.records) == []


def test_the_lock_file_of_a_dead_database_does_not_stop_the_next_start(tmp_path: Path) -> None:
    lock = tmp_path / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{tmp_path}\n")  # alive, but no PostgreSQL
    release_lock_file(tmp_path)
    assert not lock.exists()
