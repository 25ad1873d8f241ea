"""The scripts of a page, named at its top: a browser that learns of each from the one before waits once a level."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

from django import template
from django.conf import settings
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()

#: What a module needs before it can run; `import()` in the middle of a function is left to its moment.
_IMPORT = re.compile(r"""^(?:import|export)\b[^"';(]*["'](\.[^"']+)["']""", re.MULTILINE)


@register.simple_tag
def module_preloads(entry: str) -> SafeString:
    """A `modulepreload` for each module that the one at `entry` (below static/) imports, or they do, largest first."""
    imported = imports(entry) if settings.DEBUG else _remembered(entry)
    return format_html_join("\n", '<link rel="modulepreload" href="{}">', ((static(name),) for name in imported))


def imports(entry: str) -> Sequence[str]:
    """The names below static/ of all modules that `entry` leads to, without itself, largest first."""
    sizes: dict[str, int] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        path = finders.find(name)
        if name in sizes or path is None:
            continue
        text = Path(path).read_text(encoding="utf-8")
        sizes[name] = len(text)
        waiting += (posixpath.normpath(posixpath.join(posixpath.dirname(name), to)) for to in _IMPORT.findall(text))
    sizes.pop(entry, None)
    return sorted(sizes, key=lambda name: (-sizes[name], name))


_remembered = functools.cache(imports)
