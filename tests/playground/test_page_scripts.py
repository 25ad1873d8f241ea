"""The workbench names each script it will run at its top, so that the browser asks for all of them at once."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from core.templatetags.modules import imports
from playground.models import Prompt

ENTRY = "js/pages/workbench.js"


def test_a_module_that_only_another_module_imports_is_found() -> None:
    found = imports(ENTRY)
    assert {"js/workbench.js", "js/history_desk.js", "js/tree_pane.js", "js/tree_view.js", "js/dom.js"} <= set(found)
    assert found[0] == "vendor/codemirror.js"
    assert ENTRY not in found
    assert len(found) == len(set(found))


def test_a_module_that_is_not_there_leads_nowhere() -> None:
    assert imports("js/absent.js") == []


@pytest.mark.django_db
def test_the_workbench_asks_for_its_scripts_and_its_tree_at_once(owner_browser: Client, prompt: Prompt) -> None:
    page = owner_browser.get(f"/prompts/{prompt.pk}/").content.decode()
    assert set(re.findall(r'rel="modulepreload" href="/static/([^"]+)"', page)) == set(imports(ENTRY))
    (tree,) = re.findall(r'<link rel="preload"\s+href="([^"]+)"\s+as="fetch"\s+crossorigin>', page)
    assert tree == f"/api/v1/prompts/{prompt.pk}/tree"


@pytest.mark.django_db
def test_a_page_that_first_shows_a_run_does_not_ask_ahead_for_the_tree(owner_browser: Client, prompt: Prompt) -> None:
    page = owner_browser.get(f"/prompts/{prompt.pk}/?run=1").content.decode()
    assert 'as="fetch"' not in page
