"""What a file says about a prompt, checked: numbers that fit together, names and dates that can be kept."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from core.errors import InvalidInput

FORMAT = "prompt-playground-export"
FORMAT_VERSION = 1
MAX_VERSIONS = 20_000
MAX_POINTERS = 5_000
MAX_MOVES = 200_000

Json = Any


def _moment(value: Json) -> Json:
    try:
        moment = dt.datetime.fromisoformat(value)
    except (ValueError, TypeError) as error:
        raise PydanticCustomError("moment", "Must be a date and time (ISO 8601).") from error
    if moment.tzinfo is None or not 1970 <= moment.year < 9999:
        raise PydanticCustomError("moment", "Must have a time zone, and a year from 1970.")
    return moment


Moment = Annotated[dt.datetime, BeforeValidator(_moment)]
Number = Annotated[int, Field(ge=1, lt=2**31)]
Line = Annotated[str, Field(max_length=10_000)]


class Part(pydantic.BaseModel):
    """Unknown fields are passed over: a later file of the same format version may have more."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Move(Part):
    from_version: Annotated[Number | None, Field(alias="from")] = None
    to_version: Annotated[Number | None, Field(alias="to")] = None
    actor: Line | None = None
    created_at: Moment


class Entry(Part):
    """A version. `spec` has its texts as `{"body": sha256}`."""

    number: Number
    parent: Number | None = None
    merged_parent: Number | None = None
    message: Line = ""
    author: Line | None = None
    created_at: Moment
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    spec: dict[str, Json]


class BranchEntry(Part):
    name: Line
    head: Number
    moves: list[Move] = []


class LabelEntry(Part):
    name: Line
    version: Number | None = None
    moves: list[Move] = []


class PromptEntry(Part):
    name: Line
    description: Line = ""
    tags: Annotated[list[Line], Field(max_length=50)] = []
    folder: Line = ""


class Manifest(Part):
    format: Literal["prompt-playground-export"]
    version: Literal[1]
    prompt: PromptEntry
    versions: Annotated[list[Entry], Field(max_length=MAX_VERSIONS)]
    branches: Annotated[list[BranchEntry], Field(max_length=MAX_POINTERS)] = []
    labels: Annotated[list[LabelEntry], Field(max_length=MAX_POINTERS)] = []


def is_manifest(value: Json) -> bool:
    return isinstance(value, dict) and value.get("format") == FORMAT


def check(value: Json) -> Manifest:
    """Raises InvalidInput naming the field that is wrong."""
    if not is_manifest(value):
        raise InvalidInput(f'This is no export: its format is not "{FORMAT}".', field="format")
    if value.get("version") != FORMAT_VERSION:
        raise InvalidInput(f"Only version {FORMAT_VERSION} of the format is known here.", field="version")
    try:
        manifest = Manifest.model_validate(value)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in problem["loc"])
        raise InvalidInput(f"{problem['msg']}.".replace("..", "."), field=path) from error
    _check_tree(manifest.versions)
    _check_pointers(manifest)
    return manifest


def _check_tree(versions: Sequence[Entry]) -> None:
    """Numbers rise, and each parent comes before its children: so there is no circle."""
    known: set[int] = set()
    highest = 0
    for index, entry in enumerate(versions):
        where = f"versions.{index}"
        if entry.number <= highest:
            raise InvalidInput("The numbers of versions rise in a file.", field=f"{where}.number")
        highest = entry.number
        for name, parent in (("parent", entry.parent), ("merged_parent", entry.merged_parent)):
            if parent is not None and parent not in known:
                raise InvalidInput("There is no such version before this one.", field=f"{where}.{name}")
        if entry.merged_parent is not None and entry.parent in (None, entry.merged_parent):
            raise InvalidInput("A merge has two different parents.", field=f"{where}.merged_parent")
        known.add(entry.number)


def _check_pointers(manifest: Manifest) -> None:
    known = {entry.number for entry in manifest.versions}
    pointers: list[BranchEntry | LabelEntry] = [*manifest.branches, *manifest.labels]
    if sum(len(pointer.moves) for pointer in pointers) > MAX_MOVES:
        raise InvalidInput(f"A file has at most {MAX_MOVES:,} moves.", field="branches")
    for kind, rows in (("branches", manifest.branches), ("labels", manifest.labels)):
        names = [row.name for row in rows]
        if len(set(names)) != len(names):
            raise InvalidInput("A name is there twice.", field=kind)
    for index, branch in enumerate(manifest.branches):
        _check_known(known, [branch.head], f"branches.{index}.head")
        _check_moves(known, branch.moves, f"branches.{index}.moves")
        if any(move.to_version is None for move in branch.moves):
            raise InvalidInput("A branch always moves to a version.", field=f"branches.{index}.moves")
    for index, label in enumerate(manifest.labels):
        _check_known(known, [label.version], f"labels.{index}.version")
        _check_moves(known, label.moves, f"labels.{index}.moves")


def _check_moves(known: set[int], moves: Sequence[Move], where: str) -> None:
    _check_known(known, [number for move in moves for number in (move.from_version, move.to_version)], where)


def _check_known(known: set[int], numbers: Sequence[int | None], where: str) -> None:
    if any(number is not None and number not in known for number in numbers):
        raise InvalidInput("There is no such version in this file.", field=where)
