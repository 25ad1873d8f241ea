"""What outgoing calls trust. Making it reads all certificate authorities of the machine, which takes 40 ms."""

from __future__ import annotations

import functools
import ssl

import httpx2


@functools.cache
def trust() -> ssl.SSLContext:
    """For `verify` of a single call. Holds no connection and no cookie, so that calls of different people share it."""
    return httpx2.create_ssl_context()
