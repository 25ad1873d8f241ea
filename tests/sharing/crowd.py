"""Every kind of person around one shared prompt, and everything of it that an address can name."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.utils import timezone

import chat.services
from accounts.models import ApiKey, User
from accounts.services import create_account, create_api_key, deactivate_account
from batches.rows import Row
from batches.services.batches import AskedVersion, Plan, start_batch
from batches.services.datasets import create_dataset
from playground import services
from playground.models import Prompt, Version
from playground.services.comparisons import Column
from playground.spec import parse
from review.services import start_thread
from sharing import visits
from sharing.models import AccessRequest, Grant, OwnershipTransfer, ShareLink
from sharing.services import (
    Target,
    create_link,
    grant_access,
    offer_ownership,
    redeem_link,
    revoke_grant,
)
from tests.people import PASSWORD, SIGN_IN_BACKEND

#: In the name, the folder, a tag, the message and the text of the prompt, and nowhere else.
SECRET = "zanzibar"

OWNER, EDITOR, COMMENTER, VIEWER = "owner", "editor", "commenter", "viewer"
VISITOR, STRANGER, ANONYMOUS = "link visitor", "signed-in stranger", "anonymous"
REVOKED, EXPIRED, DISABLED = "revoked", "expired", "disabled"
EVERYBODY = (OWNER, EDITOR, COMMENTER, VIEWER, VISITOR, STRANGER, ANONYMOUS, REVOKED, EXPIRED, DISABLED)
#: Nobody is signed in there, or nobody any more.
SIGNED_OUT = frozenset({VISITOR, ANONYMOUS, DISABLED})


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """`ids` has what the patterns of routes name: prompt_id, link_id, run_id, ..."""

    people: dict[str, User]
    browsers: dict[str, Client]
    prompt: Prompt
    version: Version
    ids: dict[str, Any]


def gather() -> Crowd:
    people = {kind: _account(kind) for kind in (OWNER, EDITOR, COMMENTER, VIEWER, STRANGER, REVOKED, EXPIRED, DISABLED)}
    owner = people[OWNER]
    prompt = services.create_prompt(owner=owner, name=f"{SECRET} plan", tags=[f"{SECRET}-tag"], folder=f"{SECRET}-f")
    version = _save(owner, prompt, f"The {SECRET} text.")
    newest = _save(owner, prompt, f"The {SECRET} text, later.")
    services.start_branch(actor=owner, prompt=prompt, name="side", at=version)
    services.move_label(actor=owner, prompt=prompt, name="production", to=version)
    grants = {kind: grant_access(person=owner, prompt=prompt, account=people[kind], role=role) for kind, role in _ROLES}
    Grant.objects.filter(pk=grants[EXPIRED].pk).update(expires_at=timezone.now() - dt.timedelta(minutes=1))
    revoke_grant(person=owner, grant=grants[REVOKED])
    new = create_link(person=owner, prompt=prompt, audience="public", target=Target(version=newest), shows_history=True)
    browsers = {kind: _signed_in(person) for kind, person in people.items()}
    browsers |= {VISITOR: _visiting(new.link, new.token or ""), ANONYMOUS: Client()}
    deactivate_account(account=people[DISABLED])
    ids = {"token": new.token, "link_id": new.link.pk, "grant_id": grants[VIEWER].pk}
    ids |= _things_of_the_owner(people, prompt, version)
    return Crowd(people=people, browsers=browsers, prompt=prompt, version=version, ids=ids)


_ROLES = (
    (EDITOR, "editor"),
    (COMMENTER, "commenter"),
    (VIEWER, "viewer"),
    (REVOKED, "editor"),
    (EXPIRED, "editor"),
    (DISABLED, "editor"),
)


def _account(kind: str) -> User:
    return create_account(email=f"{kind.replace(' ', '-')}@example.com", password=PASSWORD, name=kind)


def _signed_in(person: User) -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(person, backend=SIGN_IN_BACKEND)
    return browser


def _visiting(link: ShareLink, token: str) -> Client:
    browser = Client(raise_request_exception=False)
    browser.cookies[visits.cookie_name(link.pk)] = redeem_link(token=token, person=None).cookie
    return browser


def _save(owner: User, prompt: Prompt, text: str) -> Version:
    spec = parse({"model": "test-model", "max_tokens": 16, "messages": [{"role": "user", "content": text}]})
    return services.save_version(author=owner, prompt=prompt, spec=spec, message=f"{SECRET} message").version


def _things_of_the_owner(people: dict[str, User], prompt: Prompt, version: Version) -> dict[str, Any]:
    owner = people[OWNER]
    run = services.run_version(account=owner, version=version, values={})
    columns = [Column(version=version, model=None, parameters={"temperature": value}) for value in (0, 1)]
    comparison = services.start_comparison(account=owner, prompt=prompt, columns=columns, values={}, repetitions=1)
    upload = services.start_upload(account=owner, prompt=prompt, size=5, sha256="a" * 64).upload
    announced = services.announce_import(account=owner, size=5, sha256="b" * 64, file_format="json")
    services.keep_draft(
        person=owner, prompt=prompt, branch="main", content=f'"{SECRET} draft"', base=version, revision=None
    )
    key: ApiKey = create_api_key(account=owner, name=f"{SECRET} key", scopes=["api"])[0]
    conversation = chat.services.start_conversation(person=owner, peer=people[EDITOR])
    sent = chat.services.send_message(
        sender=owner, conversation=conversation, client_msg_id=uuid.uuid4(), body=f"{SECRET} message"
    )
    transfer: OwnershipTransfer = offer_ownership(person=owner, prompt=prompt, to=people[EDITOR])
    asked = AccessRequest.objects.create(prompt=prompt, account=people[STRANGER])
    thread = start_thread(person=people[COMMENTER], version=version, anchor=None, body=f"{SECRET} comment")
    dataset = create_dataset(account=owner, prompt=prompt, name=f"{SECRET} cases", rows=[Row(values={"a": SECRET})])
    column = AskedVersion(version=version, pointer="1", model="test-model", provider="self-hosted")
    batch = start_batch(
        account=owner, plan=Plan(prompt=prompt, dataset=dataset, versions=[column], checks=[], name=f"{SECRET} batch")
    )
    return {
        "dataset_id": dataset.pk,
        "batch_id": batch.pk,
        "thread_id": thread.pk,
        "comment_id": thread.comments.get().pk,
        "prompt_id": prompt.pk,
        "run_id": run.pk,
        "comparison_id": comparison.pk,
        "upload_id": upload.pk,
        "import_id": announced.file_import.pk,
        "key_id": key.pk,
        "conversation_id": conversation.pk,
        "message_id": sent.message.id,
        "transfer_id": transfer.pk,
        "request_id": asked.pk,
        "person_id": people[VIEWER].pk,
        "version_id": version.pk,
        "number": version.number,
        "pointer": "1",
        "index": 0,
        "branch": "main",
        "language": "curl",
    }
