"""Test cases and the grid of a batch at 100,000 rows.

    python -m embedded.throw_away python -m benchmarks.batch_rows

`parse`: a CSV file of 100,000 rows of about a hundred bytes, read and packed, and then kept: in chunks of some hundred
rows, as the application does, beside a row of a table for each (jsonb, inserted 1,000 at a time). `windows`: 100 rows
at the beginning, the middle and the end, of both. `grid`: what the page of a batch of 100,000 rows through 2 versions
asks for, through Django's own client on the real database. `download`: the CSV file of the same grid, with whole
answers, and by how much the process grew meanwhile.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import platform
import random
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts.services import create_account, create_api_key  # noqa: E402
from batches.models import Batch, BatchItem, Dataset, RowSet  # noqa: E402
from batches.parsing import CsvRows, Layout, Problem  # noqa: E402
from batches.rows import Row, Totals, pack  # noqa: E402
from batches.services import row_sets  # noqa: E402
from batches.services.batches import AskedVersion, Plan, start_batch  # noqa: E402
from core.ids import new_id  # noqa: E402
from inference_client.models import Run  # noqa: E402
from playground import services  # noqa: E402
from playground.models import Prompt  # noqa: E402
from playground.spec import parse  # noqa: E402

RESULTS = Path(__file__).resolve().parent / "results" / "batch_rows.json"
ROWS, VERSIONS, ROUNDS, PAGE = 100_000, 2, 7, 100
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "nobody", "looks", "at", "dawn"]
ANSWER = 300


def csv_file() -> bytes:
    draw = random.Random(7)
    rows = [f'person {number},"{" ".join(draw.choices(WORDS, k=14))}, ""{number}""",yes' for number in range(ROWS)]
    return "\n".join(["name,text,expected", *rows]).encode()


def rows_of(data: bytes) -> list[Row]:
    found = list(CsvRows(io.BytesIO(data), Layout()))
    return [row for row in found if not isinstance(row, Problem)]


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median_ms(work: Callable[[], Any]) -> float:
    return round(statistics.median(seconds(work) for _ in range(ROUNDS)) * 1000, 2)


