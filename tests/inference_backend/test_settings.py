from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from inference_backend.settings import Settings, SettingsError

MINIMUM = {"INFERENCE_ENGINE_URL": "http://engine:8000", "INFERENCE_SERVICE_KEY": "k"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INFERENCE_ENGINE_URL", ""),
        ("INFERENCE_ENGINE_URL", "engine:8000"),
        ("INFERENCE_ENGINE_URL", "ftp://engine"),
        ("INFERENCE_ENGINE_URL", "http://engine:99999"),
        ("INFERENCE_ENGINE_URL", "http://[::1"),
        ("INFERENCE_ENGINE_KIND", "magic"),
        ("INFERENCE_FIRST_TOKEN_TIMEOUT_S", "soon"),
        ("INFERENCE_TOTAL_TIMEOUT_S", "-1"),
        ("INFERENCE_MAX_IN_FLIGHT", "many"),
        ("INFERENCE_MAX_IN_FLIGHT", "0"),
    ],
)
def test_a_wrong_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_environment(MINIMUM | {name: value})


@pytest.mark.parametrize("pasted", ["http://engine:8000/", "http://engine:8000/v1", "http://engine:8000/v1/"])
def test_an_address_may_be_pasted_with_the_suffix_of_other_clients(pasted: str) -> None:
    assert Settings.from_environment(MINIMUM | {"INFERENCE_ENGINE_URL": pasted}).engine_url == "http://engine:8000"


def test_secrets_are_not_shown() -> None:
    settings = Settings.from_environment(
        MINIMUM
        | {"INFERENCE_ENGINE_API_KEY": "s3cret", "REDIS_URL": "redis://:s3cret@x", "INFERENCE_SERVICE_KEY": "s3cret"}
    )
    assert "s3cret" not in repr(settings)


class Watched(Mapping[str, str]):
    """Remembers what it was asked for."""

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def test_every_variable_is_explained_to_the_operator() -> None:
    environment = Watched(MINIMUM)
    Settings.from_environment(environment)
    assert len(environment.asked) > 15
    text = (Path(__file__).parents[2] / "docs" / "inference-configuration.md").read_text()
    assert {name for name in environment.asked if f"`{name}`" not in text} == set()
