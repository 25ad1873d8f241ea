import json
import math
from pathlib import Path

import pytest

from inference_backend.__main__ import main
from inference_backend.plan import Load, bound, counts_of_interest, simulated
from inference_backend.simulation.arrivals import Phase, poisson_arrivals
from inference_backend.simulation.fixed_call import FixedCallSimulation
from inference_backend.simulation.policies import RIVALS, CloseThenQueue, PerWorkerQueues

ANCHOR = Load(rate=2000, batch=50, call_s=0.2)


def test_eight_gpus_are_the_floor_nine_settle_and_ten_survive_a_loss(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--rate", "2000", "--batch", "50", "--call-ms", "200", "--seconds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:2] == ["floor", "8"]
    assert lines[2].split()[:3] == ["smallest", "stable", "9"]
    assert lines[3].split()[:4] == ["survives", "a", "loss", "10"]
    eight = next(line for line in lines if line.startswith("    8 "))
    assert eight.endswith("never settles")


def test_the_price_of_an_hour_gives_the_price_of_a_million_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--rate", "2000", "--gpu-hour", "2.5", "--seconds", "1"]) == 0
    ten = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("   10 "))
    assert "25.00" in ten
    assert "3.47" in ten


@pytest.mark.parametrize("rate", ["0", "-1", "inf", "nan", "many"])
def test_a_rate_that_is_none_is_refused(rate: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", f"--rate={rate}"])
    assert "--rate" in capsys.readouterr().err


def test_a_rate_that_no_fleet_serves_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--rate", "1e12"]) == 2
    assert main(["plan", "--rate", "10", "--batch", "0"]) == 2
    assert "GPUs" in capsys.readouterr().err


@pytest.mark.parametrize("gpus", [9, 10, 12, 16])
def test_formula_and_simulation_agree_where_the_gpus_are_busy(gpus: int) -> None:
    expected, seen = bound(ANCHOR, gpus), simulated(ANCHOR, gpus, duration_s=10, seed=1)
    assert seen.p50_s == pytest.approx(expected.p50_s, abs=0.002)
    assert expected.p99_s - 0.001 <= seen.p99_s <= expected.p99_s + 0.009
    assert seen.fill == pytest.approx(expected.fill, rel=0.05)


def test_an_unstable_count_has_no_expected_latency() -> None:
    assert bound(ANCHOR, 8).p99_s == math.inf
    assert ANCHOR.smallest_stable == 9
    assert Load(rate=1999, batch=50, call_s=0.2).smallest_stable == 8
    assert counts_of_interest(Load(rate=1, batch=50, call_s=0.2))[0] == 1


def test_arrivals_are_repeatable_have_the_rate_and_keep_the_mix() -> None:
    phases = (Phase(duration_s=10, rate=100), Phase(duration_s=10, rate=100, end_rate=300), Phase(duration_s=5, rate=0))
    arrivals = list(poisson_arrivals(phases, seed=4))
    assert arrivals == list(poisson_arrivals(phases, seed=4))
    assert len(arrivals) == pytest.approx(3000, rel=0.1)
    assert [at for at, _ in arrivals] == sorted(at for at, _ in arrivals)
    late = [at for at, _ in arrivals if at > 15]
    assert len(late) == pytest.approx(1250, rel=0.15)
    assert sum(tier == "free" for _, tier in arrivals) == pytest.approx(1800, rel=0.1)


def test_both_runs_of_a_scenario_are_printed_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    assert main(["simulate", "low-traffic", "--seed", "3", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "everybody with control" in shown
    assert "everybody without" in shown
    written = json.loads(file.read_text())
    assert written["seed"] == 3
    runs = written["scenarios"]["low-traffic"]
    assert set(runs) == {"with control", "without"}
    assert runs["with control"]["everybody"]["offered"] == runs["without"]["everybody"]["offered"] > 1000


def test_an_unknown_scenario_names_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "no-such"]) == 2
    assert "cold-start" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(RIVALS))
def test_each_rival_policy_answers_all_where_there_is_little_to_do(name: str) -> None:
    simulation = FixedCallSimulation(RIVALS[name](), call_s=0.2)
    simulation.join(4)
    simulation.run(poisson_arrivals((Phase(duration_s=5, rate=10),), seed=1))
    figures = simulation.figures(bound_s=0.6)
    assert figures.everybody.answered == figures.everybody.offered > 30
    assert figures.everybody.worst_s <= 0.7


def test_a_queue_for_each_gpu_and_a_batch_closed_too_early_are_as_bad_as_is_said() -> None:
    def p99(policy: PerWorkerQueues | CloseThenQueue) -> float:
        simulation = FixedCallSimulation(policy, call_s=0.2)
        simulation.join(10)
        simulation.run(poisson_arrivals((Phase(duration_s=10, rate=2000),), seed=1))
        return simulation.figures(bound_s=0.5).everybody.p99_s

    assert p99(PerWorkerQueues()) > 0.35
    assert p99(CloseThenQueue(window_s=0.01)) > 2
