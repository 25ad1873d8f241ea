"""One hot public link, read by everybody: what the decision cache is worth, beside a view that only renders the page.

    python -m embedded.throw_away python -m benchmarks.share_read [--quick]

Three servers of two processes each, loaded one after the other in rounds, by the open-loop generator of
`benchmarks.load` on the same cores: `plain` (benchmarks.share_server: the template and nothing else), `cached` (the
page of the link, decisions reused for up to 5 s) and `uncached` (SHARING_BOUND_S=0: each request asks the database).
`full`: as many requests as they answer, one behind the other on 8 connections. `asked`: RATE requests/s, whether or not
they are answered. Queries a request are transactions that PostgreSQL counted,
each query being one here. Compare the columns of a run with each other; milliseconds are this machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from accounts.services import create_account  # noqa: E402
from embedded.ports import free_port  # noqa: E402
from playground import services  # noqa: E402
from playground.spec import parse  # noqa: E402
from sharing import visits  # noqa: E402
from sharing.services import Target, create_link, redeem_link  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "share_read.json"
RATE = 500
PROCESSES = 2
TEXT = "You answer questions of customers of a bicycle shop. Be kind, be short, and say when you do not know. " * 12
#: Of the load that sends as soon as it is answered.
CONNECTIONS = 8
_GENERATOR = """
import asyncio, json, sys, time
from dataclasses import asdict
import uvloop
from benchmarks.load import Load, measure, quantile

kind, host, port, path, cookie, rate, seconds = sys.argv[1:]
lines = [f"GET {path} HTTP/1.1", f"host: {host}:{port}", f"cookie: {cookie}", "accept: text/html", "", ""]
request = "\\r\\n".join(lines).encode()

async def one_after_the_other(end, times):
    reader, writer = await asyncio.open_connection(host, int(port))
    while time.perf_counter() < end:
        began = time.perf_counter()
        writer.write(request)
        head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower()
        assert b" 200 " in head.split(b"\\r\\n")[0], head[:100]
        length = int(head.split(b"content-length:")[1].split(b"\\r\\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - began)
    writer.close()

async def as_many_as_possible():
    times, began = [], time.perf_counter()
    end = began + float(seconds)
    await asyncio.gather(*(one_after_the_other(end, times) for _ in range(CONNECTIONS)))
    return {"statuses": {"200": len(times)}, "served_per_s": round(len(times) / (time.perf_counter() - began), 1),
            "p50_ms": round(quantile(times, 0.5) * 1000, 1), "p99_ms": round(quantile(times, 0.99) * 1000, 1)}

if kind == "full":
    print(json.dumps(uvloop.run(as_many_as_possible())))
else:
    load = Load(host=host, port=int(port), request=request, rate=float(rate), seconds=float(seconds))
    print(json.dumps(asdict(uvloop.run(measure(load, 32)))))
""".replace("CONNECTIONS", str(CONNECTIONS))


class Server:
    """Two processes of the application on a port of their own."""

    def __init__(self, name: str, path: str, **environment: str) -> None:
        self.name, self.path, self.port = name, path, free_port()
        self.figures: dict[str, list[dict[str, Any]]] = {"asked": [], "full": []}
        command = [sys.executable, "-m", "uvicorn", "benchmarks.share_server:application", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, "--workers", str(PROCESSES), "--no-access-log", "--log-level", "error"],
            cwd=ROOT,
            env=os.environ
            | {"STATIC_FROM_SOURCE": "1", "ALLOWED_HOSTS": "127.0.0.1", "DATABASE_POOL_SIZE": "6", "LOG_LEVEL": "ERROR"}
            | environment,
            stderr=subprocess.DEVNULL,
        )

    def wait(self, cookie: str) -> None:
        """Until both processes have served the page some times."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.path}", headers={"Cookie": cookie, "Connection": "close"}
        )
        until, served = time.monotonic() + 90, 0
        while served < 40:
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:
                    served += answer.status == 200
            except (urllib.error.URLError, OSError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def load(self, kind: str, cookie: str, seconds: float) -> None:
        arguments = [kind, "127.0.0.1", str(self.port), self.path, cookie, str(RATE), str(seconds)]
        before = transactions()
        done = subprocess.run(
            [sys.executable, "-c", _GENERATOR, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
        time.sleep(1.2)  # PostgreSQL publishes its counts once a second
        report = json.loads(done.stdout)
        answered = max(1, sum(report["statuses"].values()))
        report["queries_a_request"] = round(max(0, transactions() - before - 1) / answered, 3)
        self.figures[kind].append(report)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)


def transactions() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def hot_link() -> tuple[str, str]:
    """Its id and the cookie of a visit."""
    owner = create_account(email="owner@example.com", password="correct horse battery 7")
    prompt = services.create_prompt(owner=owner, name="Answers of the shop")
    spec = {"model": "m", "max_tokens": 200, "system": TEXT, "messages": [{"role": "user", "content": "{{question}}"}]}
    version = services.save_version(author=owner, prompt=prompt, spec=parse(spec), message="First").version
    new = create_link(person=owner, prompt=prompt, audience="public", target=Target(version=version))
    cookie = redeem_link(token=new.token or "", person=None).cookie
    return str(new.link.pk), f"{visits.cookie_name(new.link.pk)}={cookie}"


def middle(reports: list[dict[str, Any]], name: str) -> float:
    return round(float(statistics.median(report[name] for report in reports)), 3)


def summary(servers: list[Server]) -> dict[str, Any]:
    names = ("served_per_s", "p50_ms", "p99_ms", "queries_a_request")
    return {
        server.name: {
            kind: {name: middle(reports, name) for name in names} | {"statuses": reports[-1]["statuses"]}
            for kind, reports in server.figures.items()
        }
        for server in servers
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round, and nothing is written")
    quick = parser.parse_args().quick
    seconds, rounds = (2.0, 1) if quick else (10.0, 3)
    call_command("migrate", verbosity=0)
    link_id, cookie = hot_link()
    shared = f"/s/open/{link_id}/"
    servers = [
        Server("plain", f"/plain/{link_id}/"),
        Server("cached", shared),
        Server("uncached", shared, SHARING_BOUND_S="0"),
    ]
    try:
        for server in servers:
            server.wait(cookie)
        for _ in range(rounds):
            for kind in ("full", "asked"):
                for server in servers:
                    server.load(kind, cookie, seconds)
    finally:
        for server in servers:
            server.stop()
    found = {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "asked_per_s": RATE,
        "bound_s": settings.SHARING_BOUND_S,
        "servers": summary(servers),
    }
    print(json.dumps(found, indent=2))
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
