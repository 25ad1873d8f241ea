"""A drill: two web processes, with a Valkey of their own that stops and comes back; access is taken back, and watched.

`listening` hears the news of revocations, `deaf` has its subscriber switched off. What is revoked through one of them
is watched at the other. All that has to wait does so at the same time.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx2
from django.conf import settings
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from accounts.models import User
from accounts.services import create_account, create_api_key
from playground import services
from playground.models import Prompt, Version
from playground.spec import parse
from sharing import read_copies, visits
from sharing.services import NewLink, Target, create_link, grant_access, redeem_link
from tests.chat.site import Site, sign_in
from tests.people import PASSWORD
from tests.valkey import Valkey
from tests.waiting import wait_until

EVERY_S = 0.25
#: Longer than the bound: what is still shown then is a hole.
WATCHED_S = 40.0
LINKS_A_CASE = 4


@dataclass
class Records:
    """By case: seconds from the call that revoked to the first refusal. `fetched`: seconds -> status of the store."""

    delays: dict[str, list[float]] = field(default_factory=dict)
    socket_codes: dict[str, int] = field(default_factory=dict)
    socket_s: dict[str, float] = field(default_factory=dict)
    frames_after: dict[str, int] = field(default_factory=dict)
    #: By who opens what: the code that a socket is closed with before it says anything.
    refused_codes: dict[str, int] = field(default_factory=dict)
    stream_s: float = 0.0
    stream_end: str = ""
    kept_address: dict[int, int] = field(default_factory=dict)
    deleted_address: int = 0

    def histogram(self) -> str:
        """The delays of each case, counted by half seconds."""
        lines = []
        for case, delays in self.delays.items():
            slots: dict[float, int] = {}
            for delay in delays:
                slots[int(delay * 2) / 2] = slots.get(int(delay * 2) / 2, 0) + 1
            counted = "  ".join(f"{slot:.1f}s:{'#' * count}" for slot, count in sorted(slots.items()))
            lines.append(
                f"{case:32} median {sorted(delays)[len(delays) // 2]:5.2f} s  max {max(delays):5.2f} s  {counted}"
            )
        return "\n".join(lines)


class Drill:
    def __init__(self, folder: Path) -> None:
        self.records = Records()
        self.valkey = Valkey(folder)
        self.owner = self._person("olive")
        self.headers = {"Authorization": f"Bearer {create_api_key(account=self.owner, name='t', scopes=['api'])[1]}"}
        self.readers = [self._person("rita"), self._person("rob"), self._person("ed")]
        self.prompt = services.create_prompt(owner=self.owner, name="Drill")
        self.version = self._save(self.prompt)
        self.threads = ThreadPoolExecutor(32)
        self._folder = folder

    def _person(self, name: str) -> User:
        return create_account(email=f"{name}@example.com", password=PASSWORD, name=name)

    def _save(self, prompt: Prompt) -> Version:
        spec = parse({"model": "test-model", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}]})
        return services.save_version(author=self.owner, prompt=prompt, spec=spec).version

    @contextlib.contextmanager
    def sites(self) -> Iterator[None]:
        self.valkey.start()
        self.listening = Site(self._folder, redis_url=self.valkey.url)
        self.deaf = Site(self._folder, redis_url=self.valkey.url)
        try:
            self.listening.start()
            os.environ["SHARING_NEWS"] = "false"
            self.deaf.start()
            yield
        finally:
            os.environ.pop("SHARING_NEWS", None)
            self.threads.shutdown(wait=True)
            for site in (self.listening, self.deaf):
                site.stop()
            self.valkey.kill()

    def run(self) -> Records:
        address, signed = self._captured_address()
        waiting = [self._socket("told", self.listening, self.readers[0])]
        waiting += [self._socket("subscriber disabled", self.deaf, self.readers[1]), self._stream(self.readers[2])]
        waiting += [self._link_socket("link, told", self.listening), self._link_socket("link, deaf", self.deaf)]
        self._refused_sockets()
        captured = self.threads.submit(self._fetch_later, address, signed)
        self._revoke_links("told", through=self.deaf, at=self.listening)
        self._revoke_links("subscriber disabled", through=self.listening, at=self.deaf)
        self.valkey.kill()
        self._revoke_links("Valkey stopped", through=self.deaf, at=self.listening)
        self.valkey.start()
        self._revoke_links("Valkey restarted empty", through=self.deaf, at=self.listening)
        for each in (*waiting, captured):
            each.result(timeout=60)
        return self.records

    def _revoke_links(self, case: str, *, through: Site, at: Site) -> None:
        made = [
            create_link(person=self.owner, prompt=self.prompt, audience="public", target=Target(version=self.version))
            for _ in range(LINKS_A_CASE)
        ]
        watched: list[Future[float]] = []
        for new in made:
            cookie = redeem_link(token=new.token or "", person=None).cookie
            reader = httpx2.Client(base_url=at.origin, cookies={visits.cookie_name(new.link.pk): cookie}, timeout=20)
            path = f"/s/open/{new.link.pk}/state/"
            assert reader.get(path).status_code == 200
            began = self._revoke_link(new.link.pk, through)
            watched.append(self.threads.submit(self._until_refused, reader, path, began))
        self.records.delays[case] = [each.result(timeout=60) for each in watched]

    def _until_refused(self, reader: httpx2.Client, path: str, began: float) -> float:
        with contextlib.closing(reader):
            while time.monotonic() - began < WATCHED_S:
                asked = time.monotonic()
                if reader.get(path).status_code == 404:
                    return asked - began
                time.sleep(EVERY_S)
        return WATCHED_S

    def _shared_prompt(self, reader: User, role: str) -> tuple[Prompt, uuid.UUID]:
        prompt = services.create_prompt(owner=self.owner, name="Watched")
        self._save(prompt)
        return prompt, grant_access(person=self.owner, prompt=prompt, account=reader, role=role).pk

    def _revoke_grant(self, grant_id: uuid.UUID, through: Site) -> float:
        began = time.monotonic()
        answer = httpx2.delete(f"{through.origin}/api/v1/grants/{grant_id}", headers=self.headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return began

    def _socket(self, case: str, site: Site, reader: User) -> Future[None]:
        prompt, grant_id = self._shared_prompt(reader, "viewer")
        revoke = partial(self._revoke_grant, grant_id, self.deaf)
        return self.threads.submit(
            self._watch_socket, case, site, f"/ws/prompts/{prompt.pk}/", sign_in(reader)[1], revoke
        )

    def _link_socket(self, case: str, site: Site) -> Future[None]:
        new = create_link(person=self.owner, prompt=self.prompt, audience="public", target=Target(version=self.version))
        cookie = self._visit(new)
        revoke = partial(self._revoke_link, new.link.pk, self.deaf)
        return self.threads.submit(self._watch_socket, case, site, f"/s/open/{new.link.pk}/watch/", cookie, revoke)

    def _visit(self, new: NewLink) -> str:
        """The header of a browser that came by the link."""
        return f"{visits.cookie_name(new.link.pk)}={redeem_link(token=new.token or '', person=None).cookie}"

    def _refused_sockets(self) -> None:
        """Who may not is told so by a code, and nothing else."""
        one, other = (
            create_link(person=self.owner, prompt=self.prompt, audience="public", target=Target(version=self.version))
            for _ in range(2)
        )
        prompt, link = f"/ws/prompts/{self.prompt.pk}/", f"/s/open/{one.link.pk}/watch/"
        foreign = self._visit(other).replace(other.link.pk.hex, one.link.pk.hex)
        stranger = sign_in(self.readers[0])[1]
        for who, path, cookie in (
            ("a stranger", prompt, stranger),
            ("nobody", prompt, "x=y"),
            ("a visitor at the prompt", prompt, self._visit(one)),
            ("an absent prompt", f"/ws/prompts/{uuid.uuid4()}/", stranger),
            ("nobody at a link", link, "x=y"),
            ("somebody signed in who did not come by the link", link, stranger),
            ("a visitor of another link", link, foreign),
        ):
            with self._connect(self.listening, path, cookie) as socket:
                try:
                    socket.recv(timeout=20)
                except ConnectionClosed as closed:
                    self.records.refused_codes[who] = closed.rcvd.code if closed.rcvd else 0
                else:
                    self.records.refused_codes[who] = -1

    def _connect(self, site: Site, path: str, cookie: str) -> ClientConnection:
        headers = {"Cookie": cookie, "Origin": site.origin}
        return connect(f"{site.origin.replace('http', 'ws')}{path}", additional_headers=headers)

    def _revoke_link(self, link_id: uuid.UUID, through: Site) -> float:
        began = time.monotonic()
        answer = httpx2.post(f"{through.origin}/api/v1/links/{link_id}/revoke", headers=self.headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return began

    def _watch_socket(self, case: str, site: Site, path: str, cookie: str, revoke: Callable[[], float]) -> None:
        """Open when access ends; whatever comes after that is counted."""
        with self._connect(site, path, cookie) as socket:
            assert json.loads(socket.recv(timeout=20)) == {"type": "open", "version": 1, "can": []}
            began = revoke()
            frames = 0
            try:
                while True:
                    socket.recv(timeout=WATCHED_S)
                    frames += 1
            except ConnectionClosed as closed:
                self.records.socket_codes[case] = closed.rcvd.code if closed.rcvd else 0
        self.records.socket_s[case] = time.monotonic() - began
        self.records.frames_after[case] = frames

    def _stream(self, reader: User) -> Future[None]:
        prompt, grant_id = self._shared_prompt(reader, "editor")
        run = services.run_version(account=reader, version=prompt.versions.get(), values={})
        address = f"{self.deaf.origin}/api/v1/runs/{run.pk}/events"
        return self.threads.submit(self._watch_stream, address, grant_id, sign_in(reader)[1])

    def _watch_stream(self, address: str, grant_id: uuid.UUID, cookie: str) -> None:
        """The events of a run that nobody takes on: a stream that is quiet."""
        with httpx2.stream("GET", address, headers={"Cookie": cookie}, timeout=WATCHED_S) as answer:
            assert answer.status_code == 200
            lines = answer.iter_lines()
            assert next(lines).startswith("event: status")
            began = self._revoke_grant(grant_id, self.listening)
            self.records.stream_end = "".join(f"{line}\n" for line in lines).strip()
        self.records.stream_s = time.monotonic() - began
        answer = httpx2.get(address, headers={"Cookie": cookie}, timeout=20)
        assert answer.status_code == 404

    def _captured_address(self) -> tuple[str, float]:
        """One whose copy is deleted by the revocation, tried at once; and one whose copy stays, kept for later."""
        addresses = []
        for _ in range(2):
            prompt = services.create_prompt(owner=self.owner, name="Captured")
            self._save(prompt)
            link = create_link(
                person=self.owner, prompt=prompt, audience="public", target=Target(version=prompt.versions.get())
            ).link
            path = f"/api/v1/prompts/{prompt.pk}/versions/1/texts/0/address"
            for _ in range(5):
                # Addresses are dated in whole seconds: signed at the end of one, it would live for one less.
                wait_until(lambda: time.time() % 1 < 0.1, every_s=0.02)
                signed = time.monotonic()
                answer = httpx2.get(self.deaf.origin + path, headers=self.headers, timeout=30)
                if answer.status_code != 422:  # it took too long to be signed for, as on a machine that stood still
                    break
            assert answer.status_code == 200, answer.text
            addresses.append(str(answer.json()["url"]))
            httpx2.post(f"{self.deaf.origin}/api/v1/links/{link.pk}/revoke", headers=self.headers, timeout=30)
            if len(addresses) == 1:
                assert httpx2.get(addresses[0]).status_code == 200
                # What the worker does after the commit.
                prompt.refresh_from_db()
                read_copies.delete_before(prompt.pk, prompt.acl_epoch)
                self.records.deleted_address = httpx2.get(addresses[0]).status_code
        return addresses[1], signed

    def _fetch_later(self, address: str, signed: float) -> None:
        for second in (1, 19, 26):
            wait_until(lambda second=second: time.monotonic() - signed >= second)  # type: ignore[misc]
            late = time.monotonic() - signed - second
            status = httpx2.get(address).status_code
            # On a machine that stood still the store was asked later than meant: only the end is sure then.
            self.records.kept_address[second if late < 0.5 else 26] = status


def unsigned(key: str) -> str:
    """Where the store would have it, without a signature."""
    return f"{settings.S3_PUBLIC_ENDPOINT_URL}/{settings.S3_BUCKET}/{key}"
