"""What histories cost to keep, to save and to read, beside git and Mercurial, in one run.

    python -m embedded.throw_away python -m benchmarks.version_store [--only H1,HS] [--other-seeds 100]

Ours: bytes of all objects in S3, plus what the rows cost in PostgreSQL: their columns, and their share of the indexes
of a table that holds FILLER_ROWS more, as one in use does (the pages of an almost empty index would be charged to 300
rows otherwise). The droppable inline copies are printed beside. Saving is `stage` and `commit` against the real store.
Then the scheduled repacking runs until it is done, and the sweep; what was before is under `as_saved`. Reading is
`store.read` with its real GETs, from no cache; its CPU time is that of the whole process. git: one commit a version,
then `git repack -adf` with its defaults (window 10, depth 50) and with window 250; bytes of .git/objects. Mercurial:
the same commits through `hg convert`; bytes of .hg/store/data. Every one of our texts is read back and compared, before
and after. Each history is written to the results when it is done, beside those of earlier runs. Compare ratios;
milliseconds are only this machine's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts.models import User  # noqa: E402
from benchmarks.histories import SHAPES, Shape, history  # noqa: E402
from playground import services  # noqa: E402
from playground.bodies import chains, objects, store  # noqa: E402
from playground.models import Body, Prompt  # noqa: E402
from playground.services.repacking import repack_bodies  # noqa: E402
from playground.services.sweeping import sweep_objects  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "version_store.json"
FILLER_ROWS = 50_000
Seconds = list[float]


def spread(seconds: Seconds) -> dict[str, float]:
    values = sorted(value * 1000 for value in seconds)
    return {"p50_ms": round(statistics.median(values), 2), "p95_ms": round(values[int(0.95 * (len(values) - 1))], 2)}


def ours(shape: Shape, prompt: Prompt) -> dict[str, Any]:
    before = relation_bytes()
    hashes: list[str] = []
    saving: Seconds = []
    for parent, text in history(shape):
        data = text.encode()
        started = time.perf_counter()
        near = None if parent is None else hashes[parent]
        staged = store.stage(prompt=prompt, texts=[store.Text(data=data, near=near)])
        with transaction.atomic():
            store.commit(prompt=prompt, staged=staged)
        saving.append(time.perf_counter() - started)
        hashes.append(hashlib.sha256(data).hexdigest())
    as_saved = {**sizes(prompt), **reading(shape, prompt, hashes)}
    repacked = repacking(prompt)
    return {
        "save": spread(saving),
        "as_saved": as_saved,
        "repacking": repacked,
        **sizes(prompt),
        "relation_growth_bytes": relation_bytes() - before,
        **reading(shape, prompt, hashes),
    }


def sizes(prompt: Prompt) -> dict[str, Any]:
    bodies = Body.objects.filter(prompt=prompt)
    stored = sum(bodies.values_list("stored_length", flat=True))
    rows = row_bytes(prompt)
    return {
        "s3_bytes": stored,
        "row_bytes": rows,
        "total_bytes": stored + rows,
        "inline_copies_bytes": sum(body.stored_length for body in bodies.exclude(inline=None)),
        "objects": bodies.count(),
        "deepest_hops": max(hops(body) for body in bodies),
    }


def hops(body: Body) -> int:
    return len(chains.with_bases([body.pk])) - 1


def repacking(prompt: Prompt) -> dict[str, Any]:
    """The scheduled tasks, run until nothing is left to do, as if the saves had been two days ago."""
    later = timezone.now() + timedelta(days=2)
    started, used = time.perf_counter(), time.process_time()
    texts = 0
    while turn := repack_bodies(now=later):
        texts += turn
    report = {
        "texts": texts,
        "s": round(time.perf_counter() - started, 1),
        "cpu_s": round(time.process_time() - used, 1),
    }
    sweep_objects(now=later)
    listed = objects.client().list_objects_v2(Bucket=settings.S3_BUCKET, Prefix=f"bodies/{prompt.pk}/")["Contents"]
    in_store = sum(each["Size"] for each in listed)
    if in_store != sizes(prompt)["s3_bytes"]:
        raise SystemExit(f"the store holds {in_store} bytes, not what the rows say")
    return report


def reading(shape: Shape, prompt: Prompt, hashes: list[str]) -> dict[str, Any]:
    """Reads every version once from the store and the rows, comparing its text, then some of them more often."""
    every: Seconds = []
    computing: Seconds = []
    for (_, text), sha256 in zip(history(shape), hashes, strict=True):
        started, used = time.perf_counter(), time.process_time()
        read = store.read(prompt_id=prompt.pk, sha256s=[sha256])[sha256]
        every.append(time.perf_counter() - started)
        computing.append(time.process_time() - used)
        if read != text:
            raise SystemExit(f"{shape.name}: a text did not come back as it was saved")
    deepest = max(Body.objects.filter(prompt=prompt), key=hops)
    chosen = {"oldest": hashes[0], "middle": hashes[len(hashes) // 2], "deepest": bytes(deepest.sha256).hex()}
    times = {f"read_{name}": spread(timed_reads(prompt, sha256)) for name, sha256 in chosen.items()}
    return {"read_every": spread(every), "read_every_cpu": spread(computing), "yardstick_cpu": yardstick(), **times}


def yardstick() -> dict[str, float]:
    """CPU time of SHA-256 over 1 MB just now: 0.47 ms where nobody else runs, more where cores are shared."""
    data, times = bytes(1_000_000), []
    for _ in range(100):
        used = time.process_time()
        hashlib.sha256(data).digest()
        times.append(time.process_time() - used)
    return spread(times)


def timed_reads(prompt: Prompt, sha256: str) -> Seconds:
    times = []
    for _ in range(10):
        started = time.perf_counter()
        store.read(prompt_id=prompt.pk, sha256s=[sha256])
        times.append(time.perf_counter() - started)
    return times


def row_bytes(prompt: Prompt) -> int:
    """Bytes of this prompt's rows without `inline`, and their share of the indexes, as PostgreSQL counts them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_column_size(body.*) - coalesce(pg_column_size(inline), 0)), count(*)"
            " FROM playground_body body WHERE prompt_id = %s",
            [prompt.pk],
        )
        columns, count = cursor.fetchone()
        cursor.execute("SELECT pg_indexes_size('playground_body'), (SELECT count(*) FROM playground_body)")
        indexes, all_rows = cursor.fetchone()
    return int(columns) + int(indexes * count / all_rows)


