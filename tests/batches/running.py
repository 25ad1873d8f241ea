"""The work of the workers on batches, done in the test's own thread, a step at a time."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from batches import tasks
from batches.models import Batch
from inference_client import tasks as runs
from inference_client.models import Run, RunStatus
from tests.inference_client.upstream import Call, Script, Upstream, Wire

#: What comes back for a prompt: by default it is repeated.
Reply = Callable[[str], str]
MODELS = {"data": [{"id": "tiny", "type": "model"}], "has_more": False}


def row(name: str, expected: str | None = None) -> dict[str, Any]:
    return {"values": {"name": name}, "expected": expected}


def asked(call: Call) -> str:
    """The last message of a request to the model."""
    content = call.json["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[-1]["text"])


def replying(reply: Reply) -> Script:
    """A model that answers each prompt by `reply`; one that is asked to judge is asked in the same way."""

    async def script(call: Call, wire: Wire) -> None:
        if call.method == "GET":
            await wire.answer(200, MODELS)
            return
        await wire.whole(reply(asked(call)))

    return script


class Work:
    """Sends what is queued and settles what has ended, as the workers do."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.says(lambda prompt: f"echo {prompt}")

    def says(self, reply: Reply) -> None:
        self.upstream.does(replying(reply))

    def goes_through(self, *scripts: Script) -> None:
        """The requests for an answer are met by `scripts` in turn, the last one by all that follow."""

        async def script(call: Call, wire: Wire) -> None:
            if call.method == "GET":
                await wire.answer(200, MODELS)
            else:
                await scripts[min(len(self.generations), len(scripts)) - 1](call, wire)

        self.upstream.does(script)

    @property
    def generations(self) -> list[Call]:
        """The requests for an answer that arrived at the model."""
        return [call for call in self.upstream.calls if call.method == "POST"]

    def fill(self, batch: dict[str, Any]) -> None:
        tasks.refill_batch(batch["id"])

    def send(self) -> list[uuid.UUID]:
        """Send every queued run; their ids."""
        queued = list(Run.objects.filter(status=RunStatus.QUEUED).order_by("pk").values_list("pk", flat=True))
        for run_id in queued:
            runs.send_run(str(run_id))
        return queued

    def settle(self, run_ids: list[uuid.UUID]) -> None:
        for run_id in run_ids:
            tasks.settle_run(str(run_id))

    def finish(self, batch: dict[str, Any], *, turns: int = 200) -> None:
        """Go on until nothing is on its way."""
        self.fill(batch)
        for _ in range(turns):
            sent = self.send()
            if not sent:
                return
            self.settle(sent)
        raise AssertionError(f"not finished after {turns} turns")


def state(batch: dict[str, Any]) -> str:
    return str(Batch.objects.get(pk=batch["id"]).state)


def verdicts(cell: dict[str, Any]) -> list[str]:
    return [each["verdict"] for each in cell["checks"]]


def as_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]
