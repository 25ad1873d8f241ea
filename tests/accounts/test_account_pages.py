"""Every page that signing in and up leads to, for everybody who may open it."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from allauth.account.urls import urlpatterns
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.people import SIGN_IN_BACKEND

pytestmark = pytest.mark.django_db

PLAIN_PAGES = [
    pattern.name for pattern in urlpatterns if not pattern.pattern.converters and "<" not in str(pattern.pattern)
]


@pytest.mark.parametrize("name", [name for name in PLAIN_PAGES if name])
@pytest.mark.parametrize("person", ["anonymous", "owner_browser"])
def test_no_page_is_broken_and_none_needs_an_inline_script(
    request: pytest.FixtureRequest, name: str, person: str
) -> None:
    browser: Client = Client() if person == "anonymous" else request.getfixturevalue(person)

    response = browser.get(reverse(name))

    assert response.status_code in (200, 302, 404, 405), name
    if response.status_code == 200:
        assert "<html" in response.text
        for tag in response.text.split("<script")[1:]:
            assert "src=" in tag.partition(">")[0], name
        assert "<style" not in response.text
        assert " style=" not in response.text


def test_the_link_in_the_mail_verifies_the_address(owner: User) -> None:
    EmailAddress.objects.filter(user=owner).update(verified=False)
    browser = Client()
    browser.force_login(owner, backend=SIGN_IN_BACKEND)
    browser.post(reverse("account_email"), {"action_send": "", "email": owner.email})

    path = str(mail.outbox[-1].body).partition("http://testserver")[2].split()[0]
    assert browser.get(path).status_code == 200
    browser.post(path)

    assert EmailAddress.objects.get(user=owner).verified
