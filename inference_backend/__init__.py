"""The inference tier: an ASGI service that speaks the Messages API in front of engines that do not."""
