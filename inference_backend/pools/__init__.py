"""Schedulers driven by the event loop: what waits is a future, what was granted is a lease."""
