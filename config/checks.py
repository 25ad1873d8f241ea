"""System checks of the settings: each names the setting, says what breaks, and what to set.

Errors E001 to E009 stop any command; E010 and up, and the warnings, are for `check --deploy`, which a production
environment passes with no warning at all.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps.config import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from inference_client.prices import parse_price
from inference_client.sealing import as_fernet

MIN_SECRET_LENGTH = 50
#: Unset addresses point at this port (see the settings), so that importing them never needs an environment.
UNSET_PORT = 1


def register() -> None:
    """Hand the checks to Django. Called once, when the project's app is ready."""
    checks.register(check_needed)
    checks.register(check_production, deploy=True)


def check_needed(*, app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """What nothing works without."""
    del app_configs, kwargs
    return [*_secret_key(), *_public_url(), *_addresses(), *_proxies(), *_sealing(), *_prices()]


def check_production(*, app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """What a machine that others reach needs besides."""
    del app_configs, kwargs
    return [*_hosts(), *_storage(), *_inference(), *_mail(), *_exposure()]


def is_loopback(url: str) -> bool:
    """Whether `url` can only be reached from this very machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _secret_key() -> Iterator[checks.CheckMessage]:
    hint = (
        "Set SECRET_KEY, or SECRET_KEY_FILE to a file that holds it, to at least 50 random characters: "
        "`python -c 'import secrets; print(secrets.token_urlsafe(50))'`."
    )
    try:
        length = len(settings.SECRET_KEY)
    except ImproperlyConfigured:  # Django's answer to reading an empty one
        length = 0
    if length == 0:
        yield checks.Error("SECRET_KEY is not set: nobody could sign in.", hint=hint, id="playground.E001")
    elif length < MIN_SECRET_LENGTH:
        yield checks.Error(
            f"SECRET_KEY has fewer than {MIN_SECRET_LENGTH} characters: sessions could be forged.",
            hint=hint,
            id="playground.E002",
        )


def _public_url() -> Iterator[checks.CheckMessage]:
    parts = urlsplit(settings.PUBLIC_URL)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        yield checks.Error(
            "PUBLIC_URL is not an address of the form https://host[:port].",
            hint="Set PUBLIC_URL to what people type into their browser, without a path.",
            id="playground.E003",
        )
    elif parts.scheme == "http" and not settings.DEBUG and not is_loopback(settings.PUBLIC_URL):
        yield checks.Error(
            "PUBLIC_URL is http on an address that others reach: passwords and keys would travel in the clear.",
            hint="Put a proxy that speaks TLS in front and set PUBLIC_URL to its https address.",
            id="playground.E004",
        )


def _addresses() -> Iterator[checks.CheckMessage]:
    if settings.DATABASES["default"].get("PORT") == UNSET_PORT:
        yield checks.Error(
            "DATABASE_URL is not set.",
            hint="Set DATABASE_URL to postgres://user:password@host:5432/name, or start with `manage.py up`.",
            id="playground.E005",
        )
    if urlsplit(settings.REDIS_URL).port == UNSET_PORT:
        yield checks.Error(
            "REDIS_URL is not set.",
            hint="Set REDIS_URL to redis://host:6379/0, or start with `manage.py up`.",
            id="playground.E006",
        )


def _proxies() -> Iterator[checks.CheckMessage]:
    if settings.TRUSTED_PROXY_COUNT < 0:
        yield checks.Error(
            "TRUSTED_PROXY_COUNT is negative.",
            hint="Set TRUSTED_PROXY_COUNT to the number of proxies in front of this application; 0 if none.",
            id="playground.E007",
        )


_NEW_SEALING_KEY = (
    "`python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'`. "
    "Keep it as safe as a backup: without it, what was sealed is lost."
)


def _sealing() -> Iterator[checks.CheckMessage]:
    for number, key in enumerate(settings.SEALING_KEYS, start=1):
        try:
            as_fernet(key)
        except ValueError:
            yield checks.Error(
                f"Key {number} of SEALING_KEYS is none: 32 bytes in URL-safe Base64 are needed.",
                hint=f"Make one: {_NEW_SEALING_KEY}",
                id="playground.E008",
            )


def _prices() -> Iterator[checks.CheckMessage]:
    given = settings.MODEL_PRICES
    entries = given.items() if isinstance(given, dict) else [("MODEL_PRICES", given)]
    for model, price in entries:
        try:
            parse_price(price)
        except ValueError as error:
            yield checks.Error(
                f"MODEL_PRICES cannot be read at {model!r}: {error}.",
                hint='Set it to JSON such as {"my-model": {"input_per_mtok": 0.1, "output_per_mtok": 0.4}}.',
                id="playground.E009",
            )


def _hosts() -> Iterator[checks.CheckMessage]:
    if not settings.ALLOWED_HOSTS:
        yield checks.Error(
            "ALLOWED_HOSTS is empty: every request would be refused.",
            hint="Set ALLOWED_HOSTS to the host of PUBLIC_URL (several: separated by commas).",
            id="playground.E010",
        )
    elif "*" in settings.ALLOWED_HOSTS:
        yield checks.Error(
            "ALLOWED_HOSTS admits any host: a forged Host header would end up in password-reset links.",
            hint="Name the hosts in ALLOWED_HOSTS instead of `*`.",
            id="playground.E011",
        )


def _storage() -> Iterator[checks.CheckMessage]:
    if not settings.S3_ACCESS_KEY_ID or not settings.S3_SECRET_ACCESS_KEY:
        yield checks.Error(
            "S3_ACCESS_KEY_ID or S3_SECRET_ACCESS_KEY is not set: no text could be saved.",
            hint="Set both, or S3_ACCESS_KEY_ID_FILE and S3_SECRET_ACCESS_KEY_FILE to files that hold them.",
            id="playground.E012",
        )
    if not settings.S3_BUCKET:
        yield checks.Error("S3_BUCKET is empty.", hint="Set S3_BUCKET to a bucket of its own.", id="playground.E013")
    endpoint = settings.S3_PUBLIC_ENDPOINT_URL
    if endpoint and urlsplit(endpoint).scheme == "http" and urlsplit(settings.PUBLIC_URL).scheme == "https":
        yield checks.Warning(
            "S3_PUBLIC_ENDPOINT_URL is http while PUBLIC_URL is https: browsers refuse uploads from such a page.",
            hint="Set S3_PUBLIC_ENDPOINT_URL to the https address at which browsers reach the bucket.",
            id="playground.W001",
        )


def _inference() -> Iterator[checks.CheckMessage]:
    if urlsplit(settings.INFERENCE_BASE_URL).port == UNSET_PORT:
        yield checks.Error(
            "INFERENCE_BASE_URL is not set: no run could be sent.",
            hint="Set it to the inference backend, or to https://api.anthropic.com.",
            id="playground.E014",
        )
    if not settings.INFERENCE_API_KEY:
        yield checks.Error(
            "INFERENCE_API_KEY is not set: the inference backend would refuse every run.",
            hint="Set INFERENCE_API_KEY (for https://api.anthropic.com: ANTHROPIC_API_KEY), or either with _FILE.",
            id="playground.E015",
        )
    if not settings.SEALING_KEYS:
        yield checks.Warning(
            "SEALING_KEYS is not set: people cannot keep keys of their own for Anthropic.",
            hint=f"Set SEALING_KEYS, or SEALING_KEYS_FILE to a file that holds it: {_NEW_SEALING_KEY}",
            id="playground.W006",
        )


def _mail() -> Iterator[checks.CheckMessage]:
    if settings.EMAIL_BACKEND.endswith((".console.EmailBackend", ".filebased.EmailBackend")):
        yield checks.Warning(
            "EMAIL_BACKEND writes mail to the process's output, password-reset links included.",
            hint="Set EMAIL_BACKEND=django.core.mail.backends.smtp.EmailBackend and EMAIL_HOST.",
            id="playground.W002",
        )
    elif settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory":
        yield checks.Warning(
            "ACCOUNT_EMAIL_VERIFICATION is not mandatory: sign-up tells who has an account here, and people can "
            "claim addresses that are not theirs.",
            hint="Set ACCOUNT_EMAIL_VERIFICATION=mandatory.",
            id="playground.W003",
        )


def _exposure() -> Iterator[checks.CheckMessage]:
    if not settings.METRICS_TOKEN:
        yield checks.Warning(
            "METRICS_TOKEN is not set: anybody may read /metrics.",
            hint="Set METRICS_TOKEN (or METRICS_TOKEN_FILE) and give it to Prometheus as its bearer token.",
            id="playground.W004",
        )
    if settings.TRUSTED_PROXY_COUNT == 0 and urlsplit(settings.PUBLIC_URL).scheme == "https":
        # Only a remark: the server may end TLS itself, and then 0 is right.
        yield checks.Info(
            "TRUSTED_PROXY_COUNT is 0 while PUBLIC_URL is https: if a proxy ends TLS, all people share its address, "
            "and one of them can use up everybody's sign-in attempts.",
            hint="Set TRUSTED_PROXY_COUNT to the number of proxies in front that add to X-Forwarded-For.",
            id="playground.I001",
        )
    if settings.STATIC_FROM_SOURCE:
        yield checks.Warning(
            "STATIC_FROM_SOURCE is on: files are looked for on each request and never cached.",
            hint="Unset STATIC_FROM_SOURCE and run `manage.py collectstatic`.",
            id="playground.W005",
        )
