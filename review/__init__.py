"""Comments anchored to passages of a version."""
