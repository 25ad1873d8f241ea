"""PowerShell, Windows PowerShell 5.1 and newer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from playground.snippets.shell import WITH_KEY_HEADER


def render(body: Mapping[str, Any], *, base_url: str, api_version: str) -> str:
    """A script. The body is a literal here-string: nothing in it is expanded, and no line of the JSON begins with `'@`.

    The JSON is written in ASCII: 5.1 reads a file without a byte order mark in the code page of the machine, and takes
    typographic quotes for quotes. It is sent as bytes, which Invoke-RestMethod would otherwise encode as Latin-1.
    """
    head = [
        "$body = @'",
        json.dumps(body, ensure_ascii=True, indent=2),
        "'@",
        "",
    ]
    return "\n".join([*head, *(_streaming if body.get("stream") else _waiting)(base_url, api_version), ""])


def _waiting(base_url: str, api_version: str) -> list[str]:
    return [
        "$answer = Invoke-RestMethod -Method Post `",
        f"  -Uri {_quoted(base_url + '/v1/messages')} `",
        f"  -Headers @{{ {_key(api_version, ' = ')}; 'anthropic-version' = {_quoted(api_version)} }} `",
        "  -ContentType 'application/json; charset=utf-8' `",
        "  -Body ([System.Text.Encoding]::UTF8.GetBytes($body))",
        "$answer.content | Where-Object { $_.type -eq 'text' } | ForEach-Object { $_.text }",
    ]


def _streaming(base_url: str, api_version: str) -> list[str]:
    return [
        "Add-Type -AssemblyName System.Net.Http",
        "$client = [System.Net.Http.HttpClient]::new()",
        f"$request = [System.Net.Http.HttpRequestMessage]::new('POST', {_quoted(base_url + '/v1/messages')})",
        f"$request.Headers.Add({_key(api_version, ', ')})",
        f"$request.Headers.Add('anthropic-version', {_quoted(api_version)})",
        "$utf8 = [System.Text.Encoding]::UTF8",
        "$request.Content = [System.Net.Http.StringContent]::new($body, $utf8, 'application/json')",
        "$response = $client.SendAsync($request, 'ResponseHeadersRead').GetAwaiter().GetResult()",
        "$reader = [System.IO.StreamReader]::new($response.Content.ReadAsStreamAsync().GetAwaiter().GetResult())",
        "while ($null -ne ($line = $reader.ReadLine())) { $line }",
    ]


def _key(api_version: str, between: str) -> str:
    """The name and the value of the header that carries the key."""
    if api_version == WITH_KEY_HEADER:
        return f"'x-api-key'{between}$env:ANTHROPIC_API_KEY"
    return f"'Authorization'{between}\"Bearer $env:ANTHROPIC_API_KEY\""


def _quoted(value: str) -> str:
    """In single quotes, where only they are doubled. Typographic ones count as quotes too."""
    for quote in "'\u2018\u2019\u201a\u201b":
        value = value.replace(quote, quote * 2)
    return f"'{value}'"
