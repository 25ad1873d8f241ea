"""Whether a prompt with 10,000 versions is as quick to use as one with 10.

    python -m embedded.throw_away python -m benchmarks.many_versions
    python -m benchmarks.many_versions --page     starts the whole application in a temporary folder, and Chromium

Calls of the API through Django's own client, in one process, on the real database: one version by number, the first
page of versions, and the whole tree with its lanes. Both prompts are asked in turn, so that a noisy moment hits both.

With `--page`: the page with the tree of the many, on the running application. `server`: the page, the whole tree in
columns and the API's own form of it, as a signed-in browser gets them. `browser`: from the click on the address until
the rows around the open version are on the screen and until every row can be scrolled to, with everything that the
page loads from the browser's cache but its own text and the tree, as on any visit but the first. The tab has been open
for a while: a new one loads parts of the browser's own surface beside the page, for half a second on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from accounts.services import create_account, create_api_key  # noqa: E402
from benchmarks.thin_path import ROOT, Application, running_application  # noqa: E402
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


FILL = """
from accounts.models import User
from benchmarks.many_versions import MANY, prompt_with
print(prompt_with(MANY, User.objects.earliest("pk")).pk)
"""
#: Notes when the first rows of the tree are there, by the page's own clock, and paints once before it says so; and when
#: the tree is whole.
WATCH = """
const painted = (name) => requestAnimationFrame(() => setTimeout(() => { window[name] ??= performance.now(); }));
new MutationObserver((changes, watcher) => {
    if (!document.querySelector(".tree-row")) return;
    painted("rowsAt");
    if (document.querySelector("[data-tree]").getAttribute("aria-busy") !== "false") return;
    painted("wholeAt");
    watcher.disconnect();
}).observe(document, { childList: true, subtree: true, attributes: true });
"""
TIMES = """() => {
    const tree = performance.getEntriesByType("resource").find((each) => each.name.endsWith("/tree/columns"));
    const page = performance.getEntriesByType("navigation")[0];
    return {
        page: page.responseEnd, rows: window.rowsAt, tree_asked: tree.startTime, tree: tree.responseEnd,
        whole: window.wholeAt,
    };
}"""
SETTLED_MS = 1500
PAGE_ROUNDS = 12


def page_report() -> dict[str, Any]:
    with running_application() as data:
        application = Application(data)
        environment = {**os.environ, **application.environment}
        filled = subprocess.run(
            [sys.executable, "manage.py", "shell", "-c", FILL],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        prompt_id = filled.stdout.split()[-1]
        page, tree = f"/prompts/{prompt_id}/", f"/api/v1/prompts/{prompt_id}/tree"
        paths = {"page": page, "tree_columns": f"{tree}/columns", "tree": tree}
        server = {name: [application.page(path) for _ in range(PAGE_ROUNDS)] for name, path in paths.items()}
        return {
            "server_ms": {name: round(statistics.median(times[1:]) * 1000, 1) for name, times in server.items()},
            "browser_ms": in_browser(application, page),
        }


def in_browser(application: Application, path: str) -> dict[str, float]:
    """Medians in ms since the address was opened: page there, first rows seen, tree asked for, there, whole."""
    url = application.environment["PUBLIC_URL"]
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        context.add_cookies(
            [{"name": name, "value": value, "url": url} for name, value in application.http.cookies.items()]
        )
        context.add_init_script(WATCH)
        times: list[dict[str, float]] = []
        for _ in range(PAGE_ROUNDS):
            page = context.new_page()
            page.wait_for_timeout(SETTLED_MS)
            page.goto(url + path)
            page.wait_for_selector("[data-tree][aria-busy=false] .tree-row")
            page.wait_for_timeout(300)
            times.append(page.evaluate(TIMES))
            page.close()
        browser.close()
    return {name: round(statistics.median(each[name] for each in times[1:]), 1) for name in times[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true")
    report = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    report |= {"page_of_many": page_report()} if parser.parse_args().page else api_report()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


def api_report() -> dict[str, Any]:
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
    return {
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "versions": [FEW, MANY],
        "median_ms": medians,
        "ratio_version": round(medians["version_many"] / medians["version_few"], 2),
        "ratio_page": round(medians["page_many"] / medians["page_few"], 2),
        "tree_of_many_ms": round(statistics.median(tree) * 1000, 1),
    }


if __name__ == "__main__":
    main()
