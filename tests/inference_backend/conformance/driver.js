// The calls of python_driver.py through the official TypeScript SDK: JSON lines in, JSON lines out.
import { createInterface } from "node:readline";

import Anthropic from "@anthropic-ai/sdk";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";

const SEEN_HEADERS = ["retry-after", "x-should-retry", "idempotent-replayed", "content-type"];

/** @typedef {Record<string, any>} Json */

/** @param {Json} setup @param {Json} options @param {Json} seen @returns {Anthropic} */
function connect(setup, options, seen) {
  return new Anthropic({
    baseURL: setup.base_url,
    apiKey: options.key ?? setup.key,
    maxRetries: options.max_retries ?? 0,
    timeout: (options.timeout ?? 20) * 1000,
    defaultHeaders: options.headers ?? {},
    fetch: async (input, init) => {
      seen.calls += 1;
      const response = await fetch(/** @type {any} */ (input), /** @type {any} */ (init));
      const found = SEEN_HEADERS.filter((name) => response.headers.has(name));
      seen.headers = Object.fromEntries(found.map((name) => [name, response.headers.get(name)]));
      seen.has_request_id = (response.headers.get("request-id") ?? "").startsWith("req_");
      return /** @type {any} */ (response);
    },
  });
}

/** @param {Json} block @returns {Json} */
function describeBlock(block) {
  if (block.type === "text") return { type: "text", text: block.text };
  return { type: block.type, name: block.name, input: block.input, has_id: block.id.startsWith("toolu_") };
}

/** @param {Json} message @returns {Json} */
function describeMessage(message) {
  return {
    has_id: message.id.startsWith("msg_"),
    type: message.type,
    role: message.role,
    model: message.model,
    content: message.content.map(describeBlock),
    stop_reason: message.stop_reason,
    stop_sequence: message.stop_sequence,
    usage: { input_tokens: message.usage.input_tokens, output_tokens: message.usage.output_tokens },
  };
}

/** @typedef {(client: Anthropic, params: any, outcome: Json, options: any) => Promise<void>} Call */

/** @type {Call} */
async function create(client, params, outcome, options) {
  outcome.message = describeMessage(await client.messages.create(params, options));
}

/** @type {Call} */
async function stream(client, params, outcome, options) {
  let text = "";
  const events = client.messages.stream(params, options).on("text", (piece) => {
    text += piece;
  });
  const message = await events.finalMessage();
  outcome.text = text;
  outcome.message = describeMessage(message);
}

/** @type {Call} */
async function rawStream(client, params, outcome, options) {
  Object.assign(outcome, { events: [], text: "", json: "" });
  const events = await client.messages.create({ ...params, stream: true }, options);
  for await (const event of /** @type {any} */ (events)) {
    if (outcome.events.at(-1) !== event.type) outcome.events.push(event.type);
    if (event.type === "message_delta") {
      outcome.stop_reason = event.delta.stop_reason;
      outcome.stop_sequence = event.delta.stop_sequence;
      outcome.output_tokens = event.usage.output_tokens;
    }
    outcome.text += (event.type === "content_block_delta" && event.delta.text) || "";
    outcome.json += (event.type === "content_block_delta" && event.delta.partial_json) || "";
  }
}

/** @type {Call} */
async function parse(client, params, outcome, options) {
  const format = jsonSchemaOutputFormat({
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name", "age"],
    additionalProperties: false,
  });
  const message = await client.messages.parse({ ...params, output_config: { format } }, options);
  outcome.parsed = message.parsed_output;
}

/** @type {Call} */
async function countTokens(client, params, outcome, options) {
  outcome.input_tokens = (await client.messages.countTokens(params, options)).input_tokens;
}

/** @type {Call} */
async function listModels(client, params, outcome) {
  outcome.models = [];
  for await (const model of client.models.list(params)) outcome.models.push({ id: model.id, type: model.type });
}

/** @type {Call} */
async function retrieveModel(client, params, outcome) {
  const model = await client.models.retrieve(params.model);
  outcome.model = { id: model.id, type: model.type, lifecycle: model.lifecycle };
}

/** @type {Record<string, Call>} */
const CALLS = {
  create,
  stream,
  raw_stream: rawStream,
  parse,
  count_tokens: countTokens,
  list_models: listModels,
  retrieve_model: retrieveModel,
};

/** @param {any} error @returns {Json} */
function describeError(error) {
  if (!(error instanceof Anthropic.APIError) || error instanceof Anthropic.APIConnectionError) {
    return { class: "connection" };
  }
  const body = /** @type {any} */ (error.error) ?? {};
  return {
    class: error.constructor.name,
    status: error.status ?? 200,
    type: error.type,
    message: body.error?.message,
    code: body.error?.details?.error_code ?? null,
    has_request_id: String(body.request_id).startsWith("req_"),
  };
}

/** @param {Json} setup @param {Json} request @returns {Promise<Json>} */
async function run(setup, request) {
  /** @type {Json} */
  const seen = { calls: 0, headers: {}, has_request_id: false };
  /** @type {Json} */
  const outcome = {};
  const wire = request.request ?? {};
  const client = connect(setup, request.client ?? {}, seen);
  try {
    const params = { ...request.params, ...wire.body };
    await CALLS[request.call](client, params, outcome, { headers: wire.headers });
  } catch (error) {
    outcome.error = describeError(error);
  }
  return { name: request.name, outcome: { ...outcome, ...seen } };
}

/** @type {Json[]} */
const lines = [];
for await (const line of createInterface({ input: process.stdin })) lines.push(JSON.parse(line));
const [setup, ...requests] = lines;
const work = requests.entries();

async function worker() {
  for (const [, request] of work) console.log(JSON.stringify(await run(setup, request)));
}

await Promise.all(Array.from({ length: setup.parallel }, worker));
