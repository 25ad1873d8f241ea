from __future__ import annotations

from django.urls import path

from batches import pages

urlpatterns = [
    path("prompts/<uuid:prompt_id>/tests/", pages.tests, name="prompt-tests"),
    path("prompts/<uuid:prompt_id>/tests/<uuid:dataset_id>/", pages.dataset, name="prompt-dataset"),
    path("prompts/<uuid:prompt_id>/batches/new/", pages.new_batch, name="prompt-batch-new"),
    path("prompts/<uuid:prompt_id>/batches/<uuid:batch_id>/", pages.batch, name="prompt-batch"),
]
