from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """The project itself as an app: it carries the system checks and the commands that concern all apps."""

    name = "config"
    label = "project"

    def ready(self) -> None:
        from config import checks

        checks.register()
