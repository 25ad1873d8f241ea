"""Runs: a request sent once to a model, relayed as it streams, and kept with everything it put on the wire."""
