"""Each wrong setting is named together with what to set instead; a complete production passes without a word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.core.checks import CheckMessage
from pytest_django import Settings

from config import checks

ROOT = Path(configured.BASE_DIR)

PRODUCTION = {
    "SECRET_KEY": "Vd0q-3mZ8sT1xWbYcRkE5uJnLpHgFaDi7oQ9tKzXvBw2eNyM4-6rGq",
    "PUBLIC_URL": "https://prompts.example.com",
    "ALLOWED_HOSTS": "prompts.example.com",
    "TRUSTED_PROXY_COUNT": "1",
    "DATABASE_URL": "postgres://user:password@db.example.com:5432/playground",
    "REDIS_URL": "redis://redis.example.com:6379/0",
    "S3_ENDPOINT_URL": "https://s3.example.com",
    "S3_ACCESS_KEY_ID": "id",
    "S3_SECRET_ACCESS_KEY": "secret",
    "INFERENCE_BASE_URL": "https://inference.example.com",
    "INFERENCE_API_KEY": "key",
    "METRICS_TOKEN": "token",
    "SEALING_KEYS": "b25seS1mb3ItdGhlLWNoZWNrcy0wMTIzNDU2Nzg5YWI=",
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "EMAIL_HOST": "mail.example.com",
    "ACCOUNT_EMAIL_VERIFICATION": "mandatory",
}


def found() -> dict[str | None, CheckMessage]:
    messages = [*checks.check_needed(app_configs=None), *checks.check_production(app_configs=None)]
    return {message.id: message for message in messages}


def deploy(**changes: str | None) -> subprocess.CompletedProcess[str]:
    """`check --deploy` in its own process, with an environment that holds nothing else."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    wanted = {name: value for name, value in (PRODUCTION | changes).items() if value is not None}
    return subprocess.run(
        [sys.executable, "-m", "django", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={**kept, **wanted, "DJANGO_SETTINGS_MODULE": "config.settings", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_complete_production_passes_without_a_warning() -> None:
    done = deploy()

    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_without_any_setting_each_missing_one_is_named() -> None:
    done = deploy(**dict.fromkeys(PRODUCTION))

    assert done.returncode == 1
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS", "S3_ACCESS_KEY_ID", "INFERENCE_API_KEY"):
        assert f"{name}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "identifier"),
    [
        ("SECRET_KEY", "", "E001"),
        ("SECRET_KEY", "short", "E002"),
        ("PUBLIC_URL", "prompts.example.com", "E003"),
        ("PUBLIC_URL", "https://prompts.example.com/path", "E003"),
        ("PUBLIC_URL", "http://prompts.example.com", "E004"),
        ("PUBLIC_URL", "http://192.168.1.5:8000", "E004"),
        ("REDIS_URL", "redis://127.0.0.1:1/0", "E006"),
        ("TRUSTED_PROXY_COUNT", -1, "E007"),
        ("SEALING_KEYS", ["too-short"], "E008"),
        ("MODEL_PRICES", {"m": {"input_per_mtok": 1}}, "E009"),
        ("MODEL_PRICES", {"m": {"input_per_mtok": "1", "output_per_mtok": 2}}, "E009"),
        ("MODEL_PRICES", "no JSON", "E009"),
        ("ALLOWED_HOSTS", [], "E010"),
        ("ALLOWED_HOSTS", ["*"], "E011"),
        ("S3_ACCESS_KEY_ID", "", "E012"),
        ("S3_SECRET_ACCESS_KEY", "", "E012"),
        ("S3_BUCKET", "", "E013"),
        ("INFERENCE_BASE_URL", "http://127.0.0.1:1", "E014"),
        ("INFERENCE_API_KEY", "", "E015"),
        ("EMAIL_BACKEND", "django.core.mail.backends.console.EmailBackend", "W002"),
        ("METRICS_TOKEN", "", "W004"),
        ("STATIC_FROM_SOURCE", True, "W005"),
        ("SEALING_KEYS", [], "W006"),
    ],
)
def test_a_wrong_setting_is_named_with_its_remedy(
    settings: Settings, name: str, value: object, identifier: str
) -> None:
    settings.DEBUG = False
    setattr(settings, name, value)

    message = found()[f"playground.{identifier}"]

    assert name in message.msg
    assert message.hint


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000", "https://x.example"]
)
def test_plain_http_is_fine_on_the_own_machine(settings: Settings, url: str) -> None:
    settings.PUBLIC_URL = url

    assert "playground.E004" not in found()


def test_a_database_that_was_never_named_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(configured.DATABASES["default"], "PORT", 1)

    assert "DATABASE_URL" in found()["playground.E005"].msg


def test_mail_that_is_sent_asks_for_verified_addresses(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.ACCOUNT_EMAIL_VERIFICATION = "optional"

    assert "ACCOUNT_EMAIL_VERIFICATION" in found()["playground.W003"].msg


def test_a_bucket_that_browsers_would_refuse_is_warned_about(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://prompts.example.com"
    settings.S3_PUBLIC_ENDPOINT_URL = "http://s3.example.com"

    assert "S3_PUBLIC_ENDPOINT_URL" in found()["playground.W001"].msg


def test_https_without_a_proxy_is_only_remarked(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://prompts.example.com"
    settings.TRUSTED_PROXY_COUNT = 0

    assert "TRUSTED_PROXY_COUNT" in found()["playground.I001"].msg
    assert not found()["playground.I001"].is_serious()
