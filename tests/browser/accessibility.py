"""What axe-core finds wrong with a page for people who do not see it, or not well, or use no mouse."""

from __future__ import annotations

import functools
from pathlib import Path

from playwright.sync_api import Page

SOURCE = Path(__file__).resolve().parent.parent.parent / "node_modules" / "axe-core" / "axe.min.js"
#: The rules of WCAG 2.2 A and AA, and axe's own of the same weight.
RUN = """async () => {
    const { violations } = await axe.run(document, {
        resultTypes: ["violations"],
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .flatMap(({ id, help, nodes }) =>
            nodes.slice(0, 5).map((node) => `${id}: ${help}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""


@functools.cache
def _source() -> str:
    assert SOURCE.is_file(), "axe-core is not installed: npm ci"
    return SOURCE.read_text(encoding="utf-8")


def serious_violations(page: Page) -> list[str]:
    """One line a place, at most five of a rule. It is brought in by the debugger: the page's own policy forbids it."""
    if not page.evaluate("() => typeof axe === 'object'"):
        page.evaluate(_source())
    found: list[str] = page.evaluate(RUN)
    return found
