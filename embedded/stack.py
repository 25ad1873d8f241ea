"""Which processes an instance needs, given what the environment already provides."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from embedded import application, model
from embedded import postgres as postgresql
from embedded.credentials import Credentials
from embedded.errors import EnvironmentIncomplete
from embedded.folder import DataFolder
from embedded.ports import Ports
from embedded.postgres import postgres
from embedded.seaweedfs import REGION, access_key_id, seaweedfs, secret_access_key
from embedded.service import PLAIN_VARIABLES, Job, Service
from embedded.valkey import redis_url, valkey

SERVICES = ("postgres", "valkey", "seaweedfs", "engine", "inference_backend", "web", "worker", "upkeep", "beat")
APPLICATION = ("web", "worker", "upkeep", "beat")
BUCKET = "playground"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line says."""

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path = Path("var")
    only: tuple[str, ...] = SERVICES
    throw_away: bool = False
    demo: bool = True
    #: Stop when this process is gone; for tests, which may be killed.
    stop_with: int | None = None


@dataclass
class Stack:
    """Services and jobs in no order (each names what it comes `after`), and the environment of the application."""

    options: Options
    folder: DataFolder
    credentials: Credentials
    ports: Ports
    given: Mapping[str, str]
    sockets: Path
    environment: dict[str, str] = field(default_factory=dict)
    services: list[Service] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    @property
    def plain(self) -> dict[str, str]:
        return {name: self.given[name] for name in PLAIN_VARIABLES if name in self.given}

    @property
    def child_environment(self) -> dict[str, str]:
        """What our own processes get: everything this one has, and what was resolved."""
        return {**self.given, **self.environment}

    @property
    def web_address(self) -> str:
        return application.local_address(self.options.host, self.options.port)

    def wants(self, name: str) -> bool:
        return name in self.options.only

    def started(self, *names: str) -> tuple[str, ...]:
        """Of these, the ones that this stack starts itself."""
        known = {*(each.name for each in self.services), *(each.name for each in self.jobs)}
        return tuple(name for name in names if name in known)


def build(options: Options, folder: DataFolder, given: Mapping[str, str] = os.environ) -> Stack:
    """Resolve the environment and list what has to be started. Generates secrets and picks ports; starts nothing."""
    stack = Stack(
        options=options,
        folder=folder,
        credentials=Credentials(folder.secrets),
        ports=Ports(folder.run / "ports.json"),
        given={name: value for name, value in given.items() if value != "" or name not in REPLACED},
        sockets=folder.sockets(),
    )
    # The web server binds last; until then its port looks free.
    stack.ports.reserve(options.port)
    add_web_settings(stack)
    add_database(stack)
    add_redis(stack)
    add_storage(stack)
    add_inference(stack)
    if stack.wants("web"):
        add_application(stack)
    return stack


def add_web_settings(stack: Stack) -> None:
    options = stack.options
    public = stack.given.get("PUBLIC_URL") or stack.web_address
    hosts = dict.fromkeys(["127.0.0.1", "localhost", "[::1]", options.host])
    stack.environment |= {
        "PUBLIC_URL": public,
        "ALLOWED_HOSTS": stack.given.get("ALLOWED_HOSTS") or ",".join(hosts),
        "SECRET_KEY": stack.given.get("SECRET_KEY") or stack.credentials.get("secret_key", entropy_bytes=50),
        # What seals the keys that people keep here. Made once: a new one could not open what the old one sealed.
        "SEALING_KEYS": stack.given.get("SEALING_KEYS") or stack.credentials.get("sealing_key"),
        "METRICS_TOKEN": stack.given.get("METRICS_TOKEN") or stack.credentials.get("metrics_token"),
        # Static files straight from the source: nothing to collect before the first page.
        "STATIC_FROM_SOURCE": stack.given.get("STATIC_FROM_SOURCE") or "true",
        "DEMO_ACCOUNTS_FILE": str(stack.credentials.demo_file),
    }


def add_database(stack: Stack) -> None:
    if "DATABASE_URL" in stack.given:
        stack.environment["DATABASE_URL"] = stack.given["DATABASE_URL"]
    elif stack.wants("postgres"):
        password = stack.credentials.get("postgres_password")
        port = stack.ports.get("postgres")
        stack.services.append(
            postgres(
                stack.folder,
                port=port,
                password=password,
                environment=stack.plain,
                throw_away=stack.options.throw_away,
            )
        )
        stack.environment["DATABASE_URL"] = postgresql.database_url(port, password)


def add_redis(stack: Stack) -> None:
    if "REDIS_URL" in stack.given:
        stack.environment["REDIS_URL"] = stack.given["REDIS_URL"]
    elif stack.wants("valkey"):
        password = stack.credentials.get("valkey_password")
        port = stack.ports.get("valkey")
        stack.services.append(
            valkey(
                stack.folder,
                port=port,
                password=password,
                environment=stack.plain,
                throw_away=stack.options.throw_away,
            )
        )
        stack.environment["REDIS_URL"] = redis_url(port, password)


