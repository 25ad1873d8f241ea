from importlib import import_module

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # For its classes, which register themselves; not at the top, because it needs the models to be loaded.
        import_module("accounts.schema")
