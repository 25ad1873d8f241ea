from batches.models.batch import (
    ENDED_ITEM,
    EXCERPT_LENGTH,
    MOST_CHECKS,
    MOST_VERSIONS,
    OPEN_ITEM,
    Batch,
    BatchItem,
    BatchRun,
    BatchState,
    BatchVersion,
    ItemStatus,
)
from batches.models.dataset import Dataset, DatasetFile, RowChunk, RowSet

__all__ = [
    "ENDED_ITEM",
    "EXCERPT_LENGTH",
    "MOST_CHECKS",
    "MOST_VERSIONS",
    "OPEN_ITEM",
    "Batch",
    "BatchItem",
    "BatchRun",
    "BatchState",
    "BatchVersion",
    "Dataset",
    "DatasetFile",
    "ItemStatus",
    "RowChunk",
    "RowSet",
]
