"""One generation for each Idempotency-Key: joined while it runs, replayed afterwards, for a day."""
