"""A batch as a call asks for it, checked and with its versions and models looked up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from accounts.models import User
from batches import edits
from batches.access import dataset_for
from batches.checks import read_checks
from batches.models import MOST_VERSIONS
from batches.serializers import BatchInput
from batches.services.batches import AskedVersion, Plan
from core.errors import InvalidInput, NotFound
from inference_client import catalogue
from inference_client.models import Provider
from playground import access, overrides
from playground.api.asking import checked, person
from playground.models import Prompt


def plan_asked(request: Request, prompt: Prompt) -> Plan:
    """Raises InvalidInput, NotFound (a version or a dataset), DatasetTooLarge."""
    given = checked(BatchInput, request)
    dataset_id = given.get("dataset") or given.get("upload")
    if (dataset_id is None) == ("rows" not in given):
        raise InvalidInput("A batch runs over a dataset, or over rows.", field="dataset")
    rows = edits.read_rows(given["rows"], field="rows") if dataset_id is None else []
    edits.refuse_too_large(rows)
    dataset = dataset_for(request.user, dataset_id) if dataset_id is not None else None
    if dataset is not None and dataset.prompt_id != prompt.pk:
        raise NotFound
    read = read_checks(given.get("checks", []))
    for index, check in enumerate(read):
        if check.get("model") is not None:
            _refuse_unknown(person(request), check["model"], f"checks.{index}.model")
    return Plan(
        prompt=prompt,
        versions=_versions(given, prompt, person(request)),
        checks=read,
        dataset=dataset,
        rows=rows,
        name=" ".join(given["name"].split()),
    )


def _versions(given: Mapping[str, Any], prompt: Prompt, account: User) -> list[AskedVersion]:
    raw = given["versions"]
    if not isinstance(raw, list) or not 1 <= len(raw) <= MOST_VERSIONS:
        raise InvalidInput(f"A batch runs 1 to {MOST_VERSIONS} versions.", field="versions")
    return [_version(each, given, prompt, account, f"versions.{index}") for index, each in enumerate(raw)]


def _version(raw: object, given: Mapping[str, Any], prompt: Prompt, account: User, field: str) -> AskedVersion:
    asked: Mapping[str, Any] = raw if isinstance(raw, dict) else {"version": raw}
    pointer = asked.get("version")
    if isinstance(pointer, bool) or not isinstance(pointer, int | str) or not 0 < len(str(pointer)) <= 200:
        raise InvalidInput("A version is a number, a label or a branch.", field=f"{field}.version")
    if set(asked) - {"version", "model", "provider", "parameters"}:
        raise InvalidInput("A version is {version, model?, provider?, parameters?}.", field=field)
    try:
        version = access.version_of(prompt, pointer)
    except NotFound as error:
        raise InvalidInput("This prompt has no such version.", field=f"{field}.version") from error
    chosen = asked.get("model") or given["model"]
    model = _text(chosen or version.model, f"{field}.model")
    named = asked.get("provider")
    if named is not None and named not in Provider.values:
        raise InvalidInput(f"A provider is one of {', '.join(Provider.values)}.", field=f"{field}.provider")
    return AskedVersion(
        version=version,
        pointer=str(pointer),
        model=model,
        provider=_refuse_unknown(account, model, f"{field}.model", named),
        parameters=overrides.checked(asked.get("parameters", given["parameters"]), field=f"{field}.parameters"),
        asked=(chosen or None, named),
    )


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 200 or "\x00" in value:
        raise InvalidInput("A model name has 1 to 200 characters.", field=field)
    return value


def _refuse_unknown(account: User, model: str, field: str, provider: str | None = None) -> str:
    """The provider that runs a model. Raises InvalidInput naming the field."""
    try:
        return catalogue.choose_provider(account, model, provider)
    except InvalidInput as error:
        raise InvalidInput(error.message, code=error.code, field=field, data=error.data) from error
