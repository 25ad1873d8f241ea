"""Thousands of versions at once, for the tests of the tree: written as rows, because saving each takes too long."""

from __future__ import annotations

from tests.browser.live_accounts import LiveAccounts

#: Every tenth version goes to one of five side branches; every hundredth of the main line merges one.
SCRIPT = """
import uuid
from playground.models import Branch, Prompt, Version
prompt = Prompt.objects.get(pk="{prompt}")
first = Version.objects.get(prompt=prompt, number=1)
heads = [first] * 6
made = []
for number in range(2, {count} + 1):
    lane = 1 + number // 10 % 5 if number % 10 == 0 else 0
    other = heads[1 + number // 100 % 5]
    merged = other if number % 100 == 1 and other is not heads[0] else None
    version = Version(
        prompt=prompt, number=number, parent=heads[lane], merged_parent=merged, author=first.author, model=first.model,
        message=f"Version {{number}} of many, with a message of some length", spec=first.spec, digest=first.digest,
    )
    heads[lane] = version
    made.append(version)
Version.objects.bulk_create(made, batch_size=1000)
for lane, head in enumerate(heads):
    name = "main" if lane == 0 else f"side-{{lane}}"
    Branch.objects.update_or_create(prompt=prompt, name=name, defaults={{"head": head}})
print(len(made))
"""


def fill_tree(application: LiveAccounts, prompt: str, count: int) -> None:
    """Gives a prompt that has one version `count` of them, on six branches."""
    assert str(count - 1) in application.execute(SCRIPT.format(prompt=prompt, count=count))
