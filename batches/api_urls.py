from __future__ import annotations

from django.urls import path

from batches.api import batches, datasets, downloads, results

PROMPT = "prompts/<uuid:prompt_id>"
DATASET = "datasets/<uuid:dataset_id>"
BATCH = "batches/<uuid:batch_id>"

urlpatterns = [
    path(f"{PROMPT}/datasets", datasets.DatasetList.as_view(), name="api-datasets"),
    path(DATASET, datasets.DatasetDetail.as_view(), name="api-dataset"),
    path(f"{DATASET}/complete", datasets.DatasetComplete.as_view(), name="api-dataset-complete"),
    path(f"{DATASET}/rows", datasets.DatasetRows.as_view(), name="api-dataset-rows"),
    path(f"{DATASET}/rows.csv", downloads.RowsCsv.as_view(), name="api-dataset-rows-csv"),
    path(f"{DATASET}/rows.jsonl", downloads.RowsJsonl.as_view(), name="api-dataset-rows-jsonl"),
    path(f"{PROMPT}/batches", batches.BatchList.as_view(), name="api-batches"),
    path(f"{PROMPT}/batches/estimate", batches.BatchEstimate.as_view(), name="api-batches-estimate"),
    path(BATCH, batches.BatchDetail.as_view(), name="api-batch"),
    path(f"{BATCH}/pause", batches.BatchPause.as_view(), name="api-batch-pause"),
    path(f"{BATCH}/resume", batches.BatchResume.as_view(), name="api-batch-resume"),
    path(f"{BATCH}/cancel", batches.BatchCancel.as_view(), name="api-batch-cancel"),
    path(f"{BATCH}/retry", batches.BatchRetry.as_view(), name="api-batch-retry"),
    path(f"{BATCH}/results", results.Results.as_view(), name="api-batch-results"),
    path(f"{BATCH}/results/<int:index>", results.ResultRow.as_view(), name="api-batch-result-row"),
    path(f"{BATCH}/results.csv", downloads.ResultsCsv.as_view(), name="api-batch-results-csv"),
    path(f"{BATCH}/results.jsonl", downloads.ResultsJsonl.as_view(), name="api-batch-results-jsonl"),
]
