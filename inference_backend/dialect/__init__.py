"""The Messages API: the only part of the service that knows it."""
