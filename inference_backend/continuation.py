"""Going on with an answer whose replica was lost, so that the caller sees one answer.

Decoding greedily, an engine that is given the same request says the same again. So the surest way is *replay*: ask
another replica for the whole answer, compare it with what the caller has, pass on what comes after. It costs the time
to write the answer so far once more. *Prefill* costs next to none: the text so far goes along as the beginning of the
answer. But reading tokens in one go rounds differently from writing them one by one, and text need not be cut into
tokens as it was written; where two next tokens are nearly as likely, the rest may then differ. So prefill is the way
for long answers, from a boundary before the last word, which is written again and compared.
"""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from inference_backend.engines.protocol import EngineEvent, GenerationRequest, Started, TextDelta, Turn, Usage

Way = Literal["replay", "prefill"]


class SeamMismatchError(Exception):
    """The other replica does not say what the caller has been told: going on would garble the answer."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place in the text so far, in characters, and the number of tokens before it."""

    length: int
    tokens: int


class Transcript:
    """What an answer has said so far. Where the engine does not count, a piece is taken for a token."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._boundaries: list[Boundary] = []
        self._length = 0
        self._counted: int | None = None
        self.input_tokens: int | None = None

    def take(self, event: EngineEvent) -> None:
        if isinstance(event, Started | Usage) and event.input_tokens is not None:
            self.input_tokens = event.input_tokens
        match event:
            case TextDelta(text=text, output_tokens=tokens):
                self._boundaries.append(Boundary(self._length, self.tokens))
                self._pieces.append(text)
                self._length += len(text)
                if tokens is not None:
                    self._counted = tokens
            case Usage(output_tokens=int() as tokens):
                self._counted = tokens

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def tokens(self) -> int:
        return len(self._pieces) if self._counted is None else self._counted

    def word_boundary(self) -> Boundary | None:
        """The last place where a piece began with white space, after a character that is none.

        There a token surely ended: no vocabulary in use has tokens of a word's end and the blank behind it. And
        templates that strip the text of a message change nothing.
        """
        text = self.text
        for boundary in reversed(self._boundaries):
            at = boundary.length
            if 0 < at < len(text) and text[at].isspace() and not text[at - 1].isspace():
                return boundary
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumption:
    """What to ask of the next replica. Its answer begins with `overlap`, which the caller has already.

    `tokens_before` were written before the part that is asked for. `knows_input`: the size of the prompt was told by
    the first replica. `drop_white_space`: what white space the answer begins with, the caller has already.
    """

    request: GenerationRequest
    way: Way
    overlap: str = ""
    tokens_before: int = 0
    knows_input: bool = False
    drop_white_space: bool = False

    def corrected(self, usage: Usage, *, is_caught_up: bool) -> Usage:
        """As if one replica had done it all: the text so far is output, not input."""
        output, prompt = usage.output_tokens, usage.input_tokens
        return Usage(
            input_tokens=None if prompt is None or self.knows_input else max(0, prompt - self.tokens_before),
            output_tokens=None if output is None or not is_caught_up else self.tokens_before + output,
        )


def resume_by_replay(request: GenerationRequest, transcript: Transcript) -> Resumption:
    return Resumption(
        request=request, way="replay", overlap=transcript.text, knows_input=transcript.input_tokens is not None
    )


def resume_by_prefill(request: GenerationRequest, transcript: Transcript) -> Resumption | None:
    """None where no boundary is known that is safe to cut at."""
    boundary = transcript.word_boundary()
    if boundary is None or boundary.tokens >= request.max_tokens:
        return None
    text = transcript.text
    return Resumption(
        request=_with_beginning(request, text[: boundary.length], tokens=boundary.tokens),
        way="prefill",
        overlap=text[boundary.length :],
        tokens_before=boundary.tokens,
        knows_input=transcript.input_tokens is not None,
    )


def resume_sampled(request: GenerationRequest, transcript: Transcript) -> Resumption | None:
    """Nothing can be compared: another sample would have other words. None where nothing is left to write."""
    text = transcript.text
    if transcript.tokens >= request.max_tokens or not text.strip():
        return None
    return Resumption(
        request=_with_beginning(request, text.rstrip(), tokens=transcript.tokens),
        way="prefill",
        tokens_before=transcript.tokens,
        knows_input=transcript.input_tokens is not None,
        drop_white_space=text != text.rstrip(),
    )


class Seam:
    """Takes the text of the next replica and lets through what the caller does not have."""

    def __init__(self, resumption: Resumption) -> None:
        self._left = resumption.overlap
        self._drop_white_space = resumption.drop_white_space

    @property
    def is_closed(self) -> bool:
        return not self._left

    def feed(self, text: str) -> str:
        """Raises SeamMismatchError."""
        if self._drop_white_space:
            text = text.lstrip()
            self._drop_white_space = not text
            return text
        size = min(len(text), len(self._left))
        if text[:size] != self._left[:size]:
            raise SeamMismatchError
        self._left = self._left[size:]
        return text[size:]

    def finish(self) -> None:
        """Raises SeamMismatchError where the answer ended before it had caught up."""
        if self._left:
            raise SeamMismatchError


def _with_beginning(request: GenerationRequest, text: str, *, tokens: int) -> GenerationRequest:
    *turns, last = request.turns
    if last.role == "assistant":
        turns.append(Turn(role="assistant", text=last.text + text))
    else:
        turns += [last, Turn(role="assistant", text=text)]
    return dataclasses.replace(request, turns=tuple(turns), max_tokens=request.max_tokens - tokens)