def table_bytes(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size(%s::regclass)", [name])
        return int(cursor.fetchone()[0])


def keep_a_row_each(rows: list[Row]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE row_each (set_id int, number int, given jsonb, expected text, PRIMARY KEY (set_id, number))"
        )
        for start in range(0, len(rows), 1000):
            part = rows[start : start + 1000]
            cursor.executemany(
                "INSERT INTO row_each VALUES (1, %s, %s, %s)",
                [(start + place, json.dumps(dict(row.values)), row.expected) for place, row in enumerate(part)],
            )


def window_of_row_each(offset: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT number, given, expected FROM row_each WHERE set_id = 1 AND number >= %s ORDER BY number LIMIT %s",
            [offset, PAGE],
        )
        for _, given, _ in cursor.fetchall():
            json.loads(given)


def storage(prompt: Prompt, data: bytes) -> tuple[dict[str, Any], RowSet]:
    read_s = seconds(lambda: list(pack(iter(rows_of(data)), Totals())))
    rows = rows_of(data)
    made: list[RowSet] = []
    chunks_s = seconds(lambda: made.append(row_sets.make_row_set(prompt=prompt, rows=rows)))
    each_s = seconds(lambda: keep_a_row_each(rows))
    kept = made[0]
    places = {"first": 0, "middle": ROWS // 2, "last": ROWS - PAGE}
    return {
        "file_bytes": len(data),
        "read_and_pack_s": round(read_s, 2),
        "keep_in_chunks_s": round(chunks_s, 2),
        "keep_a_row_each_s": round(each_s, 2),
        "bytes_in_chunks": table_bytes("batches_rowchunk"),
        "bytes_a_row_each": table_bytes("row_each"),
        "window_ms_of_chunks": {
            name: median_ms(lambda at=at: row_sets.read_window(kept.pk, offset=at, limit=PAGE))  # type: ignore[misc]
            for name, at in places.items()
        },
        "window_ms_of_a_row_each": {
            name: median_ms(lambda at=at: window_of_row_each(at))  # type: ignore[misc]
            for name, at in places.items()
        },
    }, kept


def grid(owner: Any, prompt: Prompt, kept: RowSet) -> Batch:
    """A batch as it is when all its rows are answered."""
    spec = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "{{name}}: {{text}}"}]}
    version = services.save_version(author=owner, prompt=prompt, spec=parse(spec)).version
    dataset = Dataset.objects.create(prompt=prompt, maker=owner, name="Many", rows=kept)
    column = AskedVersion(version=version, pointer="1", model="m", provider="self-hosted")
    checks: list[dict[str, Any]] = [{"kind": "contains", "text": "yes", "ignore_case": False}, {"kind": "json"}]
    batch = start_batch(account=owner, plan=Plan(prompt=prompt, versions=[column] * 2, checks=checks, dataset=dataset))
    draw = random.Random(8)
    now = timezone.now()
    for start in range(0, ROWS, 2000):
        items, runs = [], []
        for row in range(start, start + 2000):
            for position in range(VERSIONS):
                text = " ".join(draw.choices(WORDS, k=ANSWER // 5))
                passed = draw.random() < 0.97
                run = Run(
                    id=new_id(),
                    account=owner,
                    model="m",
                    kind="batch",
                    api_version="2023-06-01",
                    request="{}",
                    request_sha256=b"x" * 32,
                    status="succeeded",
                    finished_at=now,
                    output_json=json.dumps(text),
                )
                runs.append(run)
                items.append(
                    BatchItem(
                        batch=batch,
                        row=row,
                        position=position,
                        status="passed" if passed else "failed",
                        run=run,
                        verdicts='[["pass", ""], ["pass", ""]]',
                        marks="pp" if passed else "fp",
                        excerpt=text,
                        output_chars=len(text),
                        output_digest=str(draw.random()).encode()[:16],
                        input_tokens=40,
                        output_tokens=60,
                        ttft_ms=draw.randint(20, 900),
                        duration_ms=draw.randint(100, 3000),
                        ended_at=now - dt.timedelta(seconds=draw.randint(0, 600)),
                    )
                )
        Run.objects.bulk_create(runs)
        BatchItem.objects.bulk_create(items)
    Batch.objects.filter(pk=batch.pk).update(sent=ROWS * VERSIONS, state="finished", finished_at=now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return batch


def asked(client: Client, path: str) -> Callable[[], None]:
    def ask() -> None:
        answer = client.get(path)
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code}")

    return ask


def listing(client: Client, batch: Batch) -> dict[str, Any]:
    path = f"/api/v1/batches/{batch.pk}"
    first = seconds(asked(client, path))
    pages = {
        "first": "",
        "middle": "&offset=50000",
        "last": "&offset=99900",
        "failed": "&only=failed",
        "different": "&only=different",
        "different_output": "&only=different_output",
        "search": "&q=person 99",
    }
    found = {name: median_ms(asked(client, f"{path}/results?limit={PAGE}{query}")) for name, query in pages.items()}
    return {"summary_made_ms": round(first * 1000, 1), "batch_ms": median_ms(asked(client, path)), "results_ms": found}


def download(client: Client, batch: Batch) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, size = time.perf_counter(), 0
    answer: Any = client.get(f"/api/v1/batches/{batch.pk}/results.csv")
    for piece in answer.streaming_content:
        size += len(piece)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"bytes": size, "s": round(time.perf_counter() - began, 1), "grown_mib": round(grown / 1024, 1)}


def main() -> None:
    call_command("migrate", verbosity=0)
    owner = create_account(email="bench@example.com", password="correct horse battery 7")
    _, key = create_api_key(account=owner, name="bench", scopes=["api"])
    client = Client(headers={"authorization": f"Bearer {key}"})
    prompt = services.create_prompt(owner=owner, name="Benchmark")
    kept_figures, kept = storage(prompt, csv_file())
    batch = grid(owner, prompt, kept)
    # First: the memory of a process never shrinks, and would hide what the file takes.
    file = download(client, batch)
    found = {
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "when": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M"),
        "load": round(os.getloadavg()[0], 1),
        "rows": ROWS,
        "versions": VERSIONS,
        "parse": kept_figures,
        "grid": listing(client, batch),
        "download": file,
    }
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
