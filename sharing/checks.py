"""The arithmetic of the bound, asserted at start: a promise that the parts do not keep is not made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps.config import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from sharing import bound

_HINT = (
    "Set SHARING_BOUND_S alone, from 0 to 30, and its parts follow; or choose SHARING_REUSE_S + SHARING_PRESIGNED_S + "
    "SHARING_SKEW_S and SHARING_REUSE_S + SHARING_RECHECK_S + SHARING_JITTER_S so that neither is more."
)


def register() -> None:
    checks.register(check_bound)


def check_bound(*, app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """That a revocation reaches everybody within the bound, whatever is cached where."""
    del app_configs, kwargs
    return [
        checks.Error(problem, hint=_HINT, id="playground.E008")
        for problem in bound.problems(settings.SHARING_BOUND_S, bound.current())
    ]


def refuse_wrong_bound() -> None:
    """For servers, which run no system checks when they start. Raises ImproperlyConfigured."""
    found = list(bound.problems(settings.SHARING_BOUND_S, bound.current()))
    if found:
        raise ImproperlyConfigured(f"{' '.join(found)} {_HINT}")
