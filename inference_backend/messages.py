"""The path of a request to /v1/messages and /v1/messages/count_tokens."""

from starlette.types import Receive, Scope, Send

from inference_backend.answer import Answer, end_with_error, reserve
from inference_backend.connection import (
    apart_if_large,
    give_up_on_stalled,
    read_body,
    read_headers,
    run_while_connected,
    send_json,
)
from inference_backend.dialect.conversation import build_generation, build_prompt
from inference_backend.dialect.schema import MessagesRequest, parse_count_request, parse_messages_request
from inference_backend.dialect.versions import ApiVersion
from inference_backend.errors import BackendError
from inference_backend.failover import Origin
from inference_backend.generation import Generation
from inference_backend.idempotency.key import KeyedRequest, identify_request, read_idempotency_key
from inference_backend.idempotency.once import Outcome, Produce
from inference_backend.keys import Caller
from inference_backend.prompt_size import PromptSize
from inference_backend.record import RequestRecord, record_of
from inference_backend.service import Service


class CreateMessage:
    """POST /v1/messages"""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, record, headers = self._service, record_of(scope), read_headers(scope)
        caller, version = await service.greet(headers, record)
        key = read_idempotency_key(headers)

        def read(body: bytes) -> tuple[MessagesRequest, KeyedRequest | None]:
            request = parse_messages_request(body)
            if key is None:
                return request, None
            return request, identify_request(account=caller.account, key=key, version=version, request=request)

        with service.in_flight.enter(caller.tier):
            request, keyed = await apart_if_large(read, await read_body(headers, receive))
            answer = self._prepare(request, caller, version, record)
            produce = answer.stream if request.stream else answer.send_whole
            with give_up_on_stalled(send, service.stalled_caller_s) as send_in_time:
                await run_while_connected(receive, self._answer(keyed, record, send_in_time, produce))

    def _prepare(self, request: MessagesRequest, caller: Caller, version: ApiVersion, record: RequestRecord) -> Answer:
        service = self._service
        model = service.find_model(request.model, caller.tier)
        record.model, record.stream = model.id, request.stream
        wanted = build_generation(request, version=version, capabilities=model.capabilities)
        generation = Generation(
            model,
            wanted,
            Origin(id=record.request_id, tier=caller.tier, key=caller.account),
            stop_sequences=request.stop_sequences or (),
            on_failure=service.metrics.count_failure,
        )
        safety = service.safety
        return Answer(
            service,
            record,
            generation,
            caller=caller,
            reservation=reserve(wanted, model, caller),
            inspection=safety.open(wanted, tier=caller.tier, request_id=record.request_id) if safety else None,
        )

    async def _answer(self, keyed: KeyedRequest | None, record: RequestRecord, send: Send, produce: Produce) -> None:
        if keyed is None:
            await produce(send)
        else:
            record.idempotency = await self._answer_once(keyed, record, send, produce)

    async def _answer_once(
        self, keyed: KeyedRequest, record: RequestRecord, send: Send, produce: Produce
    ) -> Outcome | None:
        try:
            return await self._service.once.answer(keyed, send, produce)
        except BackendError as error:
            # Nobody but the attempt itself writes into its answer, and it is this attempt that has ended.
            if record.status is None or not record.stream:
                raise
            await end_with_error(send, error, record)
            return None


class CountTokens:
    """POST /v1/messages/count_tokens"""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, record, headers = self._service, record_of(scope), read_headers(scope)
        caller, _ = await service.greet(headers, record)
        with service.in_flight.enter(caller.tier):
            request = await apart_if_large(parse_count_request, await read_body(headers, receive))
            model = service.find_model(request.model, caller.tier)
            record.model = model.id
            prompt = build_prompt(request, capabilities=model.capabilities)
            size = PromptSize(model, prompt, on_failure=service.metrics.count_failure)
            await run_while_connected(receive, self._answer(caller, size, send))

    async def _answer(self, caller: Caller, size: PromptSize, send: Send) -> None:
        """Counting takes time of an engine, but nothing of what answers may cost."""
        async with self._service.limits.admit(
            account=caller.account, tier=caller.tier, input_tokens=0, output_tokens=0, expected_wait_s=0, kind="counts"
        ) as charge:
            tokens = await size.count()
            charge.settle(input_tokens=0, output_tokens=0)
        await send_json(send, 200, {"input_tokens": tokens})
