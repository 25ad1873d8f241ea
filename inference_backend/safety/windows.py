"""Where a streaming answer is cut for inspection."""

from inference_backend.engines.protocol import TextDelta, ToolJson

# A mark at the end of a sentence, in the scripts that have one; a closing quote or bracket may follow.
SENTENCE_ENDS = tuple(".!?…\n。！？।؟")
CLOSING = "\"'”’)]}»*_`"
SHORTEST_SENTENCE = 24


class HeldBack:
    """The pieces of an answer that nobody has seen yet, until they are worth a look: at the end of a sentence, at a
    blank once `target` characters are there, or at twice as many wherever that is."""

    def __init__(self, *, target: int) -> None:
        self._target = target
        self._events: list[TextDelta | ToolJson] = []
        self.text = ""
        self.is_due = False

    def add(self, event: object) -> bool:
        """False: it holds nothing that a caller could read, and is not held back."""
        if not isinstance(event, TextDelta | ToolJson):
            return False
        piece = event.text if isinstance(event, TextDelta) else event.json
        self._events.append(event)
        self.text += piece
        self.is_due = self._is_worth_a_look()
        return True

    def take(self) -> list[TextDelta | ToolJson]:
        events, self._events = self._events, []
        self.text, self.is_due = "", False
        return events

    def _is_worth_a_look(self) -> bool:
        length = len(self.text)
        if length >= 2 * self._target or (length >= self._target and self.text[-1:].isspace()):
            return True
        return length >= SHORTEST_SENTENCE and self.text.rstrip(" " + CLOSING).endswith(SENTENCE_ENDS)
