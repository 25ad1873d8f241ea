"""Which replica has seen the beginning of a prompt: engines keep it computed, so that reading it again is free."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

BLOCK_CHARACTERS = 512
MOST_BLOCKS = 32


def prefix_chain(texts: Iterable[str], *, block: int = BLOCK_CHARACTERS, most: int = MOST_BLOCKS) -> tuple[int, ...]:
    """One number for each full leading block of `block` characters, at most `most`.

    Each number stands for everything up to the end of its block, so equal numbers mean equal beginnings. Stable
    between processes, unlike hash().
    """
    digest = hashlib.blake2b(digest_size=8)
    chain: list[int] = []
    rest = ""
    for text in texts:
        # The end of a turn is part of the prompt: "ab" + "c" must not look like "a" + "bc".
        rest += text[: block * most] + "\x1e"
        while len(rest) >= block and len(chain) < most:
            digest.update(rest[:block].encode("utf-8", "surrogatepass"))
            chain.append(int.from_bytes(digest.digest(), "big"))
            rest = rest[block:]
        if len(chain) == most:
            break
    return tuple(chain)


class PrefixMemory:
    """The blocks that one replica computed last; `capacity` of them, the least recently used forgotten first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def matched(self, prefix: tuple[int, ...]) -> int:
        """How many leading blocks are remembered."""
        for count, block in enumerate(prefix):
            if block not in self._blocks:
                return count
        return len(prefix)

    def remember(self, prefix: tuple[int, ...]) -> None:
        # Last block first: a beginning outlives its continuations, which are worth nothing without it.
        for block in reversed(prefix[: self._capacity]):
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)

    def __len__(self) -> int:
        return len(self._blocks)
