"""Prompts of other products, as those products write them, and what hostile hands make of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import DomainError, InvalidInput
from playground import snippets, wire
from playground.importing import curl, reading
from playground.importing.imported import Imported
from playground.spec import parse


def read(text: str | dict[str, Any] | list[Any]) -> Imported:
    written = text if isinstance(text, str) else json.dumps(text)
    found = reading.read(written, default_model="default-model")
    parse(found.spec)
    return found


LANGFUSE_TEXT = {
    "id": "cm1", "createdAt": "2026-01-01T00:00:00.000Z", "projectId": "p", "name": "movie/critic", "version": 3,
    "type": "text", "prompt": "As a {{criticLevel}} critic, rate {{ movie }}.\r\n", "isActive": None,
    "config": {"model": "claude-x", "temperature": 0.2, "max_tokens": 500, "supported_languages": ["en"]},
    "tags": ["movies"], "labels": ["production", "latest"], "commitMessage": "c", "resolutionGraph": None,
}  # fmt: skip


def test_a_langfuse_text_prompt_keeps_its_variables_and_settings() -> None:
    found = read(LANGFUSE_TEXT)
    assert (found.kind, found.name, found.tags, found.labels) == (
        "langfuse",
        "movie/critic",
        ["movies"],
        ["production"],
    )
    assert found.spec == {
        "model": "claude-x",
        "max_tokens": 500,
        "temperature": 0.2,
        "messages": [{"role": "user", "content": "As a {{criticLevel}} critic, rate {{ movie }}.\r\n"}],
    }
    assert wire.used_names(parse(found.spec).plain()) == ["criticLevel", "movie"]
    assert found.warnings == ["Left out, because there is no place for it: supported_languages."]


def test_a_langfuse_chat_prompt_keeps_its_roles() -> None:
    messages = [
        {"role": "system", "content": "You are {{who}}."},
        {"type": "placeholder", "name": "history"},
        {"type": "chatmessage", "role": "user", "content": "{{q}}"},
        {"role": "assistant", "content": "{"},
    ]
    found = read({"name": "chat", "type": "chat", "prompt": messages, "config": {}, "labels": []})
    assert found.spec["system"] == "You are {{who}}."
    assert [turn["content"] for turn in found.spec["messages"]] == ["{{history}}", "{{q}}", "{"]
    assert (found.spec["model"], found.spec["max_tokens"]) == ("default-model", 1024)
    assert len(found.warnings) == 3


def test_of_several_langfuse_versions_the_newest_is_read() -> None:
    found = read([{**LANGFUSE_TEXT, "version": 1, "prompt": "old"}, LANGFUSE_TEXT])
    assert "criticLevel" in found.spec["messages"][0]["content"]
    assert "newest" in found.warnings[-1]


PROMPTFOO = """
# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json
description: "Translate: größe 👍"
prompts:
  - label: translator
    raw: |
      [
        {"role": "system", "content": "You translate."},
        {"role": "user", "content": "Translate to {{language}}: {{ input }}"}
      ]
  - 'Second {{input}}'
providers:
  - id: anthropic:messages:claude-sonnet-x
    config: {temperature: 0.5, max_tokens: 77, apiKey: NOT-A-REAL-KEY}
  - openai:gpt-4.1
defaultTest:
  vars: {language: French, style: "x"}
tests:
  - vars:
      language: German
      input: "yes: no"
      data: {a: 1}
      when: 2026-01-01
    assert: [{type: contains, value: ja}]
