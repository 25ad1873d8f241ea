"""Long texts in pieces, for classifiers that count words."""


def split_text(text: str, *, size: int) -> list[str]:
    """Pieces of at most `size` characters, cut at blanks where there are any, each overlapping the next by a tenth.

    A model over word counts sees little of one bad sentence among many good ones.
    """
    pieces, start = [], 0
    while len(text) - start > size:
        blank = text.rfind(" ", start + size // 2, start + size)
        end = blank if blank > 0 else start + size
        pieces.append(text[start:end])
        start = end - size // 10
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]
