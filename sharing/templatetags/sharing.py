"""What templates of the apps below say of sharing, which they cannot import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template

from accounts.models import User
from playground.models import Prompt
from sharing import access, bound, lists

register = template.Library()


@register.simple_tag
def revocation_words() -> str:
    """What a Revoke dialog promises."""
    return bound.in_words()


@register.simple_tag(takes_context=True)
def read_badges(context: dict[str, Any], prompts: Prompt | Iterable[Prompt]) -> str:
    """Gives each prompt its `badge`: who else has access, or whose it is. One query for all of them."""
    person = context["request"].user
    asked = [prompts] if isinstance(prompts, Prompt) else list(prompts or ())
    found = access.badges(person, asked) if isinstance(person, User) and asked else {}
    for prompt in asked:
        prompt.badge = found.get(prompt.pk)  # type: ignore[attr-defined]  # for the template alone
    return ""


@register.simple_tag(takes_context=True)
def newest_shared(context: dict[str, Any]) -> lists.NewestShared | None:
    """For the home page: what others share with whoever looks."""
    person = context["request"].user
    return lists.newest_shared(person) if isinstance(person, User) else None
