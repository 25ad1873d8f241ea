"""Engines behind one protocol. Nothing in here knows the Messages API."""
