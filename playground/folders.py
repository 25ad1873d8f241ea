"""The folders of prompts as a tree. A folder is a path in its prompts' rows: it exists while one of them is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tree(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """From the number of prompts by path: `{name, path, count, total, children}`, by name.

    `count` are the prompts in the folder itself, `total` also those further down.
    """
    top: dict[str, Any] = {"path": "", "children": {}}
    for path, count in counts.items():
        node = top
        for name in filter(None, path.split("/")):
            inside = f"{node['path']}/{name}".lstrip("/")
            fresh = {"name": name, "path": inside, "count": 0, "total": 0, "children": {}}
            node = node["children"].setdefault(name, fresh)
            node["total"] += count
        if node is not top:
            node["count"] += count
    return _listed(top)


def _listed(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    inside = sorted(node["children"].values(), key=lambda child: (child["name"].casefold(), child["name"]))
    return [{**child, "children": _listed(child)} for child in inside]