def relation_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('playground_body')")
        return int(cursor.fetchone()[0])


def run(*words: str, cwd: Path, data: bytes | None = None) -> bytes:
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(cwd), "HGPLAIN": "1"}
    done = subprocess.run(words, cwd=cwd, input=data, capture_output=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:3])}: {done.stderr.decode()[:500]}")
    return done.stdout.strip()


def folder_bytes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def git_peer(shape: Shape, folder: Path) -> dict[str, Any]:
    run("git", "init", "-q", ".", cwd=folder)
    commits: list[str] = []
    saving: Seconds = []
    for number, (parent, text) in enumerate(history(shape)):
        started = time.perf_counter()
        blob = run("git", "hash-object", "-w", "--stdin", cwd=folder, data=text.encode()).decode()
        tree = run("git", "mktree", cwd=folder, data=f"100644 blob {blob}\ttext\n".encode()).decode()
        parents = [] if parent is None else ["-p", commits[parent]]
        identity = ["-c", "user.name=b", "-c", "user.email=b@example.com"]
        message = ["-m", str(number)]
        commits.append(run("git", *identity, "commit-tree", tree, *parents, *message, cwd=folder).decode())
        run("git", "update-ref", f"refs/heads/b{number}", commits[-1], cwd=folder)
        saving.append(time.perf_counter() - started)
    report: dict[str, Any] = {"save": spread(saving)}
    for name, window in (("default", 10), ("window_250", 250)):
        started = time.perf_counter()
        run("git", "repack", "-adfq", f"--window={window}", "--depth=50", cwd=folder)
        report[name] = {
            "total_bytes": folder_bytes(folder / ".git" / "objects", "*"),
            "repack_s": round(time.perf_counter() - started, 1),
        }
    started = time.perf_counter()
    run("git", "cat-file", "blob", f"{commits[-1]}:text", cwd=folder)
    report["read_newest_ms"] = round((time.perf_counter() - started) * 1000, 1)
    return report


