"""POST /v1/embeddings: the fixed batch call. Each input is one item of a batch."""
