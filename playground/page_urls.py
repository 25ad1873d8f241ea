from __future__ import annotations

from django.urls import path

from playground import comparison_pages, pages, run_pages, version_pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("import/", pages.import_prompt, name="import"),
    path("prompts/", pages.create_prompt, name="prompt-create"),
    path("prompts/<uuid:prompt_id>/", pages.workbench, name="prompt"),
    path("prompts/<uuid:prompt_id>/versions/<int:number>/", pages.workbench, name="prompt-version"),
    path("prompts/<uuid:prompt_id>/compare/", version_pages.compare, name="prompt-compare"),
    path("prompts/<uuid:prompt_id>/columns/", comparison_pages.columns, name="prompt-columns"),
    path(
        "prompts/<uuid:prompt_id>/columns/<uuid:comparison_id>/", comparison_pages.comparison, name="prompt-comparison"
    ),
    path("prompts/<uuid:prompt_id>/merge/", version_pages.merge, name="prompt-merge"),
    path("prompts/<uuid:prompt_id>/runs/", run_pages.prompt_runs, name="prompt-runs"),
    path("runs/", run_pages.runs, name="runs"),
    path("runs/<uuid:run_id>/", run_pages.run, name="run"),
]
