"""Rules of the policy file: what they refuse, what they cost, and what a wrong policy says."""

import dataclasses
from pathlib import Path

import pytest

from inference_backend.configuration_file import ConfigurationFile
from inference_backend.engines.protocol import GenerationRequest, Stopped, Turn
from inference_backend.errors import BodyTooLargeError
from inference_backend.safety.policy import Policy
from inference_backend.safety.rules import RuleSet
from inference_backend.safety.service import policy_path
from inference_backend.settings import Settings, SettingsError
from inference_backend.tiers import Tier
from tests.inference_backend.inspecting import RULES, Answer, ask, stages_for, text_of, words

KEY = "-----BEGIN RSA PRIVATE KEY-----"


async def test_a_prompt_that_a_rule_refuses_never_reaches_the_engine(tmp_path: Path) -> None:
    async with stages_for(tmp_path, RULES) as stages:
        answer = Answer(words("not seen"))
        inspection = stages.open(ask(f"What is {KEY}?"), tier="free")
        await inspection.check_input()
        events = [event async for event in inspection.guard(answer.events())]
        (stopped,) = events
        assert isinstance(stopped, Stopped)
        assert stopped.reason == "refusal"
        assert stopped.refusal
        assert stopped.refusal.category == "secrets"
        assert stopped.refusal.explanation == "Private keys stay out of prompts and answers."
        assert answer.given == 0
        assert inspection.headers == {"x-safety-verdict": f"refused; policy={stages.policy.digest}"}


@pytest.mark.parametrize("place", ["system", "earlier turn", "prefill"])
async def test_rules_look_at_every_part_of_a_prompt(tmp_path: Path, place: str) -> None:
    def text(own: str) -> str:
        return KEY if own == place else "nothing"

    turns = (
        Turn(role="user", text=text("earlier turn")),
        Turn(role="assistant", text="nothing"),
        Turn(role="user", text="nothing"),
        Turn(role="assistant", text=text("prefill")),
    )
    async with stages_for(tmp_path, RULES) as stages:
        request = GenerationRequest(turns=turns, max_tokens=5, system=text("system"))
        inspection = stages.open(request, tier="pro")
        await inspection.check_input()
        assert inspection.verdict == "refused"


async def test_a_rule_for_answers_leaves_prompts_alone(tmp_path: Path) -> None:
    async with stages_for(tmp_path, RULES) as stages:
        inspection = stages.open(ask("What is xyzzy?"), tier="free")
        await inspection.check_input()
        events = [event async for event in inspection.guard(Answer(words("A word of old.")).events())]
        assert text_of(events) == "A word of old. "
        assert inspection.verdict == "allowed"


async def test_a_tier_has_its_own_size_and_may_have_no_rules(tmp_path: Path) -> None:
    policy = RULES + "[tiers.free]\nmax_input_bytes = 10\n[tiers.internal]\nrules = false\n"
    async with stages_for(tmp_path, policy) as stages:
        with pytest.raises(BodyTooLargeError, match="11 bytes"):
            await stages.open(ask("elevenbytes"), tier="free").check_input()
        others: tuple[Tier, ...] = ("pro", "internal")
        for tier in others:
            await stages.open(ask("elevenbytes"), tier=tier).check_input()
        inspection = stages.open(ask(KEY), tier="internal")
        await inspection.check_input()
        assert inspection.verdict == "pending"


@pytest.mark.timeout(60)
def test_no_pattern_takes_more_time_than_the_length_of_the_text() -> None:
    """In a backtracking engine this pattern takes for ever on this text."""
    rules = RuleSet()
    rules.add(r"(a+)+$", name="nested", category="c", explanation="e")
    rules.add(r"(x+x+)+y", name="nested too", category="c", explanation="e")
    rules.compile()
    assert rules.first_match("a" * 100_000 + "b" + "x" * 100_000) is None


def test_of_several_rules_that_match_the_first_one_counts() -> None:
    rules = RuleSet()
    rules.add("b", name="1", category="first", explanation="")
    rules.add("a", name="2", category="second", explanation="")
    finding = rules.compile().first_match("ab")
    assert finding
    assert finding.category == "first"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("[[rules]]\nname='r'\npattern='('\ncategory='c'", "rule r: RE2 does not take this pattern"),
        ("[[rules]]\nname='r'\npattern='(?=x)'\ncategory='c'", "rule r: RE2 does not take this pattern"),
        ("[tiers.gold]\nrules = true", "tiers.gold"),
        ("[tiers.free]\nrulez = true", "tiers.free.rulez"),
        ("[tiers.free]\nthresholds = { toxicity = 2.0 }", "tiers.free.thresholds.toxicity"),
        ("[classifier]\nbudget_ms = 50000", "classifier.budget_ms"),
        ("[classifier]\nengine = 'llama_guard'", "classifier.url"),
        ("= nonsense", "no TOML"),
    ],
)
def test_a_wrong_policy_names_the_place(policy: str, said: str) -> None:
    with pytest.raises(SettingsError, match="safety policy") as failure:
        Policy(policy.encode())
    assert said in str(failure.value)


def test_the_configuration_file_may_name_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "inference.toml"
    path.write_text('[safety]\npolicy = "rules.toml"\n', encoding="utf-8")
    settings = Settings(config_file=path)
    assert policy_path(settings, ConfigurationFile(path)) == tmp_path / "rules.toml"
    own = dataclasses.replace(settings, safety_policy=tmp_path / "own.toml")
    assert policy_path(own, ConfigurationFile(path)) == tmp_path / "own.toml"
    assert policy_path(Settings(), None) is None
    path.write_text("[safety]\nrules = true\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="safety"):
        policy_path(settings, ConfigurationFile(path))


def test_the_digest_names_the_exact_file() -> None:
    assert Policy(RULES.encode()).digest == Policy(RULES.encode()).digest
    assert Policy(RULES.encode()).digest != Policy((RULES + "\n").encode()).digest
