"""What is going on now, as JSON for the page. No accounts, texts or keys: whoever reaches the port may read it."""

import time
from typing import Any

from inference_backend.embeddings.models import EmbeddingModel
from inference_backend.fleet.model import Model
from inference_backend.service import Service
from inference_backend.status.history import History, finite, total
from inference_backend.tiers import TIERS


def build_report(service: Service, history: History, *, started_at: float) -> dict[str, Any]:
    """`started_at` in seconds since 1970."""
    metrics = service.metrics
    return {
        "at": round(time.time(), 1),
        "uptime_s": round(time.time() - started_at),
        "is_draining": service.in_flight.is_draining,
        "models": [_model(model) for model in service.fleet.models.values()],
        "embeddings": [_embeddings(model) for model in service.embeddings.all()],
        "since_start": {
            "requests": total(metrics.requests.answered),
            "output_tokens": total(metrics.requests.tokens, direction="output"),
            "shed": total(metrics.pools.shed),
            "over_limit": total(metrics.limited),
            "replaced": total(metrics.failovers, way="replaced"),
            "continued": total(metrics.failovers) - total(metrics.failovers, way="replaced"),
            "replayed": total(metrics.idempotency, outcome="replayed"),
            "engine_failures": total(metrics.engine_failures),
            "disconnects": total(metrics.requests.client_disconnects),
        },
        "history": history.as_json(),
    }


def _model(model: Model) -> dict[str, Any]:
    state = model.pool.snapshot()
    uses = {use.name: use for use in state.replicas}
    rows = []
    for row in model.report():
        use = uses.get(str(row["replica"]))
        kv = {"kv_used": use.kv_used, "kv_tokens": use.kv_tokens} if use else {"kv_used": None, "kv_tokens": None}
        rows.append({**row, **kv, "decode_s_per_token": use.decode_s_per_token if use else None})
    return {
        "id": model.id,
        "is_ready": model.ready,
        "capacity_starting_s": model.pool.capacity_starting(),
        "queue": {
            tier: {
                "waiting": state.waiting.get(tier, 0),
                "expected_wait_s": finite(model.pool.expected_wait(tier)),
                "admitted": round(model.pool.admitted_fraction(tier), 3),
            }
            for tier in TIERS
        },
        "replicas": rows,
    }


def _embeddings(model: EmbeddingModel) -> dict[str, Any]:
    state = model.pool.snapshot()
    return {
        "id": model.id,
        "healthy": state.healthy,
        "idle": state.idle,
        "queue": {tier: {"waiting": state.queued.get(tier, 0), "refused": state.refused[tier]} for tier in TIERS},
        "mean_fill": round(state.sent_items / state.sends, 1) if state.sends else None,
        "completed": state.completed,
        "lost_calls": state.lost_batches,
        "failed_calls": state.failed_batches,
    }
