"""What the workbench asks for ahead of its scripts."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from playground.models import Prompt

pytestmark = pytest.mark.django_db


def test_the_workbench_asks_for_its_tree_at_once(owner_browser: Client, prompt: Prompt) -> None:
    page = owner_browser.get(f"/prompts/{prompt.pk}/").content.decode()
    (tree,) = re.findall(r'<link rel="preload"\s+href="([^"]+)"\s+as="fetch"\s+crossorigin>', page)
    assert tree == f"/api/v1/prompts/{prompt.pk}/tree"


def test_a_page_that_first_shows_a_run_does_not_ask_ahead_for_the_tree(owner_browser: Client, prompt: Prompt) -> None:
    page = owner_browser.get(f"/prompts/{prompt.pk}/?run=1").content.decode()
    assert 'as="fetch"' not in page
