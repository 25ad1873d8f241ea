"""The versions of a batch as its work needs them: with their texts read back."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from batches.models import Batch, BatchVersion
from batches.rows import Row
from playground import freezing, template, wire
from playground.models import Version
from playground.services.runs import PreparedRun, prepare_run


@dataclass(frozen=True, kw_only=True)
class Column:
    """A version of a batch with its plain spec."""

    row: BatchVersion
    spec: Mapping[str, Any]

    @property
    def version(self) -> Version:
        return self.row.version

    def prepare(self, row: Row) -> PreparedRun:
        """The request for one row. Raises Unprocessable, InvalidInput: this row cannot be sent."""
        return prepare_run(
            version=self.version,
            spec=self.spec,
            values=wire.variable_values(dict(row.values)),
            model=self.row.model,
            parameters=json.loads(self.row.parameters),
            provider=self.row.provider,
        )

    def schema(self) -> Any:
        """The version's own output schema, None if it has none."""
        written = self.spec.get("output_schema")
        return json.loads(written) if isinstance(written, str) else written

    def values_of(self, row: Row) -> dict[str, str]:
        """All values of a row and the defaults of this version, as texts of checks may name them."""
        given = wire.variable_values(dict(row.values))
        return {**wire.complete_values(self.spec, given), **given}


def columns_of(batch: Batch) -> list[Column]:
    """In their order. Raises StorageUnavailable."""
    rows = batch.versions.select_related("version__prompt").order_by("position")
    return [Column(row=row, spec=_thawed(row.version_id)) for row in rows]


@functools.lru_cache(maxsize=8)
def _thawed(version_id: uuid.UUID) -> Mapping[str, Any]:
    """Versions never change, and a batch needs the same for thousands of rows."""
    return freezing.thaw(Version.objects.select_related("prompt").get(pk=version_id))


def unset_names(spec: Mapping[str, Any], row_names: set[str]) -> list[str]:
    """The variables that a version uses, has no default for, and rows with `row_names` do not set."""
    declared = {card["name"] for card in spec.get("variables", []) if "default" in card}
    names = [template.normal_name(name) or name for name in wire.used_names(spec)]
    return [name for name in names if name not in row_names and name not in declared]
