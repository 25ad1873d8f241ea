"""What the SDKs make of each thing that can go wrong. Scripts are those of scripted_cases.py."""

from tests.inference_backend.conformance.drivers import Case, Json
from tests.inference_backend.conformance.scripted_cases import OLD, ask, broken_off, failed

FIVE_MEGABYTES = 5 * 1024 * 1024


def one_of(*names: str) -> object:
    """The two languages have different names for some classes."""
    return lambda found: found in names


def refusals() -> list[Case]:
    bad = failed(400, "invalid_request_error", sdk_class="BadRequestError")
    too_large = failed(413, "request_too_large", sdk_class="RequestTooLargeError")
    too_large["error"]["class"] = one_of("RequestTooLargeError", "ContentTooLargeError")
    not_allowed = failed(401, "authentication_error", sdk_class="AuthenticationError")
    too_long = "prompt is too long: 9000 tokens > 4096 maximum"
    huge = ask("", messages=[{"role": "user", "content": "x" * FIVE_MEGABYTES * 8}])
    return [
        Case(name="no messages", call="create", params=ask("", messages=[]), expected=bad),
        Case(name="max_tokens of zero", call="create", params=ask("hello", max_tokens=0), expected=bad),
        Case(name="unknown field", call="create", params=ask("hello"), body={"unheard_of": 1}, expected=bad),
        Case(
            name="role of system",
            call="create",
            params=ask("", messages=[{"role": "system", "content": "x"}]),
            expected=bad,
        ),
        Case(
            name="stream refused",
            call="raw_stream",
            params=ask("", messages=[]),
            expected=bad,
        ),
        Case(name="wrong key", call="create", params=ask("hello"), client={"key": "wrong"}, expected=not_allowed),
        Case(
            name="wrong key of the old version",
            call="stream",
            params=ask("hello"),
            client={"headers": {"x-api-key": "wrong", "authorization": None, **OLD}},
            expected=not_allowed,
        ),
        Case(
            name="unknown model of a message",
            call="create",
            params=ask("hello", model="gpt-9"),
            expected=failed(404, "not_found_error", sdk_class="NotFoundError", message="model: gpt-9"),
        ),
        Case(name="body of forty megabytes", call="create", params=huge, expected=too_large),
        Case(
            name="prompt too long for the engine",
            call="create",
            params=ask("too_long"),
            expected=failed(400, "invalid_request_error", sdk_class="BadRequestError", message=too_long),
        ),
        Case(
            name="prompt too long by count",
            call="create",
            params=ask("", messages=[{"role": "user", "content": "word " * 4097}]),
            expected=failed(
                400,
                "invalid_request_error",
                sdk_class="BadRequestError",
                message="prompt is too long: 4097 tokens > 4096 maximum",
            ),
        ),
        Case(name="refused by the engine", call="create", params=ask("status_400"), expected=bad),
    ]


def forbidden(key: str) -> list[Case]:
    """With the key of somebody who may not use the inference backend."""
    return [
        Case(
            name="key without the scope",
            call="create",
            params=ask("hello"),
            client={"key": key},
            expected=failed(403, "permission_error", sdk_class="PermissionDeniedError"),
        )
    ]


def faults() -> list[Case]:
    server_error = failed(500, "api_error", sdk_class="InternalServerError")
    timed_out = failed(504, "timeout_error", sdk_class="GatewayTimeoutError")
    timed_out["error"]["class"] = one_of("GatewayTimeoutError", "DeadlineExceededError", "InternalServerError")
    cases = [
        Case(name="engine says 500", call="create", params=ask("status_500"), expected=server_error),
        Case(name="garbage at first", call="raw_stream", params=ask("early_garbage"), expected=server_error),
        Case(name="no first token", call="create", params=ask("silent"), expected=timed_out),
        Case(name="no answer at all", call="create", params=ask("mute"), expected=timed_out),
    ]
    for script, code in MIDDLE_FAULTS.items():
        cases += [
            Case(
                name=f"{script} whole",
                call="create",
                params=ask(script),
                expected={"message": None, "error": {"status": _whole_status(script)}, "calls": 1},
            ),
            Case(
                name=f"{script} stream",
                call="stream",
                params=ask(script),
                expected={"message": None, "error": {"status": 200, "code": code}, "calls": 1},
            ),
            Case(name=f"{script} events", call="raw_stream", params=ask(script), expected=_middle(script, code)),
        ]
    return cases


MIDDLE_FAULTS = {
    "reset": "replica_lost",
    "closed": "replica_lost",
    "unfinished": "replica_lost",
    "half_frame": "replica_lost",
    "garbage": "engine_garbage",
    "not_utf8": "engine_garbage",
    "failed": "engine_failed",
    "stalled": "engine_timeout",
}


def _whole_status(script: str) -> int:
    return 504 if script == "stalled" else 500


def _middle(script: str, code: str) -> Json:
    expected = broken_off(code)
    if script == "stalled":
        expected["error"]["type"] = "timeout_error"
    return expected


def retries() -> list[Case]:
    """What is worth trying again is tried as often as the SDK was told, and no more; the rest once."""
    patient = {"max_retries": 2}
    overloaded: Json = {"status": 529, "type": "overloaded_error", "class": one_of("OverloadedError")}
    return [
        Case(
            name="overload is tried three times",
            call="create",
            params=ask("gone"),
            client=patient,
            expected={"error": overloaded, "calls": 3, "headers": {"retry-after": "2"}},
        ),
        Case(
            name="overload of a stream is tried three times",
            call="raw_stream",
            params=ask("gone"),
            client=patient,
            expected={"error": overloaded, "calls": 3, "events": []},
        ),
        Case(
            name="overload without retries",
            call="create",
            params=ask("gone"),
            expected={"error": overloaded, "calls": 1},
        ),
        Case(
            name="overload after the stream began is not tried again",
            call="raw_stream",
            params=ask("late_loss"),
            client=patient,
            expected={"error": {"status": 200, "type": "overloaded_error"}, "calls": 1},
        ),
        Case(
            name="stream that broke off is not tried again",
            call="raw_stream",
            params=ask("reset"),
            client=patient,
            expected={"error": {"status": 200, "type": "api_error"}, "calls": 1},
        ),
        Case(
            name="missing header is not tried again",
            call="create",
            params=ask("hello"),
            client={**patient, "headers": {"anthropic-version": None}},
            expected={"error": {"status": 400, "class": "BadRequestError"}, "calls": 1},
        ),
        Case(
            name="wrong key is not tried again",
            call="create",
            params=ask("hello"),
            client={**patient, "key": "wrong"},
            expected={"error": {"status": 401}, "calls": 1},
        ),
    ]
