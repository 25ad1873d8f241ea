"""manage.py finds the instance that a command is meant for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embedded.environment import DataOptionError, load, take_data_option


def instance(data: Path, **values: str) -> Path:
    (data / "run").mkdir(parents=True)
    (data / "run" / "environment.json").write_text(json.dumps(values))
    return data


@pytest.mark.parametrize(
    ("words", "left", "data"),
    [
        (["manage.py", "shell", "--data", "here"], ["manage.py", "shell"], Path("here")),
        (["manage.py", "shell", "--data=here", "-v1"], ["manage.py", "shell", "-v1"], Path("here")),
        (["manage.py", "create_api_key", "--data", "d", "a@b.c"], ["manage.py", "create_api_key", "a@b.c"], Path("d")),
        (["manage.py", "shell"], ["manage.py", "shell"], None),
        (["manage.py", "x", "--", "--data", "d"], ["manage.py", "x", "--", "--data", "d"], None),
    ],
)
def test_the_data_option_is_taken_from_any_command(words: list[str], left: list[str], data: Path | None) -> None:
    assert take_data_option(words) == data
    assert words == left


def test_the_data_option_without_a_folder_is_refused() -> None:
    with pytest.raises(DataOptionError, match="needs a folder"):
        take_data_option(["manage.py", "shell", "--data"])


def test_a_named_folder_wins_over_the_environment(tmp_path: Path) -> None:
    environment = {"DATABASE_URL": "other"}
    load(instance(tmp_path, DATABASE_URL="ours"), environment)
    assert environment == {"DATABASE_URL": "ours"}


def test_a_named_folder_without_an_instance_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataOptionError, match=r"manage\.py up --data"):
        load(tmp_path, {})


def test_the_default_folder_only_fills_an_environment_without_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    instance(tmp_path / "var", DATABASE_URL="ours")
    given, empty = {"DATABASE_URL": "theirs"}, dict[str, str]()
    load(None, given)
    load(None, empty)
    assert given == {"DATABASE_URL": "theirs"}
    assert empty == {"DATABASE_URL": "ours"}


def test_without_an_instance_a_command_gets_the_environment_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment: dict[str, str] = {}
    load(None, environment)
    assert environment == {}
