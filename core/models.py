from core.idempotency import IdempotencyKey

__all__ = ["IdempotencyKey"]
