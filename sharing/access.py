"""Reading what was shared, for pages: what a link opens, who has access to a prompt, the badge that says so."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Q, Subquery
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from core.errors import NotFound, Unavailable
from playground import access
from playground.models import Prompt, Version
from sharing import access_log, histories, kept, links, news, opened_specs, policy, tokens, visits
from sharing.decisions import Decision
from sharing.links import LinkStanding
from sharing.models import Audience, Grant, ShareLink
from sharing.permissions import standing_on


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What a visitor's page shows. Rows are shared with other requests of these seconds: not to be changed."""

    link: ShareLink
    version: Version
    prompt: Prompt
    visitor: str
    decision: Decision[LinkStanding]

    def spec(self) -> dict[str, Any]:
        """The spec of `version` with its small texts, and `{"body", "bytes"}` for those to be read in windows.

        Kept for other requests: not to be changed. Raises StorageUnavailable.
        """
        return opened_specs.spec_of(self.version)

    def numbered(self, number: int) -> Version:
        """The version that is opened, or one behind it. Raises NotFound unless the link shows its history."""
        if number == self.version.number:
            return self.version
        found = histories.find_behind(self.version, number) if self.link.shows_history else None
        if found is None or not self.decision.shows(found.acl_epoch):
            raise NotFound
        return found

    def history(self) -> list[Version]:
        """The versions behind it, newest first, without their texts; empty unless the link shows its history."""
        return histories.behind(self.version) if self.link.shows_history else []


def opened_link(request: HttpRequest, link_id: uuid.UUID) -> Opened:
    """What the link shows to this browser now. Raises NotFound: absent, revoked, expired, never opened here, all alike.

    Costs no query while a decision of the last few seconds may be used. Each use is in the access log, once a minute.
    """
    visit = visits.of(request, link_id)
    if visit is None:
        raise NotFound
    decision = link_decision(link_id)
    if decision is None:
        _refused(request, visit, "gone")
        raise NotFound
    link, version = decision.what.link, decision.what.version
    person = request.user if link.audience == Audience.SIGNED_IN else None
    if decision.what.seal != visit.seal or not _may_visit(link, person):
        _refused(request, visit, "ended" if decision.what.seal != visit.seal else "signed_out")
        raise NotFound
    access_log.read_by_link(
        link=link,
        visitor=visit.visitor,
        what=_what(request),
        address=access_log.address_of(request),
        allowed=True,
        number=version.number,
        person=person if isinstance(person, User) else None,
    )
    return Opened(link=link, version=version, prompt=version.prompt, visitor=visit.visitor, decision=decision)


def _may_visit(link: ShareLink, person: object) -> bool:
    """An expiry that came since the decision, and who has to be signed in."""
    if policy.expired(link.expires_at, timezone.now()):
        return False
    return link.audience == Audience.PUBLIC or (isinstance(person, User) and person.is_active)


def link_decision(link_id: uuid.UUID) -> Decision[LinkStanding] | None:
    """None for a link that opens nothing. A decision older than the version it shows is made again."""
    news.listen()
    decision = kept.links.kept(link_id)
    if decision is None:
        decision = ask_about_link(link_id)
    return decision


def ask_about_link(link_id: uuid.UUID) -> Decision[LinkStanding] | None:
    """A decision made now. Raises what the database raises: no answer is not a yes."""
    for _ in range(2):
        decision = kept.links.ask(link_id, lambda standing: standing.link.prompt_id, lambda: links.standing_of(link_id))
        if decision is None or decision.shows(decision.what.version.acl_epoch):
            return decision
    raise Unavailable


def _what(request: HttpRequest) -> str:
    match = request.resolver_match
    return f"{request.method} {match.url_name if match else ''}"[:64]


def _refused(request: HttpRequest, visit: visits.Visit, reason: str) -> None:
    link = ShareLink.objects.filter(pk=visit.link_id).first()
    if link is not None:
        access_log.read_by_link(
            link=link,
            visitor=visit.visitor,
            what=_what(request),
            address=access_log.address_of(request),
            allowed=False,
            reason=reason,
        )


@dataclass(frozen=True, kw_only=True)
class Landing:
    """What the page before the link may say. Showing it uses nothing up and lets nobody in."""

    link: ShareLink
    needs_password: bool


