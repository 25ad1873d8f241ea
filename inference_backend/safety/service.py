"""Opens the stages that a policy file asks for."""

import os
from collections.abc import Mapping
from pathlib import Path

from inference_backend.configuration_file import ConfigurationFile
from inference_backend.embeddings.models import CallObserver
from inference_backend.pools.batch_pool import BatchPool
from inference_backend.pools.batch_worker import BatchWorker
from inference_backend.pools.submission import Ticket
from inference_backend.safety.classifiers import LlamaGuard, toxicity
from inference_backend.safety.finding import Passage, Scores
from inference_backend.safety.metrics import SafetyMetrics
from inference_backend.safety.policy import Classifier, read_policy
from inference_backend.safety.policy_file import PolicyFile
from inference_backend.safety.stages import SafetyStages
from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.settings import Settings, SettingsError

POOL = "safety"
#: A verdict that takes this many budgets will not come any more: the worker is started anew.
LOST_AFTER_BUDGETS = 4


def policy_path(settings: Settings, file: ConfigurationFile | None) -> Path | None:
    """INFERENCE_SAFETY_POLICY, or `policy` in [safety] of the configuration file: relative to that file.

    Raises SettingsError.
    """
    table = file.document.get("safety") if file else None
    if settings.safety_policy or table is None or settings.config_file is None:
        return settings.safety_policy
    if not isinstance(table, dict) or set(table) != {"policy"} or not isinstance(table["policy"], str):
        raise SettingsError('[safety] must hold policy = "FILE", and nothing else')
    return settings.config_file.parent / table["policy"]


def open_safety(
    path: Path | None,
    *,
    metrics: SafetyMetrics,
    on_call: CallObserver,
    environment: Mapping[str, str] = os.environ,
) -> SafetyStages | None:
    """None without a policy file. Raises SettingsError."""
    if path is None:
        return None
    policy = read_policy(path)
    pool = _pool(policy.classifier, on_call, environment) if policy.classifier else None
    return SafetyStages(policy, pool=pool, metrics=metrics)


def policy_file(
    path: Path, stages: SafetyStages, *, on_call: CallObserver, environment: Mapping[str, str] = os.environ
) -> PolicyFile:
    return PolicyFile(path, stages, lambda classifier: _pool(classifier, on_call, environment))


def _pool(classifier: Classifier, on_call: CallObserver, environment: Mapping[str, str]) -> BatchPool[Passage, Scores]:
    """No gate: callers were admitted to the answer already, and the budget ends every wait."""
    watchdog_s = LOST_AFTER_BUDGETS * classifier.budget_ms / 1000
    scheduler: BatchScheduler[Ticket[Passage, Scores]] = BatchScheduler(
        max_size=classifier.max_size,
        call_s=classifier.call_ms / 1000,
        watchdog_factor=1000 * watchdog_s / classifier.call_ms,
        gate=None,
    )
    return BatchPool(
        scheduler,
        {f"{classifier.engine}-{number}": _worker(classifier, environment) for number in range(classifier.workers)},
        watchdog_s=watchdog_s,
        name=POOL,
        on_call=lambda inputs, seconds, outcome: on_call(POOL, inputs, seconds, outcome),
    )


def _worker(classifier: Classifier, environment: Mapping[str, str]) -> BatchWorker[Passage, Scores]:
    if classifier.engine == "toxicity":
        return toxicity()
    key = environment.get(classifier.api_key_env) if classifier.api_key_env else None
    if classifier.api_key_env and not key:
        raise SettingsError(f"safety policy, classifier: the variable {classifier.api_key_env} is not set")
    return LlamaGuard(url=classifier.url, model=classifier.model, api_key=key)
