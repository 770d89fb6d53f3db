import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  buildRequestEcho,
  ChatBody,
  Repairs,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  UpstreamReply,
  type JsonObject,
  type ResponsesRequest,
  type UpstreamChatEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findEventFaults, findResponseFaults } from "../check/open-responses.ts";
import { sharedData } from "../../../test/shared-data.ts";
import { call, chunk, usageChunk } from "./chat-chunks.ts";
import { requiredFields } from "./response-fields.ts";
import { createIdCounter, translateToResponses } from "./translate-reply.ts";

/* Clients of Open Responses receive only objects and events of its specification (2026-04-24). */

const requests: ResponsesRequest[] = [
  {},
  {
    instructions: "Be brief.",
    temperature: 0.2,
    top_p: 0.9,
    top_logprobs: 2,
    max_output_tokens: 99,
    max_tool_calls: 3,
    service_tier: "auto",
    prompt_cache_key: "k",
    safety_identifier: "s",
    metadata: { a: "b" },
    background: false,
    store: true,
    parallel_tool_calls: false,
    reasoning: { effort: "low" },
    text: { verbosity: "low", format: { type: "json_schema", schema: {} } },
    tools: [{ type: "function", name: "get_weather", parameters: null }, { type: "shell" }],
    tool_choice: { type: "allowed_tools", tools: [{ type: "function", name: "get_weather" }] },
  },
];

test.each(requests)("the echo of request %# has every field of a response object", (request) => {
  const { response } = translateToResponses([chunk({ content: "Hi" }), chunk({}, "stop")], {
    echo: buildRequestEcho(request),
  });
  expect(findResponseFaults(response)).toEqual([]);
});

const text = chunk({ content: "Hi" });
const weather = chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: '{"a":1}' }));
const citation = { type: "url_citation", url_citation: { url: "https://example.org" } };
const logprobs = { content: [{ token: "Hi", logprob: -1 }] };
test.each<[string, UpstreamChatEvent[]]>([
  ["text", [text, chunk({}, "stop"), usageChunk(), "[DONE]"]],
  ["reasoning, text and a call", [chunk({ reasoning: "hm" }), text, weather, chunk({}, "stop")]],
  ["a refusal", [chunk({ refusal: "No." }), chunk({}, "stop")]],
  ["a citation without a position", [chunk({ annotations: [citation] }), text, chunk({}, "stop")]],
  [
    "log probabilities without bytes",
    [
      { ...chunk({}), choices: [{ index: 0, delta: { content: "Hi" }, logprobs }] },
      chunk({}, "stop"),
    ],
  ],
  ["a truncated reply", [text, weather, chunk({}, "length")]],
  ["a filtered reply", [text, chunk({}, "content_filter")]],
  ["a reply that breaks off", [text, weather]],
  ["an error", [text, { error: { message: "boom" } }]],
  ["an unknown service tier", [{ ...text, service_tier: null }, chunk({}, "stop")]],
])("a Chat upstream's reply with %s results in valid events", (_title, inputs) => {
  const { events } = translateToResponses(inputs);
  expect(findEventFaults(events)).toEqual([]);
});

test.each<[string, UpstreamResponseEvent[]]>([
  ["no fields in its response objects", [created({}), completed({})]],
  [
    "null for parameters that are not nullable",
    [created({ temperature: null, tools: null, service_tier: null }), completed({ store: null })],
  ],
  [
    "incomplete tools, settings and reasoning",
    [
      created({ tools: [{ type: "function", name: "f" }], text: { verbosity: null } }),
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: null },
      },
      completed({ reasoning: {} }),
    ],
  ],
  ["only a terminal event", [completed({})]],
  ["an error", [created({}), { type: "error", message: "boom" }]],
])("a Responses upstream's reply with %s results in valid events", (_title, inputs) => {
  const machine = new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 });
  const out: UpstreamResponseEvent[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end("eof", out);
  expect(findEventFaults(out.filter(({ type }) => type !== "error"))).toEqual([]);
  expect(out.at(-1)?.type).toMatch(/^response\.(completed|failed)$/);
});

test("the opening events before an upstream's first event are valid", () => {
  const options = { responseId: "resp_1", createdAt: 1, newId: createIdCounter() };
  for (const machine of [new ResponsesOverChat(options), new ResponsesOverResponses(options)]) {
    const out: JsonObject[] = [];
    machine.begin(out as never);
    machine.keepAlive(out as never);
    machine.fail({ code: "upstream_error", message: "boom" }, out as never);
    expect(findEventFaults(out)).toEqual([]);
    expect(out.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.in_progress",
      "response.failed",
    ]);
  }
});

test("the checks find missing fields and wrong types", () => {
  const response = { ...requiredFields, id: "r", object: "response", created_at: 1, output: [] };
  const valid = { ...response, status: "completed", model: "m" };
  expect(findResponseFaults(valid)).toEqual([]);
  for (const field of Object.keys(valid))
    expect(findResponseFaults({ ...valid, [field]: undefined })).toHaveLength(1);
  expect(findResponseFaults({ ...valid, tools: [{ type: "function", name: "f" }] })).toEqual([
    "tools: [0] description: expected a string, got nothing",
  ]);
  expect(findEventFaults([{ type: "response.created", response: valid }])).toEqual([
    "#0 response.created: sequence_number is missing",
  ]);
});

const shared = sharedData("fixtures");
describe.skipIf(shared.isMissing)("recorded replies result in valid events:", () => {
  test.each(["chat-stream", "chat-json", "responses-stream"])("%s", (kind) => {
    const folder = join(shared.path, kind);
    const files = readdirSync(folder);
    const faults = files.flatMap((file) =>
      findEventFaults(translateRecording(kind, readFileSync(join(folder, file)))).map(
        (fault) => `${file}: ${fault}`,
      ),
    );
    expect(faults).toEqual([]);
    expect(files.length).toBeGreaterThan(40);
  });
});

function translateRecording(kind: string, bytes: Uint8Array): object[] {
  const repairs = new Repairs();
  const options = { repairs, responseId: "resp_1", createdAt: 1, requestedModel: "m" };
  const utf8 = new TextDecoder();
  const reply =
    kind === "responses-stream"
      ? UpstreamReply.create<UpstreamResponseEvent, object>(
          new ResponsesBody({ repairs, utf8 }),
          new ResponsesOverResponses(options),
        )
      : UpstreamReply.create<UpstreamChatEvent, object>(
          new ChatBody({ repairs, utf8, expect: kind === "chat-json" ? "complete" : "stream" }),
          new ResponsesOverChat({ ...options, newId: createIdCounter(), seal: () => "sealed" }),
        );
  const out: object[] = [];
  reply.push(bytes, out);
  reply.end("eof", out);
  return out;
}

function created(response: JsonObject): UpstreamResponseEvent {
  return { type: "response.created", response };
}

function completed(response: JsonObject): UpstreamResponseEvent {
  return { type: "response.completed", response };
}
