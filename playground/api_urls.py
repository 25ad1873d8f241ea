from __future__ import annotations

from django.urls import path

from playground.api import prompts, runs, versions

urlpatterns = [
    path("prompts", prompts.PromptList.as_view(), name="api-prompts"),
    path("prompts/<uuid:prompt_id>", prompts.PromptDetail.as_view(), name="api-prompt"),
    path("prompts/<uuid:prompt_id>/versions", versions.VersionList.as_view(), name="api-versions"),
    path("prompts/<uuid:prompt_id>/versions/<str:pointer>", versions.VersionDetail.as_view(), name="api-version"),
    path("prompts/<uuid:prompt_id>/versions/<str:pointer>/runs", runs.RunList.as_view(), name="api-version-runs"),
    path(
        "prompts/<uuid:prompt_id>/versions/<str:pointer>/snippets/<str:language>",
        runs.Snippet.as_view(),
        name="api-snippet",
    ),
]