#: A bucket elsewhere needs these; the endpoint may be left out for AWS.
STORAGE_NEEDED = ("S3_BUCKET", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")
STORAGE_OPTIONAL = ("S3_ENDPOINT_URL", "S3_PUBLIC_ENDPOINT_URL", "S3_REGION")
REPLACED = (
    "DATABASE_URL",
    "REDIS_URL",
    "INFERENCE_BASE_URL",
    "INFERENCE_ENGINE_URL",
    *STORAGE_NEEDED,
    *STORAGE_OPTIONAL,
)


def add_storage(stack: Stack) -> None:
    """Raises EnvironmentIncomplete for an endpoint or keys without the rest."""
    names = [name for name in (*STORAGE_NEEDED, *STORAGE_OPTIONAL) if name in stack.given]
    if names:
        missing = [name for name in STORAGE_NEEDED if not {name, f"{name}_FILE"} & stack.given.keys()]
        if missing:
            raise EnvironmentIncomplete(
                f"{names[0]} is set, so no SeaweedFS is started, but {', '.join(missing)} is missing. "
                "Set all of S3_ENDPOINT_URL, S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or none."
            )
        stack.environment |= {name: stack.given[name] for name in names}
    elif stack.wants("seaweedfs"):
        service, endpoint = seaweedfs(
            stack.folder,
            ports=stack.ports,
            credentials=stack.credentials,
            environment=stack.plain,
            sockets=stack.sockets,
            bucket=BUCKET,
            origin=stack.environment["PUBLIC_URL"],
        )
        stack.services.append(service)
        stack.environment |= {
            "S3_ENDPOINT_URL": endpoint,
            "S3_PUBLIC_ENDPOINT_URL": endpoint,
            "S3_BUCKET": BUCKET,
            "S3_REGION": REGION,
            "S3_ACCESS_KEY_ID": access_key_id(stack.credentials),
            "S3_SECRET_ACCESS_KEY": secret_access_key(stack.credentials),
        }


def add_inference(stack: Stack) -> None:
    """INFERENCE_BASE_URL: nothing to start. INFERENCE_ENGINE_URL: only our backend, in front of that engine."""
    if "INFERENCE_BASE_URL" in stack.given:
        names = ("INFERENCE_BASE_URL", "INFERENCE_PUBLIC_URL", "INFERENCE_API_KEY")
        stack.environment |= {name: stack.given[name] for name in names if name in stack.given}
        return
    if stack.wants("engine") or stack.wants("inference_backend"):
        add_engine(stack)
    if stack.wants("inference_backend"):
        add_backend(stack)


def add_engine(stack: Stack) -> None:
    if "INFERENCE_ENGINE_URL" in stack.given:
        names = [name for name in stack.given if name.startswith("INFERENCE_ENGINE_")]
        stack.environment |= {name: stack.given[name] for name in names}
        return
    port = stack.ports.get("engine")
    stack.environment |= {
        "INFERENCE_ENGINE_URL": f"http://127.0.0.1:{port}",
        "INFERENCE_ENGINE_KIND": "llama_cpp",
        "INFERENCE_ENGINE_MODEL": model.MODEL,
        "INFERENCE_ENGINE_NOTICE": model.NOTICE,
    }
    if stack.wants("engine"):
        threads = int(stack.given.get("EMBEDDED_ENGINE_THREADS", "0")) or None
        # Started from the project's folder, where the package is found; it needs nothing secret.
        environment = {**stack.plain, "PYTHONPATH": str(application.ROOT)}
        stack.services.append(model.engine(port=port, environment=environment, threads=threads))


def add_backend(stack: Stack) -> None:
    port = stack.ports.get("inference_backend")
    address = f"http://127.0.0.1:{port}"
    key = stack.given.get("INFERENCE_API_KEY") or stack.credentials.get("inference_api_key")
    stack.environment |= {
        "INFERENCE_BASE_URL": address,
        "INFERENCE_PUBLIC_URL": stack.given.get("INFERENCE_PUBLIC_URL") or address,
        "INFERENCE_API_KEY": key,
        "INFERENCE_SERVICE_KEY": key,
    }
    # An empty INFERENCE_EMBEDDINGS serves none. A person who stops the application does not wait for answers to end.
    environment = {
        "INFERENCE_EMBEDDINGS": "static",
        "INFERENCE_SHUTDOWN_S": "1",
        **stack.child_environment,
        "PYTHONPATH": str(application.ROOT),
    }
    stack.services.append(
        model.backend(host="127.0.0.1", port=port, environment=environment, after=stack.started("valkey"))
    )


def add_application(stack: Stack) -> None:
    options, environment = stack.options, stack.child_environment
    stores: Sequence[str] = stack.started("valkey", "seaweedfs")
    migrate = application.command(
        "migrate",
        "Migrations",
        *("migrate", "--no-input", "--verbosity", "0"),
        environment=environment,
        after=stack.started("postgres"),
    )
    stack.jobs.append(migrate)
    behind = ("migrate", *stores)
    if options.demo and not seeded(stack.folder).exists():
        stack.credentials.demo_accounts()
        seed = application.command("seed", "Demo accounts", "seed_demo", environment=environment, after=behind)
        stack.jobs.append(seed_once(seed, stack.folder))
        behind = ("seed",)
    # One after the other: on two cores they would only take the time from each other, and the first page is what
    # somebody waits for.
    stack.services += [
        application.web(host=options.host, port=options.port, environment=environment, after=behind),
        application.worker(web_address=stack.web_address, environment=environment, after=("web",)),
        application.upkeep(environment=environment, after=("worker",)),
        application.beat(stack.folder, environment=environment, after=("worker",)),
    ]
    stack.jobs.append(
        application.command(
            "check_storage", "Storage check", "check_storage", environment=environment, after=("worker",)
        )
    )


def seeded(folder: DataFolder) -> Path:
    """Exists once the demo accounts were made, so that deleting them does not bring them back."""
    return folder.run / "seeded"


def seed_once(seed: Job, folder: DataFolder) -> Job:
    return replace(seed, then=seeded(folder).touch)
