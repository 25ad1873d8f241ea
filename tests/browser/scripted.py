"""The application on a model server that plays the scripts of `answers`, one for the whole test run.

The last message of a prompt names its script. Everything else is real: pages, worker, streams, database.

As the model server: `python -m tests.browser.scripted FILE`, where FILE is to hold its address.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from embedded.ports import free_port
from tests.browser import answers
from tests.browser.answers import MODEL
from tests.browser.live_accounts import LiveAccount, LiveAccounts
from tests.inference_client.upstream import Call, Script, Upstream, Wire
from tests.services_plugin import (
    ALONE,
    OWNER_VARIABLE,
    ROOT,
    RUN_VARIABLE,
    START_WITHIN_S,
    Instance,
    is_well,
    one_at_a_time,
    shared,
)
from tests.waiting import wait_until


class Playing(Upstream):
    """Answers a call for messages with the script that its last message names."""

    def __init__(self) -> None:
        super().__init__()
        self.does(self._play)

    async def _play(self, call: Call, wire: Wire) -> None:
        if call.method == "GET":
            price = {"input_per_mtok": 3, "output_per_mtok": 15}
            await wire.answer(200, {"data": [{"id": MODEL, "type": "model", "price": price}], "has_more": False})
        elif call.path.startswith("/v1/messages/count_tokens"):
            await wire.answer(200, {"input_tokens": 12})
        else:
            script: Script = getattr(answers, _last_words(call.json["messages"][-1]["content"]))
            await script(call, wire)


def _last_words(content: Any) -> str:
    return str(content if isinstance(content, str) else content[-1].get("text", ""))


def model_server_address() -> str:
    """Of the server that whichever worker needed it first has started. It ends with the test run."""
    run = Path(os.environ[RUN_VARIABLE])
    file = run / "scripted.address"
    with one_at_a_time(run / "scripted-model.lock"):
        if not file.exists():
            command = [sys.executable, "-m", "tests.browser.scripted", str(file)]
            subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True)
            wait_until(file.exists)
    return file.read_text(encoding="utf-8")


def main(file: Path, owner: int) -> None:
    """Serves until the process `owner` is gone."""
    server = Playing()
    # Whole or not there at all, for whoever waits for it.
    written = file.with_suffix(".new")
    written.write_text(server.url, encoding="utf-8")
    written.rename(file)
    while psutil.pid_exists(owner):
        time.sleep(1)
    server.close()


@pytest.fixture(scope="session")
def scripted_stack() -> Instance:
    environment = {**ALONE, "INFERENCE_BASE_URL": model_server_address()}
    instance = shared("scripted", "--port", str(free_port()), environment=environment)
    wait_until(lambda: is_well(f"{instance.base_url}/readyz"), within_s=START_WITHIN_S)
    return instance


@pytest.fixture(scope="session")
def scripted_account(scripted_stack: Instance) -> Iterator[LiveAccount]:
    made = LiveAccounts(scripted_stack)
    yield made.create("scripted", tier="pro")
    made.close()


@pytest.fixture(scope="session")
def scripted_api(scripted_stack: Instance, scripted_account: LiveAccount) -> Iterator[httpx2.Client]:
    with scripted_stack.api(scripted_account.key) as client:
        yield client


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(os.environ[OWNER_VARIABLE]))