"""


def test_a_promptfoo_configuration_keeps_prompt_model_and_first_values() -> None:
    found = read(PROMPTFOO)
    assert (found.kind, found.name) == ("promptfoo", "translator")
    assert (found.spec["model"], found.spec["temperature"], found.spec["max_tokens"]) == ("claude-sonnet-x", 0.5, 77)
    assert found.spec["system"] == "You translate."
    cards = {card["name"]: card.get("default") for card in found.spec["variables"]}
    assert cards == {"language": "German", "style": "x", "input": "yes: no", "data": '{"a": 1}', "when": '"2026-01-01"'}
    assert len(found.warnings) == 4
    assert "NOT-A-REAL-KEY" not in json.dumps([found.spec, found.warnings])


def test_plain_promptfoo_prompts_and_their_filters() -> None:
    found = read('prompts: "Hello {{ name | upper }} {% if x %}y{% endif %}"')
    assert found.spec["messages"][0]["content"].startswith("Hello {{ name | upper }}")
    assert any("Nunjucks" in warning for warning in found.warnings)
    with pytest.raises(InvalidInput, match="another file"):
        read("prompts: [file://prompt.txt]")


BOMB = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*{'a' if n == 0 else f'b{n - 1}'}, *a]\n" for n in range(30))


@pytest.mark.parametrize(
    "text",
    [
        BOMB + "prompts: *b29",
        "prompts: !!python/object/apply:os.system ['echo']",
        "prompts: [unclosed",
        "- just\n- a list",
        "just words",
        "",
        "{}",
        "[]",
        "null",
        '{"prompts": []}',
        "{" * 5000,
        "- " * 50_000,
        '{"messages": [1]}',
        '{"messages": [{"role": "user", "content": {"body": 1}}]}',
        '{"id": "pmpt_123", "version": "2"}',
        '{"name": "x", "prompt": [], "config": "{"}',
        "\ufeff",
        "x: \ud800",
    ],
)
def test_what_is_no_prompt_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(text)
    assert refused.value.message


OPENAI_PROMPT = {
    "id": "pmpt_1", "object": "prompt", "name": "Helper", "model": "gpt-4.1", "instructions": "Be brief.",
    "input": [{"role": "user", "content": [{"type": "input_text", "text": part} for part in ("Hi ", "{{n}}")]}],
    "text": {"format": {"type": "json_schema", "name": "s", "schema": {"type": "object", "b": 1, "a": 2}}},
    "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True},
              {"type": "web_search"}],
    "tool_choice": "required", "temperature": 1.5, "top_p": 0.9, "max_output_tokens": 99,
    "reasoning": {"effort": "low"},
    "variables": {"n": "Ada", "img": {"type": "input_image"}}, "store": True,
}  # fmt: skip


def test_an_openai_prompt_object_keeps_what_there_is_a_place_for() -> None:
    found = read(OPENAI_PROMPT)
    assert (found.kind, found.name, found.spec["system"]) == ("openai-prompt", "Helper", "Be brief.")
    assert found.spec["messages"] == [{"role": "user", "content": "Hi {{n}}"}]
    assert list(json.loads(found.spec["output_schema"])) == ["type", "b", "a"]
    assert json.loads(found.spec["tools"]) == [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]
    assert (found.spec["tool_choice"], found.spec["max_tokens"]) == ({"type": "any"}, 99)
    assert "temperature" not in found.spec
    assert found.spec["variables"] == [{"name": "n", "default": "Ada"}, {"name": "img"}]
    assert any("temperature" in warning for warning in found.warnings)
    assert any("reasoning" in warning for warning in found.warnings)


def test_a_chat_completion_with_tools_keeps_its_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    found = read(
        {
            "model": "gpt",
            "messages": [
                {"role": "developer", "content": "One."},
                {"role": "system", "content": "Two."},
                {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {}}]},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "result"},
            ],
            "max_completion_tokens": 5,
            "stop": "END",
            "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
        }
    )
    assert [block["text"] for block in found.spec["system"]] == ["One.", "Two."]
    assert found.spec["messages"][1]["content"][0] == {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    assert found.spec["messages"][2]["content"][0]["content"] == "result"
    assert (found.spec["stop_sequences"], found.spec["max_tokens"]) == (["END"], 5)


MESSAGES: dict[str, Any] = {
    "model": "claude-x", "max_tokens": 10, "temperature": 0, "stream": True, "metadata": {"user_id": "u"},
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "Hi {{x}} '\" \\ $HOME `id` \r\n\t\u0000 👍"}],
    "tools": [{"name": "t", "input_schema": {"type": "object", "z": 1, "a": 2}}], "thinking": {"type": "disabled"},
    "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
}  # fmt: skip


def test_a_messages_body_is_kept_as_it_is() -> None:
    found = read(MESSAGES)
    assert found.kind == "messages"
    assert found.spec["messages"] == MESSAGES["messages"]
    assert (found.spec["system"], found.spec["temperature"]) == (MESSAGES["system"], 0)
    assert json.loads(found.spec["tools"]) == MESSAGES["tools"]
    assert found.warnings[0] == "Left out, because there is no place for it: metadata."
    assert "variables: x" in found.warnings[1]


@pytest.mark.parametrize(
    "variables",
    [
        [{"name": "x", "default": "1"}, {"name": "y"}, {"name": " x ", "default": "2"}],
        {"cafe\u0301": "1", "y": None, "caf\u00e9": "2"},
    ],
)
def test_of_two_variables_of_one_name_the_last_stays_and_that_is_told(variables: Any) -> None:
    found = read({**MESSAGES, "variables": variables})
    cards = parse(found.spec).plain()["variables"]
    assert [(card["name"], card.get("default")) for card in cards] == [("y", None), (cards[1]["name"], "2")]
    assert "Some variables came twice under one name; the last of them stays." in found.warnings


def test_blocks_that_a_version_does_not_keep_are_told() -> None:
    content = [{"type": "server_tool_use", "id": "a", "name": "web_search"}, {"type": "text", "text": "t", "later": 1}]
    found = read({"model": "m", "max_tokens": 1, "messages": [{"role": "assistant", "content": content}]})
    assert found.spec["messages"][0]["content"] == [{"type": "text", "text": "t"}]
    assert len(found.warnings) == 2


def test_thoughts_and_results_made_of_blocks_are_kept_as_they_came() -> None:
    thought = {"type": "thinking", "thinking": "h", "signature": "s"}
    call = {"type": "tool_use", "id": "a", "name": "n", "input": {}, "cache_control": {"type": "ephemeral"}}
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}, image]}
    turns = [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [result]}]
    found = read({"model": "m", "max_tokens": 1, "messages": turns})
    assert found.spec["messages"] == turns
    assert found.warnings == []
    assert parse(found.spec).plain()["messages"] == turns


KEY = "NOT-A-REAL-KEY"


def commands(body: str) -> dict[str, str]:
    single, ansi = body.replace("'", "'\\''"), body.replace("\\", "\\\\").replace("'", "\\'")
    double = body.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
    head = f"curl https://api.example.com/v1/messages \\\n  --header \"x-api-key: {KEY}\" \\\n  -H 'version: 1' "
    return {
        "single": f"{head}\\\n     --data '{single}'",
        "attached": f"{head} -d'{single}'",
        "equals": f"{head} --data-raw='{single}' --compressed",
        "double": f'$ {head} --json "{double}"',
        "ansi": f"{head} --data-binary $'{ansi}'",
        "among others": f"{head} -X POST -d '{single}' -s",
        "document": f"{head} -d @- <<'EOF'\n{body}\nEOF\n",
        "credentials": f"curl -u user:{KEY} 'https://x/?key={KEY}' --cookie 'a={KEY}' -d '{single}'",
    }


@pytest.mark.parametrize("form", list(commands("")))
def test_a_curl_command_gives_its_body_and_no_key(form: str) -> None:
    found = read(commands(json.dumps(MESSAGES, ensure_ascii=False, indent=1))[form])
    assert found.kind == "curl, messages"
    assert found.spec["messages"] == MESSAGES["messages"]
    assert KEY not in json.dumps([found.name, found.spec, found.warnings, found.tags])


def test_our_own_snippet_comes_back_as_the_request_it_sends() -> None:
    spec = parse({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "it's\nREQUEST\n$(id) \\n"}]})
    body = wire.build(spec.plain(), {})
    found = read(snippets.LANGUAGES["curl"](body, base_url="http://127.0.0.1:1", api_version="2026-10-21"))
    assert found.spec["messages"] == body["messages"]


@pytest.mark.parametrize(
    "command",
    [
        "curl https://x",
        "curl -d @body.json https://x",
        f"curl -H 'x-api-key: {KEY}' -d '{{\"a\": 1",
        f"curl -H 'x-api-key: {KEY}' -d 'not json {KEY}'",
        "curl -d",
        "curl -d '[]'",
        "curl " + "\\" * 9999,
        'curl -d "' + '\\"' * 50_000,
    ],
)
def test_a_command_without_a_readable_body_is_refused_without_its_words(command: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(command)
    assert KEY not in str(refused.value.as_json())


def test_words_are_split_as_a_shell_does() -> None:
    assert curl.split("""a 'b c'"d"\\ e $'\\x41\\u00e9\\n\\'' "" \\\n f$x""") == ["a", "b cd e", "Aé\n'", "", "f$x"]


WORDS = (
    "model max_tokens messages prompt prompts name role content type text system tools tool_choice config providers "
    "tests vars function parameters input instructions variables id stop temperature labels tags response_format "
    "json_schema schema tool_calls arguments tool_call_id output_config format description raw defaultTest"
)
KEYS = st.sampled_from(WORDS.split())
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | KEYS | st.text(max_size=9)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=25
)


@settings(max_examples=400, deadline=None)
@given(value=st.dictionaries(KEYS, VALUES, min_size=1, max_size=7) | VALUES)
def test_no_json_breaks_a_reader(value: Any) -> None:
    try:
        found = reading.read_value(value, default_model="m")
        parse(found.spec)
    except DomainError:
        return
    assert found.kind


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from("curl -d'\"\\$@{}[]:*&!<>#|%\n EOFx1,"), max_size=60))
def test_no_text_breaks_a_reader(text: str) -> None:
    for written in (text, f"curl {text}", f"prompts: {text}"):
        try:
            reading.read(written, default_model="m")
        except DomainError:
            continue
