from __future__ import annotations

from django.urls import path

from playground import api

urlpatterns = [
    path("prompts", api.PromptList.as_view(), name="api-prompts"),
    path("prompts/<uuid:prompt_id>", api.PromptDetail.as_view(), name="api-prompt"),
    path("prompts/<uuid:prompt_id>/versions", api.VersionList.as_view(), name="api-versions"),
    path("prompts/<uuid:prompt_id>/versions/<str:pointer>", api.VersionDetail.as_view(), name="api-version"),
    path("prompts/<uuid:prompt_id>/versions/<str:pointer>/runs", api.RunList.as_view(), name="api-version-runs"),
    path(
        "prompts/<uuid:prompt_id>/versions/<str:pointer>/snippets/<str:language>",
        api.Snippet.as_view(),
        name="api-snippet",
    ),
]
