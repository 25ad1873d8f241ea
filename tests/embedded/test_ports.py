"""Ports of a data folder: kept, and never one that is spoken for."""

from pathlib import Path

import pytest

from embedded import ports
from embedded.ports import Ports


def test_a_port_is_kept_for_the_next_start(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json").get("valkey")
    assert Ports(tmp_path / "ports.json").get("valkey") == first


def test_a_reserved_port_is_not_given_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The web server's: it binds last, so until then the port looks free to everybody."""
    offered = iter([23018, 23018, 23019])
    monkeypatch.setattr(ports, "free_port", lambda: next(offered))
    own = Ports(tmp_path / "ports.json")
    own.reserve(23018)
    assert own.get("valkey") == 23019


def test_two_services_never_share_a_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = iter([23020, 23020, 23021])
    monkeypatch.setattr(ports, "free_port", lambda: next(offered))
    own = Ports(tmp_path / "ports.json")
    assert (own.get("valkey"), own.get("seaweedfs")) == (23020, 23021)
