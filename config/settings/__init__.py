"""Every setting, read from the environment once. `config/checks.py` says what is wrong with one and how to mend it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONCE, NONE, SELF
from kombu import Queue

from config.settings.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()


def secret(name: str, default: str = "") -> str:
    """A secret from NAME, or from the file named by NAME_FILE (how container platforms hand them over)."""
    path = os.environ.get(f"{name}_FILE")
    return Path(path).read_text(encoding="utf-8").strip() if path else env.str(name, default=default)


DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = secret("SECRET_KEY")
PUBLIC_URL = env.str("PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[])
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL, *env.list("CSRF_TRUSTED_ORIGINS", default=[])]
#: Proxies in front whose X-Forwarded-For is believed; 0 means the peer address is the client.
TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "pgtrigger",
    "allauth",
    "allauth.account",
    "rest_framework",
    "drf_spectacular",
    "channels",
    "csp",
    "core",
    "accounts",
    "inference_client",
    "playground",
    "chat",
    "sharing",
    "review",
    "batches",
    "config.apps.ProjectConfig",
]

MIDDLEWARE = [
    "core.middleware.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "core.middleware.PrivatePagesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "sharing.middleware.SharedReadsMiddleware",
    "core.middleware.RefuseNulMiddleware",
    "core.middleware.DomainErrorMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = None

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "chat.badge.unread",
            ],
        },
    },
]

# PostgreSQL, always. Under ASGI persistent connections leak a connection a thread; psycopg's pool bounds them.
#: Requests that one process works on at once; the others wait for a thread. Each holds a connection at most.
HTTP_THREADS = env.int("HTTP_THREADS", default=8)
DATABASES = {"default": env.db_url("DATABASE_URL", default="postgres://unset@127.0.0.1:1/unset")}
DATABASES["default"] |= {
    "ENGINE": "django.db.backends.postgresql",
    "CONN_MAX_AGE": 0,
    "OPTIONS": {
        "pool": {
            "min_size": 1,
            "max_size": env.int("DATABASE_POOL_SIZE", default=20),
            "timeout": 10,
        },
        "options": "-c statement_timeout=30000 -c lock_timeout=10000",
        # Only what asks for it is prepared (core/prepared.py). With Django's own None that would be ignored, too.
        "prepare_threshold": sys.maxsize,
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.str("REDIS_URL", default="redis://127.0.0.1:1/0")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "cache",
    }
}
# Pub/sub, not the sorted-set layer: that one drops what exceeds 100 messages a process. The transport may lose;
# whoever needs certainty reads from the database.
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
}

#: Connections to PostgreSQL that the chat sockets of one process hold besides DATABASE_POOL_SIZE.
CHAT_POOL_SIZE = env.int("CHAT_POOL_SIZE", default=8)

S3_ENDPOINT_URL = env.str("S3_ENDPOINT_URL", default="") or None
S3_PUBLIC_ENDPOINT_URL = env.str("S3_PUBLIC_ENDPOINT_URL", default="") or S3_ENDPOINT_URL
S3_ACCESS_KEY_ID = secret("S3_ACCESS_KEY_ID")
S3_SECRET_ACCESS_KEY = secret("S3_SECRET_ACCESS_KEY")
S3_BUCKET = env.str("S3_BUCKET", default="playground")
S3_REGION = env.str("S3_REGION", default="us-east-1")

#: Where runs are sent: our inference backend, or any server that speaks the Messages API (Anthropic's own included).
INFERENCE_BASE_URL = env.str("INFERENCE_BASE_URL", default="http://127.0.0.1:1").rstrip("/")
#: The address that snippets name: the same service as seen from a person's machine.
INFERENCE_PUBLIC_URL = env.str("INFERENCE_PUBLIC_URL", default=INFERENCE_BASE_URL).rstrip("/")
#: How many runs of one account are sent at once, by tier. With fewer worker threads than two accounts may hold places,
#: one account can keep another waiting.
RUN_PLACES = {
    tier: env.int(f"RUN_PLACES_{tier.upper()}", default=places)
    for tier, places in (("free", 4), ("pro", 8), ("internal", 16))
}
#: Anthropic's API, beside our backend or (where INFERENCE_BASE_URL is its address) in the place of it.
_ONLY_ANTHROPIC = (urlsplit(INFERENCE_BASE_URL).hostname or "").endswith(".anthropic.com")
ANTHROPIC_BASE_URL = INFERENCE_BASE_URL
if not _ONLY_ANTHROPIC:
    ANTHROPIC_BASE_URL = env.str("ANTHROPIC_BASE_URL", default="https://api.anthropic.com").rstrip("/")
#: The operator's key. Neither of the two is ever sent to the other's address.
ANTHROPIC_API_KEY = secret("ANTHROPIC_API_KEY") or (secret("INFERENCE_API_KEY") if _ONLY_ANTHROPIC else "")
INFERENCE_API_KEY = secret("INFERENCE_API_KEY") or (ANTHROPIC_API_KEY if _ONLY_ANTHROPIC else "")
#: Whose runs the operator's key pays for: tiers, e-mail addresses, or `everybody`.
ANTHROPIC_KEY_FOR = env.list("ANTHROPIC_KEY_FOR", default=["everybody" if _ONLY_ANTHROPIC else "internal"])
#: What keys of people are sealed with, separated by commas: the first one seals, all of them open.
SEALING_KEYS: list[str] = [key.strip() for key in secret("SEALING_KEYS").split(",") if key.strip()]
#: {"model": {"input_per_mtok": 3, "output_per_mtok": 15}} in US dollars, before the list prices that we know.
try:
    MODEL_PRICES = env.json("MODEL_PRICES", default={})
except ValueError:  # named by a check, and not by a traceback of every command
    MODEL_PRICES = "no JSON"
METRICS_TOKEN = secret("METRICS_TOKEN")

# --- accounts -----------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "allauth.account.auth_backends.AuthenticationBackend",
    "sharing.permissions.PromptAccessBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = env.str("ACCOUNT_EMAIL_VERIFICATION", default="optional")
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = urlsplit(PUBLIC_URL).scheme
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "10/m/ip,5/5m/key", "signup": "20/m/ip"}
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXY_COUNT
EMAIL_BACKEND = env.str("EMAIL_BACKEND", default="django.core.mail.backends.console.EmailBackend")
EMAIL_HOST = env.str("EMAIL_HOST", default="localhost")
EMAIL_PORT = env.int("EMAIL_PORT", default=587)
EMAIL_USE_TLS = env.bool("EMAIL_USE_TLS", default=True)
EMAIL_HOST_USER = env.str("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = secret("EMAIL_HOST_PASSWORD")
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="playground@localhost")

# --- security -----------------------------------------------------------------------------------------------------
# The scheme of the public address decides, so that a local start over plain http can sign in at all; a public
# address that is http and not loopback is refused by config/checks.py.
HTTPS = urlsplit(PUBLIC_URL).scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 60 * 60 * 24 * 14
SECURE_SSL_REDIRECT = HTTPS and env.bool("SECURE_SSL_REDIRECT", default=True)
SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        # CodeMirror writes its styles into one <style> element, which carries the page's nonce.
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF, *([S3_PUBLIC_ENDPOINT_URL] if S3_PUBLIC_ENDPOINT_URL else [])],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "object-src": [NONE],
    }
}
#: A JSON body; a single text sent inline has its own, smaller limit (playground.spec.INLINE_TEXT_BYTES).
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

# --- API ----------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.ApiKeyAuthentication",
        "accounts.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.parsers.StrictJSONParser"],
    "EXCEPTION_HANDLER": "core.boundary.rest_exception_handler",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Prompt playground",
    "VERSION": "1",
    "DESCRIPTION": "Keep, branch and run prompts. Authorize with `Authorization: Bearer <API key>`.",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "RunStatusEnum": "inference_client.models.RunStatus",
        "RunKindEnum": "inference_client.models.RunKind",
        "ProviderEnum": "inference_client.models.Provider",
        "DatasetStatusEnum": "batches.models.DatasetFile.Status",
        "DatasetFormatEnum": "batches.models.DatasetFile.Format",
        "BatchStateEnum": "batches.models.BatchState",
        "TransferStatusEnum": "sharing.models.transfer.OwnershipTransfer.Status",
        "AccessRequestStatusEnum": "sharing.models.request.AccessRequest.Status",
    },
}

# --- sharing ------------------------------------------------------------------------------------------------------
#: Who else may read prompts and runs, asked by the apps below `sharing`, which never import it.
SHARED_PROMPTS = "sharing.reading.shared_with"
RUN_GUARD = "sharing.run_guard.guard"
#: Told of a prompt whose epoch was raised below `sharing`, with that epoch.
ACCESS_ENDED = "sharing.services.epochs.tell"
#: Told of an account that was just switched off.
ACCOUNT_SWITCHED_OFF = "sharing.services.epochs.tell_of_account"
#: How long a revocation may take to reach everybody: 0 to 30 s. Its parts follow from it (sharing/bound.py).
SHARING_BOUND_S = env.float("SHARING_BOUND_S", default=30.0)
SHARING_REUSE_S = env.float("SHARING_REUSE_S", default=None)
SHARING_PRESIGNED_S = env.float("SHARING_PRESIGNED_S", default=None)
SHARING_SKEW_S = env.float("SHARING_SKEW_S", default=None)
SHARING_RECHECK_S = env.float("SHARING_RECHECK_S", default=None)
SHARING_JITTER_S = env.float("SHARING_JITTER_S", default=None)
#: Whether processes tell each other of revocations through Redis: quicker, and never what the bound rests on.
SHARING_NEWS = env.bool("SHARING_NEWS", default=True)
SHARING_LOG_KEPT_DAYS = env.int("SHARING_LOG_KEPT_DAYS", default=90)

# --- batches ------------------------------------------------------------------------------------------------------
#: Runs of batches, all together, that may wait for a worker or a model at once: less than the threads of the workers,
#: so that there are always some for who waits at a screen.
BATCH_IN_FLIGHT = env.int("BATCH_IN_FLIGHT", default=8)
#: The task that is told of the end of each run that was made for a batch.
BATCH_RUN_ENDED = "batches.tasks.settle_run"
#: Which of the embedding models of the inference backend says how near an answer is to its expected text.
EMBEDDING_MODEL = env.str("EMBEDDING_MODEL", default="wordllama-l2-supercat-256")

# --- worker -------------------------------------------------------------------------------------------------------
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
# Runs wait for models and may hold every thread of a worker for minutes. Sweeps (which find the runs of a dead worker)
# and the packing of uploads have a queue of their own, and so has what goes on between the runs of a batch. A worker
# without `-Q` serves all.
CELERY_TASK_QUEUES = [Queue("celery"), Queue("upkeep"), Queue("batches")]
CELERY_TASK_DEFAULT_QUEUE = "celery"
CELERY_TASK_ROUTES = {
    "inference_client.tasks.send_run": {"queue": "celery"},
    "batches.tasks.*": {"queue": "batches"},
    "*.tasks.*": {"queue": "upkeep"},
}
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
#: An enqueue from a request gives up quickly: the row says `queued` and the sweep sends it again.
CELERY_TASK_PUBLISH_RETRY_POLICY = {
    "max_retries": 2,
    "interval_start": 0.1,
    "interval_step": 0.2,
}
# redis-py 8 times out a socket after 5 s by default, which ends a blocking pop of the same length.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_timeout": 30,
    "socket_connect_timeout": 3,
    "socket_keepalive": True,
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"

# --- the rest -----------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles")))
STATICFILES_DIRS = [BASE_DIR / "static"]
#: Served from the source folder without a collectstatic step, for `manage.py up` and the tests.
STATIC_FROM_SOURCE = env.bool("STATIC_FROM_SOURCE", default=DEBUG)
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = STATIC_FROM_SOURCE
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if STATIC_FROM_SOURCE
        else "config.static.HashedStaticFiles"
    },
}
LOGGING = logging_config(env.str("LOG_LEVEL", default="INFO"))
