"""What a scheduler's refusal is to a caller."""

from inference_backend.errors import (
    CapacityStartingError,
    DeadlineExceededError,
    EngineUnavailableError,
    OverloadedError,
)
from inference_backend.scheduling.delay_gate import Refusal


def refusal_error(refusal: Refusal, *, model: str) -> OverloadedError:
    """The error to raise for it."""
    retry_after_s = refusal.retry_after_s
    if refusal.code == "capacity_starting":
        text = f"{model} is starting and expected in {retry_after_s} s or more."
        return CapacityStartingError(text, retry_after_s=retry_after_s)
    if refusal.code == "no_capacity":
        text = f"No engine of {model} is ready; try again shortly."
        return EngineUnavailableError(text, retry_after_s=retry_after_s)
    if refusal.code == "deadline":
        text = f"{model} cannot answer in the time that this request may wait."
        return DeadlineExceededError(text, retry_after_s=retry_after_s)
    text = f"{model} has more work than it can do for requests of this kind; try again in {retry_after_s} s."
    return OverloadedError(text, retry_after_s=retry_after_s)