def mercurial_peer(git_folder: Path, folder: Path) -> dict[str, Any]:
    """Through `hg convert`; its times are the conversion's, so only bytes are compared."""
    hg = [sys.executable, "-m", "mercurial"] if shutil.which("hg") is None else [shutil.which("hg") or "hg"]
    beside = Path(sys.executable).parent / "hg"
    command = [sys.executable, str(beside)] if beside.exists() else hg
    run(*command, "--config", "extensions.convert=", "convert", "-q", str(git_folder), "hg", cwd=folder)
    return {"total_bytes": folder_bytes(folder / "hg" / ".hg" / "store" / "data", "*")}


def fill(owner: User) -> None:
    """Rows of other prompts, inserted in order of time like real ones, so that indexes are as dense as in use."""
    prompt = services.create_prompt(owner=owner, name="filler")
    for start in range(0, FILLER_ROWS, 1000):
        rows = [
            Body(
                prompt=prompt,
                sha256=hashlib.sha256(str(number).encode()).digest(),
                byte_length=1,
                codec=Body.Codec.SNAPSHOT,
                stored_length=1,
                packing=1,
            )
            for number in range(start, start + 1000)
        ]
        first = Body.objects.bulk_create(rows[:1])[0]
        for row in rows[1:]:
            row.codec, row.base = Body.Codec.DELTA, first
        Body.objects.bulk_create(rows[1:])


def measure(shape: Shape, owner: User) -> dict[str, Any]:
    prompt = services.create_prompt(owner=owner, name=shape.name)
    report: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "seed": shape.seed,
        "versions": shape.versions,
        "length": shape.length,
        "ours": ours(shape, prompt),
    }
    with tempfile.TemporaryDirectory() as name:
        git_folder = Path(name) / "git"
        git_folder.mkdir()
        report["git"] = git_peer(shape, git_folder)
        report["mercurial"] = mercurial_peer(git_folder, Path(name))
    total = report["ours"]["total_bytes"]
    report["ratio"] = {
        "to_mercurial": round(total / report["mercurial"]["total_bytes"], 3),
        "to_git_default": round(total / report["git"]["default"]["total_bytes"], 3),
        "to_git_window_250": round(total / report["git"]["window_250"]["total_bytes"], 3),
    }
    computing = report["ours"]["read_every_cpu"]
    print(shape.name, json.dumps(report["ratio"]), f"{total:,} bytes, CPU of a read", computing, flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(shape.name for shape in SHAPES))
    parser.add_argument("--other-seeds", type=int, default=0, metavar="N", help="add N to the seed of each history")
    options = parser.parse_args()
    wanted, results = options.only.split(","), RESULTS
    if options.other_seeds:
        results = RESULTS.with_stem(f"{RESULTS.stem}_seeds_{options.other_seeds}")
    shapes = [replace(shape, seed=shape.seed + options.other_seeds) for shape in SHAPES if shape.name in wanted]
    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("benchmark@example.com", "unused password 1")
    fill(owner)
    report: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "histories": {},
    }
    if results.exists():
        report["histories"] = json.loads(results.read_text(encoding="utf-8"))["histories"]
    for shape in shapes:
        report["histories"][shape.name] = measure(shape, owner)
        results.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
