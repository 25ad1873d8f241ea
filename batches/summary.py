"""What a batch has come to: counts of its cells, and for each version how its answers did. Reads only."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.cache import cache
from django.db.models import Aggregate, Count, FloatField, Q, Sum, Value
from django.db.models.functions import Substr
from django.db.models.lookups import Exact
from django.utils import timezone
from redis import RedisError

from batches.models import ENDED_ITEM, Batch, BatchItem, BatchState, ItemStatus

#: A summary reads every cell: it is made anew no more often than that takes a twentieth of the time.
_SHARE = 20
_LEAST_S, _MOST_S = 2, 60
RATE_OVER = dt.timedelta(minutes=1)
_MARKS = {"pass": "p", "fail": "f", "error": "e", "skip": "s"}


class Percentile(Aggregate):
    """PostgreSQL's percentile_cont: the value below which this share of the others lies, interpolated."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()
    allow_distinct = False

    def __init__(self, expression: str, *, share: float, **extra: Any) -> None:
        super().__init__(expression, share=float(share), **extra)


def counts_of(batch: Batch) -> dict[str, int]:
    """Cells by status; `not_sent` are those to come, `total` all of them. Of a finished batch they are kept a while."""
    key = f"batch-counts:{batch.pk}:{batch.finished_at.timestamp() if batch.finished_at else 0}"
    is_final = batch.state == BatchState.FINISHED
    kept: dict[str, int] | None = _recall(key) if is_final else None
    if kept is None:
        kept = counts_of_all([batch])[batch.pk]
        if is_final:
            _remember(key, kept, _MOST_S)
    return kept


def counts_of_all(batches: Sequence[Batch]) -> dict[uuid.UUID, dict[str, int]]:
    """The same for some batches at once, by id."""
    items = BatchItem.objects.filter(batch__in=batches).order_by()
    found: dict[uuid.UUID, dict[str, int]] = {batch.pk: {} for batch in batches}
    for batch_id, status, count in items.values_list("batch_id", "status").annotate(count=Count("pk")):
        found[batch_id][status] = count
    return {
        batch.pk: {
            "total": batch.cells,
            "not_sent": batch.cells - batch.sent,
            **{status.value: found[batch.pk].get(status.value, 0) for status in ItemStatus},
        }
        for batch in batches
    }


def pace_of(batch: Batch, counts: Mapping[str, int]) -> dict[str, float | int | None]:
    """Cells answered in the last minute, and the seconds that the rest takes at that pace; None where it stands."""
    ended = sum(counts[status] for status in ENDED_ITEM)
    if batch.state != BatchState.RUNNING:
        return {"ended": ended, "rate_per_minute": None, "seconds_left": None}
    now = timezone.now()
    recent = batch.items.filter(ended_at__gt=now - RATE_OVER).count()
    # A batch that began half a minute ago is not half as fast.
    over_s = min(RATE_OVER.total_seconds(), max(1.0, (now - batch.created_at).total_seconds()))
    rate = recent * 60 / over_s
    left = round((batch.cells - ended) * 60 / rate) if rate else None
    return {"ended": ended, "rate_per_minute": round(rate, 1), "seconds_left": left}


def summary_of(batch: Batch) -> list[dict[str, Any]]:
    """For each version: verdicts, tokens, times and cost. Kept for as long as making it costs little in comparison."""
    ended = batch.finished_at.timestamp() if batch.finished_at else 0
    key = f"batch-summary:{batch.pk}:{batch.state}:{ended}"
    kept: list[dict[str, Any]] | None = _recall(key)
    if kept is None:
        began = time.monotonic()
        kept = _made(batch)
        took = (time.monotonic() - began) * _SHARE
        _remember(key, kept, int(min(max(took, _LEAST_S), _MOST_S)))
    return kept


def _made(batch: Batch) -> list[dict[str, Any]]:
    checks = len(batch.check_list)
    rows = batch.items.order_by().values("position").annotate(**_aggregates(checks))
    found = {row["position"]: row for row in rows}
    per_version = batch.rows.count
    return [_shown(each.position, found.get(each.position, {}), checks, per_version) for each in batch.versions.all()]


def _aggregates(checks: int) -> dict[str, Aggregate]:
    marks: dict[str, Aggregate] = {
        f"check_{index}_{verdict}": Count("pk", filter=Q(_mark(index, letter)))
        for index in range(checks)
        for verdict, letter in _MARKS.items()
    }
    statuses: dict[str, Aggregate] = {
        status.value: Count("pk", filter=Q(status=status)) for status in ItemStatus if status in ENDED_ITEM
    }
    return {
        **marks,
        **statuses,
        "read": Sum("input_tokens"),
        "written": Sum("output_tokens"),
        "cost": Sum("cost_usd"),
        "priced": Count("cost_usd"),
        "judging": Sum("judging_runs"),
        "judging_read": Sum("judging_input_tokens"),
        "judging_written": Sum("judging_output_tokens"),
        "ttft_median": Percentile("ttft_ms", share=0.5),
        "ttft_p95": Percentile("ttft_ms", share=0.95),
        "duration_median": Percentile("duration_ms", share=0.5),
        "duration_p95": Percentile("duration_ms", share=0.95),
    }


def _mark(index: int, letter: str) -> Any:

    return Exact(Substr("marks", index + 1, 1), Value(letter))


def _shown(position: int, row: Mapping[str, Any], checks: int, total: int) -> dict[str, Any]:
    judged = sum(row.get(name, 0) for name in ("passed", "failed", "error"))
    return {
        "position": position,
        "total": total,
        "ended": sum(row.get(status, 0) for status in ENDED_ITEM),
        **{name: row.get(name, 0) for name in ("done", "passed", "failed", "error", "cancelled")},
        "pass_rate": round(row["passed"] / judged, 4) if checks and judged else None,
        "checks": [
            {"index": index, **{verdict: row.get(f"check_{index}_{verdict}", 0) for verdict in _MARKS}}
            for index in range(checks)
        ],
        "input_tokens": row.get("read") or 0,
        "output_tokens": row.get("written") or 0,
        "ttft_ms": _spread(row, "ttft"),
        "duration_ms": _spread(row, "duration"),
        # The cost of some of the answers would pass for the cost of all.
        "cost_usd": float(row["cost"]) if row.get("cost") is not None and row["priced"] >= _answered(row) else None,
        "grading": {
            "runs": row.get("judging") or 0,
            "input_tokens": row.get("judging_read") or 0,
            "output_tokens": row.get("judging_written") or 0,
        },
    }


def _answered(row: Mapping[str, Any]) -> int:
    return sum(row.get(name, 0) for name in ("done", "passed", "failed"))


def _spread(row: Mapping[str, Any], name: str) -> dict[str, int] | None:
    if row.get(f"{name}_median") is None:
        return None
    return {"median": round(row[f"{name}_median"]), "p95": round(row[f"{name}_p95"])}


def _recall(key: str) -> Any:
    try:
        return cache.get(key)
    except RedisError:
        return None


def _remember(key: str, value: object, seconds: int) -> None:
    try:
        cache.set(key, value, seconds)
    except RedisError:
        return
