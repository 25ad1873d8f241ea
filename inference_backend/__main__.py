"""python -m inference_backend serve --host HOST --port PORT

Configuration is read from the environment; settings.py lists the variables.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import uvicorn

from inference_backend.app import build_app
from inference_backend.logs import configure_logging
from inference_backend.settings import Settings, SettingsError

# Longer than any sensible proxy keeps its idle connections, so that it is never us who closes one under a request.
KEEP_ALIVE_S = 75
SHUTDOWN_S = 8


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m inference_backend", description="The inference tier.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="answer the Messages API")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8090)
    arguments = parser.parse_args(argv)
    configure_logging()
    try:
        app = build_app(Settings.from_environment(os.environ))
    except SettingsError as error:
        sys.exit(f"inference_backend: {error}")
    uvicorn.run(
        app,
        host=arguments.host,
        port=arguments.port,
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=False,
        # Nobody here asks where a request came from.
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )


if __name__ == "__main__":
    main()
