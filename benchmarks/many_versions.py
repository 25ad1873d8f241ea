"""Whether a prompt with 10,000 versions is as quick to use as one with 10.

    python -m embedded.throw_away python -m benchmarks.many_versions

Calls of the API through Django's own client, in one process, on the real database: one version by number, the first
page of versions, and the whole tree with its lanes. Both prompts are asked in turn, so that a noisy moment hits both.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

from accounts.services import create_account, create_api_key  # noqa: E402
from playground import services  # noqa: E402
from playground.models import Branch, Prompt, Version  # noqa: E402
from playground.spec import parse  # noqa: E402

RESULTS = Path(__file__).resolve().parent / "results" / "many_versions.json"
FEW, MANY, BRANCH_EVERY, ROUNDS = 10, 10_000, 25, 40
SPEC = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hello"}]}


def prompt_with(count: int, owner: Any) -> Prompt:
    """A prompt of `count` versions; each 25th starts a side line of a few."""
    prompt = services.create_prompt(owner=owner, name=f"{count} versions")
    first = services.save_version(author=owner, prompt=prompt, spec=parse(SPEC), message="first").version
    versions = [first]
    for number in range(2, count + 1):
        side = number % BRANCH_EVERY in (1, 2, 3) and number > BRANCH_EVERY
        parent = versions[-5] if side and number % BRANCH_EVERY == 1 else versions[-1]
        version = Version(
            prompt=prompt,
            number=number,
            parent=parent,
            author=owner,
            message=f"Change number {number}, with a sentence as long as people write",
            model="m",
            spec=first.spec,
            digest=first.digest,
        )
        versions.append(version)
    Version.objects.bulk_create(versions[1:], batch_size=1000)
    Branch.objects.filter(prompt=prompt).update(head=versions[-1])
    return prompt


def timed(client: Client, path: str) -> float:
    started = time.perf_counter()
    answer = client.get(path)
    if answer.status_code != 200:
        raise SystemExit(f"{path}: {answer.status_code}")
    return time.perf_counter() - started


def measure(client: Client, paths: dict[str, str]) -> dict[str, float]:
    """The median in ms of each path, asked in turn."""
    times: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(ROUNDS):
        for name, path in paths.items():
            times[name].append(timed(client, path))
    return {name: round(statistics.median(values[1:]) * 1000, 2) for name, values in times.items()}


def main() -> None:
    call_command("migrate", verbosity=0)
    owner = create_account(email="benchmark@example.com", password="a long benchmark word 1")
    _, key = create_api_key(account=owner, name="benchmark", scopes=["api"])
    client = Client(headers={"Authorization": f"Bearer {key}"})
    few, many = prompt_with(FEW, owner), prompt_with(MANY, owner)
    paths = {}
    for name, prompt, number in (("few", few, FEW // 2), ("many", many, MANY // 2)):
        paths[f"version_{name}"] = f"/api/v1/prompts/{prompt.pk}/versions/{number}?include=texts"
        paths[f"page_{name}"] = f"/api/v1/prompts/{prompt.pk}/versions?limit=10"
    medians = measure(client, paths)
    tree = [timed(client, f"/api/v1/prompts/{many.pk}/tree") for _ in range(5)]
    report = {
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "versions": [FEW, MANY],
        "median_ms": medians,
        "ratio_version": round(medians["version_many"] / medians["version_few"], 2),
        "ratio_page": round(medians["page_many"] / medians["page_few"], 2),
        "tree_of_many_ms": round(statistics.median(tree) * 1000, 1),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
