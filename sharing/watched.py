"""Who watches what, for sockets: read in a thread of their own, never in the one that all of a process shares."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from django.db import connection
from django.db.models import Max

from accounts.models import User
from chat.sessions import person_of
from core.errors import NotFound
from playground import access
from sharing import links, policy, visits
from sharing.models import Audience

Answer = TypeVar("Answer")

_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="sharing-sockets")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a socket tells: the newest version there is to see. `can`: what changes with the role."""

    prompt_id: uuid.UUID
    version: int | None
    can: tuple[str, ...]


async def in_thread(read: Callable[[], Answer]) -> Answer:
    """Holds no connection afterwards."""

    def work() -> Answer:
        try:
            return read()
        finally:
            connection.close()

    return await asyncio.get_running_loop().run_in_executor(_threads, work)


def by_person(session_key: str | None, prompt_id: uuid.UUID) -> Seen | None:
    """None for who is signed out, or may not see the prompt any more. Asks the database; nothing is reused."""
    person_id = person_of(session_key) if session_key else None
    person = User.objects.filter(pk=person_id).first() if person_id else None
    if person is None:
        return None
    try:
        prompt = access.prompt_for(person, prompt_id)
    except NotFound:
        return None
    newest = prompt.versions.filter(acl_epoch__lte=prompt.acl_epoch).aggregate(newest=Max("number"))["newest"]
    can = tuple(word for word, may in access.abilities(person, prompt).items() if may)
    return Seen(prompt_id=prompt_id, version=newest, can=can)


def by_link(session_key: str | None, link_id: uuid.UUID, cookie: str | None) -> Seen | None:
    """None for a visit that has ended. Asks the database; nothing is reused."""
    visit = visits.read(cookie, link_id)
    standing = links.standing_of(link_id) if visit else None
    if visit is None or standing is None or standing.seal != visit.seal:
        return None
    if not policy.shows(decided_epoch=standing.acl_epoch, made_epoch=standing.version.acl_epoch):
        return None
    if standing.link.audience == Audience.SIGNED_IN and not (session_key and person_of(session_key)):
        return None
    return Seen(prompt_id=standing.link.prompt_id, version=standing.version.number, can=())
