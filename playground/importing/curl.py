"""A cURL command as people paste it: from documentation, from a browser, from our own snippets.

Its address and all its headers are dropped: they hold keys. Only the body is read.
"""

from __future__ import annotations

import re

from core.parsers import parse_json
from playground.importing.imported import Json, refuse

_PART = re.compile(
    r"""(?P<ansi>\$'(?:[^'\\]|\\.)*')
      | (?P<single>'[^']*')
      | (?P<double>"(?:[^"\\]|\\.)*")
      | (?P<escaped>\\.)
      | (?P<blank>\s+)
      | (?P<plain>[^\s'"\\$]+|\$)""",
    re.DOTALL | re.VERBOSE,
)
_HEREDOC = re.compile(
    r"<<-?[ \t]*(['\"]?)(?P<end>\w+)\1[^\n]*\r?\n(?P<body>.*?)(?:^|\n)(?P=end)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_ANSI = re.compile(r"\\(u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_LONG = ("--data", "--data-raw", "--data-binary", "--data-ascii", "--json")


def is_command(text: str) -> bool:
    return re.match(r"\s*(?:\$\s+)?curl(?:\.exe)?\s", text) is not None


def read_body(text: str) -> Json:
    """The JSON body that the command would send. Raises InvalidInput, without a word of the command."""
    heredoc = _HEREDOC.search(text)
    words = split(text[: heredoc.start()] if heredoc else text)
    data = "".join(_data(words))
    if data == "@-" and heredoc:
        data = heredoc["body"]
    if not data:
        raise refuse("This command sends no body (--data or --json).")
    if data.startswith("@"):
        raise refuse("This command reads its body from a file: paste what is in the file instead.")
    return parse_json(data.encode("utf-8", "surrogatepass"))


def split(command: str) -> list[str]:
    """The words of a POSIX shell command. Variables are left as they are written."""
    words: list[str] = []
    current: str | None = None
    at = 0
    while at < len(command):
        part = _PART.match(command, at)
        if part is None:
            raise refuse("A quotation mark of this command is never closed.")
        at = part.end()
        if part.lastgroup == "blank":
            words += [current] if current is not None else []
            current = None
        elif (text := _unquoted(part)) is not None:
            current = (current or "") + text
    return [*words, current] if current is not None else words


def _unquoted(part: re.Match[str]) -> str | None:
    """None for a line that goes on: it adds nothing, not even an empty word."""
    text, kind = part[0], part.lastgroup
    if kind == "escaped":
        return None if text[1] == "\n" else text[1]
    if kind == "single":
        return text[1:-1]
    if kind == "double":
        return re.sub(r"\\(\n|[\"\\$`])", lambda found: "" if found[1] == "\n" else found[1], text[1:-1])
    return _ANSI.sub(_ansi, text[2:-1]) if kind == "ansi" else text


def _ansi(escape: re.Match[str]) -> str:
    what = escape[1]
    if what[0] in "uUx" and len(what) > 1:
        code = int(what[1:], 16)
        return chr(code) if code < 0x110000 else "\ufffd"
    if what[0] in "01234567":
        return chr(int(what, 8) & 0xFF)
    return _ANSI_LETTERS.get(what, what)


def _data(words: list[str]) -> list[str]:
    """The values of all options that send data, in order."""
    found = []
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=")
        if word in _LONG or word == "-d":
            found.append(next(waiting, ""))
        elif equals and name in _LONG:
            found.append(value)
        elif word.startswith("-d") and not word.startswith("--"):
            found.append(word[2:])
    return found
