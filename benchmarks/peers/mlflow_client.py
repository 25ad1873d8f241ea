"""MLflow's prompt registry through its own client, in an environment that has MLflow. Driven over pipes.

Reads one JSON line a call, `{"do": "create" | "by_label" | "history", "name", "text"?}`, and writes one,
`{"seconds", "answer"}`. The client would keep what a label points at for a minute; that cache is off here, as a cache
of the caller says nothing about the registry.
"""

import json
import os
import sys
import time

os.environ["MLFLOW_ALIAS_PROMPT_CACHE_TTL_SECONDS"] = "0"
os.environ["MLFLOW_VERSION_PROMPT_CACHE_TTL_SECONDS"] = "0"

import mlflow
from mlflow import MlflowClient

LABEL = "production"


def create(client, name, text):
    version = mlflow.genai.register_prompt(name=name, template=text)
    return version.version


def label(client, name, text):
    newest = max(each.version for each in client.search_prompt_versions(name, max_results=200))
    mlflow.genai.set_prompt_alias(name, alias=LABEL, version=newest)


def by_label(client, name, text):
    return len(mlflow.genai.load_prompt(f"prompts:/{name}@{LABEL}", cache_ttl_seconds=0).template)


def history(client, name, text):
    return len(client.search_prompt_versions(name, max_results=100))


CALLS = {"create": create, "label": label, "by_label": by_label, "history": history}


def main():
    mlflow.set_tracking_uri(sys.argv[1])
    client = MlflowClient()
    for line in sys.stdin:
        asked = json.loads(line)
        started = time.perf_counter()
        answer = CALLS[asked["do"]](client, asked["name"], asked.get("text"))
        print(json.dumps({"seconds": time.perf_counter() - started, "answer": answer}), flush=True)


if __name__ == "__main__":
    main()