def landing(token: str, person: object) -> Landing:
    """Whether a token opens something for this person. Raises NotFound: absent, revoked, expired, used up, foreign.

    One hash and one query whatever the token is.
    """
    now = timezone.now()
    link = ShareLink.objects.live(now).filter(token_hash=tokens.hash_of(token)).first()
    if link is None or link.views_left == 0 or not _may_visit(link, person):
        raise NotFound
    return Landing(link=link, needs_password=bool(link.password))


@dataclass(frozen=True, kw_only=True)
class Badge:
    """Whether and how a prompt is shared, for who looks at a list. `mine`: theirs, else `role` is what they have."""

    mine: bool
    role: str = ""
    owner: str = ""
    people: int = 0
    links: int = 0
    public: bool = False

    @property
    def shared(self) -> bool:
        return not self.mine or bool(self.people or self.links)

    @property
    def sentence(self) -> str:
        """In words; "" for what nobody else can see."""
        if not self.mine:
            return f"{self.owner} shares this with you as {_article(self.role)}"
        parts = []
        if self.people:
            parts.append("1 person" if self.people == 1 else f"{self.people} people")
        if self.links:
            kind = "public link" if self.public else "link"
            parts.append(f"1 {kind}" if self.links == 1 else f"{self.links} {kind}s")
        return f"Shared: {', '.join(parts)}" if parts else ""


def _article(role: str) -> str:
    return f"an {role}" if role[:1] in "aeiou" else f"a {role}"


def badges(person: User, prompts: Iterable[Prompt]) -> dict[uuid.UUID, Badge]:
    """By prompt, in one query. What this person cannot see has none."""
    now = timezone.now()
    ids = [prompt.pk for prompt in prompts]
    grants, shared = Grant.objects.live(now).values("pk"), ShareLink.objects.live(now).values("pk")
    mine = Grant.objects.live(now).filter(prompt=OuterRef("pk"), account=person).values("role")
    rows = (
        Prompt.objects.filter(pk__in=ids)
        .annotate(
            people=Count("grants", filter=Q(grants__in=grants), distinct=True),
            open_links=Count("links", filter=Q(links__in=shared), distinct=True),
            public_links=Count("links", filter=Q(links__in=shared, links__audience=Audience.PUBLIC), distinct=True),
            my_role=Subquery(mine[:1]),
        )
        .values_list("pk", "owner_id", "owner__name", "owner__email", "people", "open_links", "public_links", "my_role")
    )
    found: dict[uuid.UUID, Badge] = {}
    for pk, owner_id, name, email, people, open_links, public_links, role in rows:
        if owner_id == person.pk:
            found[pk] = Badge(mine=True, people=people, links=open_links, public=bool(public_links))
        elif role:
            found[pk] = Badge(mine=False, role=role, owner=User(name=name, email=email).label)
    return found


@dataclass(frozen=True, kw_only=True)
class Access:
    """Who can reach a prompt. Expired links and grants are listed too, until they are taken back."""

    links: list[ShareLink]
    grants: list[Grant]
    sentence: str
    may_share: bool


def overview(person: User, prompt: Prompt) -> Access:
    """Who has access to this prompt, as far as this person may know: all of it for who may share it, else nobody.

    Raises NotFound for who cannot see the prompt.
    """
    if not person.has_perm(access.VIEW, prompt):
        raise NotFound
    badge = badges(person, [prompt]).get(prompt.pk)
    if not person.has_perm(access.SHARE, prompt):
        return Access(links=[], grants=[], sentence=badge.sentence if badge else "", may_share=False)
    links_there = ShareLink.objects.on(prompt.pk).select_related("created_by", "target_version").order_by("-pk")
    grants_there = Grant.objects.on(prompt.pk).select_related("account", "granted_by").order_by("-pk")
    return Access(
        links=list(links_there),
        grants=list(grants_there),
        sentence=badge.sentence if badge and badge.sentence else "Only you can see this prompt.",
        may_share=True,
    )


def role_of(person: User, prompt: Prompt) -> str:
    """`owner`, a role, or "" for nobody."""
    if prompt.owner_id == person.pk:
        return "owner"
    standing = standing_on(person.pk, prompt, fresh=False)
    return standing.role.value if standing and standing.allows(access.VIEW, timezone.now()) else ""
