"""An answer that another process writes, heard as it comes: through the store, in which that process shares it."""

import asyncio
import time

from inference_backend.errors import EngineCutError, StoreDownError
from inference_backend.idempotency.journal import LEASE_S, Claim, Heard, Journal
from inference_backend.idempotency.key import KeyedRequest
from inference_backend.idempotency.recording import Recording, head_of

#: Between two questions. Whoever writes shares as often, once it knows that somebody listens.
HEAR_S = 0.2


class Listener:
    """Made for one answer and used once."""

    def __init__(self, journal: Journal, request: KeyedRequest, recording: Recording) -> None:
        self._journal = journal
        self._request = request
        self._recording = recording
        self._at = 0
        self._body = bytearray()
        self._fence = ""

    async def listen(self) -> bool:
        """Until the answer is no longer being written. Whether anything of it was heard, and then passed on.

        Raises EngineCutError where another attempt has begun since, and StoreDownError.
        """
        give_up = time.monotonic() + LEASE_S
        while True:
            try:
                heard = await self._journal.hear(self._request, self._at)
            except StoreDownError:
                if time.monotonic() >= give_up:
                    raise
            else:
                give_up = time.monotonic() + LEASE_S
                if heard.ended:
                    return self._at > 0
                await self._pass_on(heard)
            await asyncio.sleep(HEAR_S)

    async def complete(self, claim: Claim) -> bool:
        """Passes on the rest of the answer that was written down meanwhile. Raises EngineCutError where it is another,
        or none."""
        answer = claim.answer
        if claim.verdict != "done" or answer is None or not answer.body.startswith(self._body):
            raise lost()
        await self._recording.send({"type": "http.response.body", "body": answer.body[self._at :], "more_body": False})
        return True

    async def _pass_on(self, heard: Heard) -> None:
        if not heard.body or heard.head is None:
            return
        if not self._at:
            self._fence = heard.fence
            await self._recording.send(head_of(heard.head))
        elif heard.fence != self._fence:
            raise lost()
        self._at += len(heard.body)
        self._body += heard.body
        await self._recording.send({"type": "http.response.body", "body": heard.body, "more_body": True})


def lost() -> EngineCutError:
    return EngineCutError("The process that wrote this answer was lost. Try again with the same key.")
