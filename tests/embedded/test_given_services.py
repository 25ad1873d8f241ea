"""What the environment already provides is used and not started."""

from pathlib import Path

import pytest

from embedded.errors import EnvironmentIncomplete
from embedded.folder import DataFolder
from embedded.stack import SERVICES, Options, Stack, build

S3 = {
    "S3_ENDPOINT_URL": "https://s3.example.com",
    "S3_BUCKET": "prompts",
    "S3_ACCESS_KEY_ID": "AKID",
    "S3_SECRET_ACCESS_KEY": "secret",
}


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder.open(tmp_path)


def started(stack: Stack) -> set[str]:
    return {service.name for service in stack.services}


def test_an_empty_environment_gets_everything(folder: DataFolder) -> None:
    stack = build(Options(), folder, {})
    assert started(stack) == set(SERVICES)
    assert stack.environment["INFERENCE_API_KEY"] == stack.environment["INFERENCE_SERVICE_KEY"]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"DATABASE_URL": "postgres://u:p@db.example.com/x"}, {"postgres"}),
        ({"REDIS_URL": "redis://cache.example.com"}, {"valkey"}),
        (S3, {"seaweedfs"}),
        ({"INFERENCE_BASE_URL": "https://api.anthropic.com"}, {"engine", "inference_backend"}),
        ({"INFERENCE_ENGINE_URL": "http://gpu.example.com:8000"}, {"engine"}),
    ],
)
def test_a_given_address_replaces_the_embedded_service(
    folder: DataFolder, given: dict[str, str], missing: set[str]
) -> None:
    stack = build(Options(), folder, given)
    assert started(stack) == set(SERVICES) - missing
    assert given.items() <= stack.environment.items()


def test_an_empty_value_counts_as_not_given(folder: DataFolder) -> None:
    assert started(build(Options(), folder, {"DATABASE_URL": "", "REDIS_URL": ""})) == set(SERVICES)


@pytest.mark.parametrize("left_out", ["S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"])
def test_half_of_the_storage_settings_is_refused(folder: DataFolder, left_out: str) -> None:
    with pytest.raises(EnvironmentIncomplete, match=left_out):
        build(Options(), folder, {name: value for name, value in S3.items() if name != left_out})


def test_keys_of_the_storage_may_come_from_files(folder: DataFolder) -> None:
    given = {"S3_BUCKET": "prompts", "S3_ACCESS_KEY_ID_FILE": "/k/id", "S3_SECRET_ACCESS_KEY_FILE": "/k/secret"}
    assert "seaweedfs" not in started(build(Options(), folder, given))


def test_secrets_are_made_once(folder: DataFolder) -> None:
    first = build(Options(), folder, {}).environment
    second = build(Options(), folder, {}).environment
    assert first == second


def test_infrastructure_gets_nothing_of_the_applications_environment(folder: DataFolder) -> None:
    stack = build(Options(), folder, {"PATH": "/bin", "ANTHROPIC_API_KEY": "sk-secret"})
    for service in stack.services:
        if service.name in ("postgres", "valkey", "seaweedfs", "engine"):
            assert "ANTHROPIC_API_KEY" not in service.environment
            assert "SECRET_KEY" not in service.environment
