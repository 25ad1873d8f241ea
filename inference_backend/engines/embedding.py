"""What an embedding engine makes of one text."""

import array
import sys
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedding:
    """`vector`: 32-bit floats, little-endian, as the API's base64 form has them. `tokens`: size of the text."""

    vector: bytes
    tokens: int

    def numbers(self) -> list[float]:
        values = array.array("f", self.vector)
        if sys.byteorder == "big":
            values.byteswap()
        return values.tolist()
