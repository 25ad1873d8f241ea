"""`python -m inference_backend simulate`: named situations, with control and without, side by side."""

import argparse
import dataclasses
import json
import math
import sys
from pathlib import Path

from inference_backend.simulation import scenarios, token_scenarios
from inference_backend.simulation.report import Figures, Scenario, compare, table

#: Where scenarios are found: each module has a tuple SCENARIOS.
REGISTRY: tuple[Scenario, ...] = (*scenarios.SCENARIOS, *token_scenarios.SCENARIOS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(scenario.name for scenario in REGISTRY)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"all, or some of: {names}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")


def main(arguments: argparse.Namespace) -> int:
    wanted = arguments.scenarios or [scenario.name for scenario in REGISTRY]
    found = {scenario.name: scenario for scenario in REGISTRY}
    if unknown := [name for name in wanted if name not in found]:
        sys.stderr.write(f"no scenario {', '.join(unknown)}; there are {', '.join(found)}\n")
        return 2
    report: dict[str, object] = {}
    for name in wanted:
        runs = compare(found[name], seed=arguments.seed)
        sys.stdout.write(table(found[name], runs) + "\n")
        report[name] = {run: as_json(figures) for run, figures in runs.items()}
    if arguments.json:
        content = {"seed": arguments.seed, "scenarios": report}
        arguments.json.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return 0


def as_json(figures: Figures) -> dict[str, object]:
    """Where nothing was answered the times are null: NaN is not JSON."""
    content = dataclasses.asdict(figures)
    for row in (content["everybody"], *content["tiers"].values()):
        for name, value in row.items():
            if isinstance(value, float) and math.isnan(value):
                row[name] = None
    return content
