"""What a first start shows: three prompts that each teach one thing."""

from __future__ import annotations

from typing import Any

DEMO_MODEL = "smollm2-135m-instruct"

SAMPLES: list[dict[str, Any]] = [
    {
        "name": "Explain it to a newcomer",
        "description": "Variables: the same prompt for any topic and any reader.",
        "tags": ["sample", "variables"],
        "message": "Two variables, one with a default",
        "spec": {
            "model": DEMO_MODEL,
            "max_tokens": 200,
            "temperature": 0.2,
            "system": "You explain things in plain words. Use short sentences and one everyday comparison.",
            "messages": [{"role": "user", "content": "Explain {{topic}} to {{reader}} in three sentences."}],
            "variables": [
                {"name": "topic", "type": "text", "default": "photosynthesis", "description": "What to explain"},
                {"name": "reader", "type": "text", "default": "a ten-year-old", "description": "Who reads it"},
            ],
        },
    },
    {
        "name": "Support reply, continued",
        "description": "Several turns: the conversation so far is part of the prompt.",
        "tags": ["sample", "multi-turn"],
        "message": "A conversation with one turn answered",
        "spec": {
            "model": DEMO_MODEL,
            "max_tokens": 160,
            "temperature": 0.3,
            "system": "You work for a bicycle shop. Answer kindly, in at most three sentences.",
            "messages": [
                {"role": "user", "content": "My chain keeps falling off when I shift to the smallest gear."},
                {
                    "role": "assistant",
                    "content": "That is annoying! It is usually the limit screw of the rear derailleur. "
                    "Does the chain fall to the inside or to the outside?",
                },
                {"role": "user", "content": "To the outside, towards the frame."},
            ],
        },
    },
    {
        "name": "Facts as JSON",
        "description": "An output schema: the answer is JSON of a known shape.",
        "tags": ["sample", "schema"],
        "message": "Name and country, by schema",
        "spec": {
            "model": DEMO_MODEL,
            "max_tokens": 120,
            "temperature": 0,
            "messages": [
                {"role": "user", "content": "Which city and country is the Eiffel Tower in? Answer as JSON."},
            ],
            "output_schema": '{\n  "type": "object",\n  "properties": {\n    "city": {"type": "string"},\n'
            '    "country": {"type": "string"}\n  },\n  "required": ["city", "country"],\n'
            '  "additionalProperties": false\n}',
        },
    },
]
