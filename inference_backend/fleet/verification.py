"""What must be true of an engine before it is given work.

It is well, it serves the wanted model, it is the wanted version, and it speaks: some engines say "healthy" while they
load, or with a broken device. The version is the digest that the engine states, where it states one, and otherwise
what the operator's configuration says. So beyond it the answer to one question, decoded greedily, must be the known
one; where none is known, all replicas of one version must give the answer of the first of them.
"""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass

from inference_backend.engines.protocol import Engine, GenerationRequest, ServedModel, TextDelta, Turn
from inference_backend.engines.time_limit import within
from inference_backend.errors import EngineFailedError

HEALTH_TIMEOUT_S = 5.0
GOLDEN_TIMEOUT_S = 60.0
GOLDEN = GenerationRequest(
    turns=(Turn(role="user", text="What is the capital of France?"),), max_tokens=8, temperature=0.0
)
#: The version of a replica that nobody named.
UNNAMED = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What one replica showed. `version` is a digest, or UNNAMED; `golden` the answer to the golden question."""

    served: ServedModel
    version: str
    golden: str


async def check_health(engine: Engine) -> None:
    """Raises EngineError."""
    await within(HEALTH_TIMEOUT_S, engine.check_health())


async def ask_what_is_served(engine: Engine, configured_digest: str | None) -> tuple[ServedModel, str]:
    """(what is served, its version). Raises EngineError, also where the engine states another version."""
    served = await within(HEALTH_TIMEOUT_S, engine.describe())
    if served.digest and configured_digest and served.digest != configured_digest:
        raise EngineFailedError(f"The engine serves version {served.digest}, not {configured_digest}.")
    return served, served.digest or configured_digest or UNNAMED


async def ask_golden_question(engine: Engine) -> str:
    """Raises EngineError, also for an answer without words."""
    said = await within(GOLDEN_TIMEOUT_S, _speak(engine))
    if not said:
        raise EngineFailedError("The engine gave an empty answer to a simple question.")
    return said


def compare(evidence: Evidence, *, known_golden: str | None, peers: Iterable[Evidence]) -> None:
    """`peers`: verified replicas of the same model, the first verified first. Raises EngineFailedError."""
    if known_golden is not None and evidence.golden != known_golden.strip():
        raise EngineFailedError("The engine gave another answer than the known one to the golden question.")
    first = next((peer for peer in peers if peer.version == evidence.version), None)
    if first is None:
        return
    if known_golden is None and first.golden != evidence.golden:
        raise EngineFailedError("The engine answers the golden question differently from others of its version.")
    stated, expected = evidence.served.fingerprint, first.served.fingerprint
    if stated and expected and stated != expected:
        raise EngineFailedError("The engine has loaded another model than others of its version.")


async def _speak(engine: Engine) -> str:
    said = ""
    async with aclosing(engine.generate(GOLDEN)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                said += event.text
    return said.strip()
