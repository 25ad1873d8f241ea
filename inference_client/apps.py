from django.apps import AppConfig


class InferenceClientConfig(AppConfig):
    name = "inference_client"
    default_auto_field = "django.db.models.BigAutoField"
