"""python -m inference_backend serve --host HOST --port PORT
python -m inference_backend plan --rate 2000 --batch 50 --call-ms 200
python -m inference_backend simulate [SCENARIO...] [--seed N] [--json FILE]

What `serve` needs to know is read from the environment; settings.py lists the variables.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence

import uvicorn

from inference_backend import plan, simulate
from inference_backend.app import build_app
from inference_backend.draining import CLOSING_S, DrainingServer
from inference_backend.logs import configure_logging
from inference_backend.settings import Settings, SettingsError

# Longer than any sensible proxy keeps its idle connections, so that it is never us who closes one under a request.
KEEP_ALIVE_S = 75
# New objects between two looks of the garbage collector: hundreds of requests in flight make 700, the default, every
# few requests.
COLLECT_AFTER = 20_000
#: As uvicorn's own command says it.
STARTUP_FAILED = 3


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inference_backend", description="The inference tier.")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="answer the Messages API")
    serving.add_argument("--host", default="127.0.0.1")
    serving.add_argument("--port", type=int, default=8090)
    plan.add_arguments(commands.add_parser("plan", help="how many GPUs a rate of fixed batch calls needs"))
    simulate.add_arguments(commands.add_parser("simulate", help="what the pools do in named situations"))
    arguments = parser.parse_args(argv)
    if arguments.command == "plan":
        return plan.main(arguments)
    if arguments.command == "simulate":
        return simulate.main(arguments)
    serve(arguments.host, arguments.port)
    return 0


def serve(host: str, port: int) -> None:
    """Until it is told to stop. Raises SystemExit where the settings make no sense."""
    configure_logging()
    try:
        settings = Settings.from_environment(os.environ)
        app = build_app(settings)
    except SettingsError as error:
        sys.exit(f"inference_backend: {error}")
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=False,
        # Nobody here asks where a request came from.
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=CLOSING_S,
    )
    server = DrainingServer(
        config,
        in_flight=app.state.service.in_flight,
        patience_s=settings.shutdown_s,
        linger_s=settings.linger_s,
    )
    spare_the_collector()
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILED)


def spare_the_collector() -> None:
    """What was built until now stays to the end, so there is no use in going through it again and again.

    At 480 requests in flight the collector took a quarter of the time of each, and held all of them for tens of
    milliseconds now and then.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)


if __name__ == "__main__":
    sys.exit(main())
