"""What stands in deploy/ fits the service: manifests, dashboard, alerts and the configuration inside them."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from inference_backend.fleet.configuration import read_models
from inference_backend.metrics import Metrics
from inference_backend.settings import Settings

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUBERNETES_VERSION = "1.33"
# Of controllers that a cluster adds; the schemas of Kubernetes do not know them.
CUSTOM = {"LeaderWorkerSet", "ScaledObject", "Kustomization"}
METRIC = re.compile(r"\binference_(?!backend\b)[a-z_]+\b")


def _documents() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.name}: {document['kind']}", document)
        for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
    ]


@pytest.mark.parametrize(("name", "document"), [pair for pair in _documents() if pair[1]["kind"] not in CUSTOM])
def test_a_manifest_fits_the_schema_of_kubernetes(name: str, document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, KUBERNETES_VERSION, strict=True)


def test_a_manifest_with_a_wrong_field_is_noticed() -> None:
    service = next(document for name, document in _documents() if name == "vllm.yaml: Service")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**service, "spec": {"prots": []}}, KUBERNETES_VERSION, strict=True)


def test_pods_of_custom_kinds_fit_the_schema_of_pods() -> None:
    group = next(document for name, document in _documents() if name.endswith("LeaderWorkerSet"))
    for part in ("leaderTemplate", "workerTemplate"):
        template = group["spec"]["leaderWorkerTemplate"][part]
        pod = {"apiVersion": "v1", "kind": "Pod", **template}
        kubernetes_validate.validate(pod, KUBERNETES_VERSION, strict=True)


def test_the_configuration_of_the_front_door_is_read_and_names_a_service_that_exists() -> None:
    documents = dict(_documents())
    configuration = tomllib.loads(documents["front-door.yaml: ConfigMap"]["data"]["inference.toml"])
    (model,) = read_models(configuration, {})
    (found,) = model.dns
    service, namespace = documents["vllm.yaml: Service"], documents["namespace.yaml: Namespace"]
    assert found.host.split(".")[:2] == [service["metadata"]["name"], namespace["metadata"]["name"]]
    assert found.port == service["spec"]["ports"][0]["port"]
    (container,) = documents["vllm.yaml: Deployment"]["spec"]["template"]["spec"]["containers"]
    arguments = dict(argument.split("=") for argument in container["args"] if "=" in argument)
    doors = documents["front-door.yaml: Deployment"]["spec"]["replicas"]
    assert found.slots is not None
    assert found.slots * doors == int(arguments["--max-num-seqs"])
    assert arguments["--served-model-name"] == model.id


def test_the_variables_of_the_front_door_are_those_that_the_service_reads() -> None:
    documents = dict(_documents())
    (container,) = documents["front-door.yaml: Deployment"]["spec"]["template"]["spec"]["containers"]
    given = {variable["name"]: str(variable.get("value", "redis://valkey:6379/0")) for variable in container["env"]}
    settings = Settings.from_environment(given)
    assert str(settings.config_file) == given["INFERENCE_CONFIG"]
    assert settings.redis_url
    assert settings.service_key_digest


def _exported() -> set[str]:
    """Names as Prometheus sees them, of every metric that the service declares."""
    names = set()
    for line in Metrics().render().decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            names.add(name)
            if kind == "histogram":
                names |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"}
    return names


@pytest.mark.parametrize("path", ["grafana/inference.json", "prometheus/alerts.yaml", "kubernetes/autoscaling.yaml"])
def test_every_metric_that_is_asked_for_exists(path: str) -> None:
    asked = set(METRIC.findall((DEPLOY / path).read_text()))
    assert asked
    assert asked - _exported() == set()


def test_the_dashboard_places_its_panels_without_overlap() -> None:
    panels = json.loads((DEPLOY / "grafana/inference.json").read_text())["panels"]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    (group,) = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]:
        assert {"summary", "action"} <= rule["annotations"].keys()
        assert rule["labels"]["severity"] in {"page", "ticket"}


@pytest.mark.parametrize("script", sorted((DEPLOY / "ray").glob("*.sh")), ids=lambda path: str(path.name))
def test_a_script_is_valid_and_refuses_to_guess(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)
    finished = subprocess.run(
        ["bash", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=20
    )
    assert finished.returncode != 0
    assert "VLLM_HOST_IP" in finished.stderr or "MODEL" in finished.stderr
