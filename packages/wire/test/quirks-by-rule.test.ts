import { readFileSync } from "node:fs";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import {
  translateResponsesRequest,
  collectChat,
  collectResponse,
  decodeChatRequest,
  decodeResponsesRequest,
  encodeChatEvent,
  encodeResponseEvent,
  genericProfile,
  repairHistory,
  findProviderProfile,
  isHistoryRejection,
  Repairs,
  translateChatRequest,
  SseDecoder,
  sseKeepAlive,
  withProfileFlags,
  WireError,
  type ChatMessage,
  type ChatStreamEvent,
  type ResponseInputItem,
  type JsonObject,
  type UpstreamProfile,
  type ResponseEvent,
  type SseEvent,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { findPassthroughSequenceFaults } from "../check/passthrough-sequence.ts";
import {
  playResponsesToChat,
  playResponsesToResponses,
  playChatToChat,
  playChatToResponses,
} from "../check/play.ts";
import { toReads, type Quirk } from "../check/quirk.ts";
import { findResponsesRequestFaults } from "../check/responses-rules.ts";
import { body, call, chunk, usageChunk } from "./chat-chunks.ts";
import { sharedData } from "../../../test/shared-data.ts";

/* Tests for the entries of the shared catalog that have no wire data and no rule. Their ids are in the titles. */

const testedIds = new Set<string>();

/** Registers the test of an entry and returns the id of the entry. */
function quirkId(id: string): string {
  testedIds.add(id);
  return id;
}

const catalog = sharedData("quirks/quirks.json");

test.skipIf(catalog.isMissing)(
  "every entry of the shared catalog without wire data and rule has a test in this file",
  () => {
    const { quirks } = JSON.parse(readFileSync(catalog.path, "utf8")) as { quirks: Quirk[] };
    const withoutReasoning = quirks.filter(({ wire, rule }) => !wire && !rule).map(({ id }) => id);
    expect(withoutReasoning.length).toBeGreaterThan(0);
    expect([...testedIds].toSorted()).toEqual(withoutReasoning.toSorted());
  },
);

// Requests

const user = (text: string) => ({ type: "message", role: "user", content: text });
const assistantMessage = (text: string, id?: string) => ({
  type: "message",
  role: "assistant",
  ...(id === undefined ? {} : { id }),
  content: [{ type: "output_text", text }],
});
const reasoningItem = (id: string, more: object = {}) => ({
  type: "reasoning",
  id,
  summary: [],
  ...more,
});
const reasoningContent = { content: [{ type: "reasoning_text", text: "think hard" }] };
const callItem = (id: string) => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name: "get_weather",
  arguments: '{"city":"Paris"}',
});
const result = (id: string) => ({
  type: "function_call_output",
  call_id: `call_${id}`,
  output: "sunny",
});

function getMessages(profile: UpstreamProfile | undefined, input: object[]): ChatMessage[] {
  if (profile === undefined) throw new Error("no such profile");
  const request = decodeResponsesRequest({ model: "m", input: structuredClone(input) });
  return translateResponsesRequest(request, { profile }).body.messages;
}

test(`earlier reasoning is sent only in the field that the server reads (${quirkId("RQ-REASONING-FIELD")})`, () => {
  const input = [user("w?"), reasoningItem("rs_1", reasoningContent), callItem("a"), result("a")];
  const getReasoningFields = (profile: UpstreamProfile | undefined) => {
    const { reasoning, reasoning_content } = getMessages(profile, input)[1] as JsonObject;
    return { reasoning, reasoning_content };
  };
  expect(getReasoningFields(findProviderProfile("vLLM"))).toEqual({ reasoning: "think hard" });
  expect(getReasoningFields(findProviderProfile("LM Studio"))).toEqual({
    reasoning_content: "think hard",
  });
  expect(getReasoningFields(genericProfile)).toEqual({});
  const withReasoningField = withProfileFlags(genericProfile, { reasoningField: "reasoning" });
  expect(getReasoningFields(withReasoningField)).toEqual({ reasoning: "think hard" });
});

test(`preserved reasoning is requested from Kimi K2.6 if the profile enables it, but not from other Kimi models, which reject the parameter (${quirkId("RQ-KIMI-KEEP")})`, () => {
  const kimi = findProviderProfile("kimi");
  if (kimi === undefined) throw new Error("no such profile");
  const thinkingParameter = { type: "enabled", keep: "all" };
  const input = [
    user("w?"),
    reasoningItem("rs_1", reasoningContent),
    callItem("a"),
    result("a"),
    user("and now?"),
  ];
  const request = decodeResponsesRequest({ model: "kimi-k2.6", input });
  const plain = translateResponsesRequest(request, { profile: kimi }).body;
  const preserved = translateResponsesRequest(request, {
    profile: withProfileFlags(kimi, { extraBody: { reasoningContent: thinkingParameter } }),
  }).body;
  expect(plain).not.toHaveProperty("thinking");
  expect(preserved).toEqual({ ...plain, reasoningContent: thinkingParameter });
  expect(preserved.messages[1]).toMatchObject({
    role: "assistant",
    reasoning_content: "think hard",
  });
});

test(`a body that the gateway has decompressed from zstd is read (${quirkId("RQ-ZSTD")})`, () => {
  const request = { model: "gpt-5", input: [user("Grüße")], stream: true };
  const compressed = zstdCompressSync(JSON.stringify(request));
  const decompressed: unknown = JSON.parse(zstdDecompressSync(compressed).toString());
  expect(decodeResponsesRequest(decompressed)).toEqual(decodeResponsesRequest(request));
});

test(`reasoning that another provider sealed is dropped, but not its summary and the rest of the history (${quirkId("RQ-ENCRYPTED-FOREIGN")})`, () => {
  const otherProviderReasoning = reasoningItem("rs_x", { encrypted_content: "gAAAAABforeign" });
  const input: object[] = [
    user("hi"),
    otherProviderReasoning,
    assistantMessage("yo"),
    user("again"),
  ];
  const withoutReasoning = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "yo" },
    { role: "user", content: "again" },
  ];
  expect(getMessages(genericProfile, input)).toEqual(withoutReasoning);
  const reads = withProfileFlags(genericProfile, {
    reasoningField: "reasoning_content",
    reasoningRange: "all",
  });
  expect(getMessages(reads, input)).toEqual(withoutReasoning);
  const request = decodeResponsesRequest({ model: "m", input: structuredClone(input) });
  expect(
    translateResponsesRequest(request, { profile: reads, unseal: () => undefined }).body.messages,
  ).toEqual(withoutReasoning);
  const withSummary = {
    ...otherProviderReasoning,
    summary: [{ type: "summary_text", text: "polite" }],
  };
  expect(getMessages(reads, input.with(1, withSummary))[1]).toEqual({
    role: "assistant",
    content: "yo",
    reasoning_content: "polite",
  });
});

test(`reasoning of a Chat client that another provider sealed is not sent to a Responses upstream (${quirkId("RQ-ENCRYPTED-FOREIGN")})`, () => {
  const sealed = (format: string) => [{ type: "reasoning.encrypted", data: "SEALED", format }];
  const translateSealed = (format: string) =>
    translateChatRequest(
      decodeChatRequest({
        model: "m",
        messages: [
          { role: "user", content: "hi" },
          { role: "assistant", content: "yo", reasoning_details: sealed(format) },
          { role: "user", content: "again" },
        ],
      }),
    );
  expect(JSON.stringify(translateSealed("anthropic-claude-v1").body.input)).not.toContain("SEALED");
  expect(translateSealed("anthropic-claude-v1").repairs.counts.get("reasoning_dropped")).toBe(1);
  expect(JSON.stringify(translateSealed("openai-responses-v1").body.input)).toContain("SEALED");
});

// Histories for a Responses upstream

function repairInput(input: object[], stored = false): object[] {
  return repairHistory(input as ResponseInputItem[], { stored, repairs: new Repairs() });
}

test(`reasoning that the server has not stored is omitted, and so is the id of the item after it (${quirkId("RQ-RS-NOT-FOUND")})`, () => {
  const message =
    "Item with id 'rs_0f3a' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.";
  expect(isHistoryRejection({ error: { message, type: "invalid_request_error" } })).toBe(true);
  const sealed = reasoningItem("rs_2", { encrypted_content: "SEALED" });
  const input = [
    user("w?"),
    reasoningItem("rs_0f3a"),
    callItem("a"),
    result("a"),
    sealed,
    assistantMessage("sunny", "msg_1"),
    user("and now?"),
  ];
  const { id: _id, ...callWithoutId } = callItem("a");
  expect(repairInput(input)).toEqual([
    user("w?"),
    callWithoutId,
    result("a"),
    sealed,
    assistantMessage("sunny", "msg_1"),
    user("and now?"),
  ]);
});

test(`encrypted reasoning is requested for Chat clients, so that nothing has to be stored (${quirkId("RQ-RS-NOT-FOUND")})`, () => {
  const request = decodeChatRequest({ model: "m", messages: [{ role: "user", content: "hi" }] });
  expect(translateChatRequest(request).body).toMatchObject({
    store: false,
    include: ["reasoning.encrypted_content"],
  });
});

test(`reasoning without output is omitted at the end and in a trimmed history (${quirkId("RQ-RS-ORPHAN")})`, () => {
  const message =
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
  expect(isHistoryRejection({ error: { message } })).toBe(true);
  const sealed = (id: string) => reasoningItem(id, { encrypted_content: "SEALED" });
  const trimmed = [
    sealed("rs_1"),
    user("a"),
    sealed("rs_2"),
    assistantMessage("b", "msg_2"),
    sealed("rs_3"),
  ];
  const faults = (input: object[]) =>
    findResponsesRequestFaults({ input: input as ResponseInputItem[] });
  expect(faults(trimmed)).toEqual([
    "input[0]: reasoning without output",
    "input[4]: reasoning without output",
  ]);
  expect(repairInput(trimmed)).toEqual([user("a"), sealed("rs_2"), assistantMessage("b", "msg_2")]);
  expect(repairInput(trimmed, true)).toEqual(repairInput(trimmed));
  expect(faults(repairInput(trimmed))).toEqual([]);
});

/** Builds the reads of a Responses upstream. */
function responses(...events: object[]): (string | Uint8Array)[] {
  const wire = { responses: true, chunks: events };
  return toReads({ id: "", class: "responses-upstream", title: "", wire });
}

const created = { type: "response.created", response: { id: "resp_1", status: "in_progress" } };
const done = (output_index: number, item: object) => ({
  type: "response.output_item.done",
  output_index,
  item,
});
const added = (output_index: number, item: object) => ({
  type: "response.output_item.added",
  output_index,
  item,
});
const terminalEvent = (status: string, output: object[] = [], more: object = {}) => ({
  type: `response.${status}`,
  response: { id: "resp_1", status, output, ...more },
});

test(`sealed reasoning is replayed with its final id, which is the sealed one (${quirkId("RQ-RS-ID-MISMATCH")})`, () => {
  const sealed = reasoningItem("rs_done", { encrypted_content: "SEALED" });
  const reads = responses(
    created,
    added(0, reasoningItem("rs_added")),
    done(0, sealed),
    added(1, assistantMessage("", "msg_added")),
    done(1, assistantMessage("Hi.", "msg_done")),
    terminalEvent("completed", [
      reasoningItem("rs_third", { encrypted_content: "SEALED" }),
      assistantMessage("Hi."),
    ]),
  );
  const reply = collectChat(playResponsesToChat(reads).out);
  if (!reply.ok) throw new Error("failed");
  const message: unknown = reply.completion.choices[0]?.message;
  const request = decodeChatRequest({
    model: "m",
    messages: [{ role: "user", content: "hi" }, message, { role: "user", content: "again" }],
  });
  expect((translateChatRequest(request).body.input as object[])[1]).toEqual(sealed);
});

// Output for clients

const events = playChatToResponses(
  body([
    chunk({ role: "assistant", reasoning_content: "hm" }),
    chunk({ content: "Hel" }),
    chunk({ content: "lo\u2028." }),
    chunk(call({ index: 0, id: "call_a", name: "get_weather", args: '{"city":' })),
    chunk(call({ index: 0, args: '"Paris"}' })),
    chunk({}, "tool_calls"),
    usageChunk(),
  ]),
).out;

function decodeEvents(text: string): SseEvent[] {
  const decoder = new SseDecoder({ strictFields: true });
  const out: SseEvent[] = [];
  decoder.push(text, out);
  decoder.end("eof", out);
  return out;
}

test(`every event has its type in the event line and in the data (${quirkId("RO-TYPE-IN-DATA")})`, () => {
  const kinds = decodeEvents(events.map(encodeResponseEvent).join("")).map(({ event, data }) => [
    event,
    (JSON.parse(data) as { type?: string }).type,
  ]);
  expect(kinds).toEqual(events.map(({ type }) => [type, type]));
  expect(new Set(events.map(({ type }) => type)).size).toBeGreaterThan(10);
});

test(`the type is added to the data of a forwarded event that has it only in the event line (${quirkId("RO-TYPE-IN-DATA")})`, () => {
  const terminal = { response: { id: "resp_1", status: "completed", output: [] } };
  const read = `event: response.completed\ndata: ${JSON.stringify(terminal)}\n\n`;
  const forwarded = playResponsesToResponses([read]).out.map(({ type }) => type);
  expect(forwarded).toEqual(["response.created", "response.in_progress", "response.completed"]);
});

test(`response.completed has every item that was streamed, under the same ids (${quirkId("RO-COMPLETED-OUTPUT")})`, () => {
  const opened = events.filter((event) => event.type === "response.output_item.added");
  const closed = events.filter((event) => event.type === "response.output_item.done");
  const last = events.at(-1);
  if (last?.type !== "response.completed") throw new Error(`the last event is ${last?.type}`);
  expect(last.response.output).toEqual(closed.map(({ item }) => item));
  expect(last.response.output.map(({ id, type }) => [id, type])).toEqual(
    opened.map(({ item }) => [item.id, item.type]),
  );
  expect(opened.map(({ item }) => item.type)).toEqual(["reasoning", "message", "function_call"]);
  expect(collectResponse(events)).toEqual(last.response);
});

test(`the streamed items are added to an upstream's response.completed without output (${quirkId("RO-COMPLETED-OUTPUT")})`, () => {
  const items = [assistantMessage("Hi.", "msg_1"), callItem("a")];
  const steps = items.flatMap((item, at) => [added(at, item), done(at, item)]);
  const { out } = playResponsesToResponses(
    responses(created, ...steps, terminalEvent("completed")),
  );
  expect(findPassthroughSequenceFaults(out)).toEqual([]);
  expect(out.at(-1)?.["response"]).toMatchObject({ output: items });
});

test.each([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
])(
  `a reply truncated by %s ends with %s for a Chat client, without an error (${quirkId("RO-INCOMPLETE")})`,
  (reason, finish) => {
    const item = { ...callItem("a"), arguments: '{"ci', status: "incomplete" };
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
    const reads = responses(
      created,
      added(0, assistantMessage("", "msg_1")),
      done(0, assistantMessage("Hel", "msg_1")),
      added(1, { ...item, arguments: "" }),
      done(1, item),
      terminalEvent("incomplete", [], { incomplete_details: { reason }, usage }),
    );
    const chat = playResponsesToChat(reads);
    const reply = collectChat(chat.out);
    expect(chat.out.at(-1)).toBe("[DONE]");
    expect(reply.ok && reply.completion.choices[0]).toMatchObject({
      finish_reason: finish,
      message: { content: "Hel" },
    });
    expect(reply.ok && reply.completion.usage).toMatchObject({ completion_tokens: 7 });
    const forwarded = playResponsesToResponses(reads);
    expect(findPassthroughSequenceFaults(forwarded.out)).toEqual([]);
    expect(forwarded.out.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason }, usage },
    });
  },
);

test(`a keep-alive between events is not an event, even for clients that dispatch at every blank line (${quirkId("RO-KEEPALIVE-FORM")})`, () => {
  const chat = playChatToChat(
    body([chunk({ content: "Hello." }), chunk({}, "stop"), usageChunk()]),
  ).out;
  const written = [
    events.map((event: ResponseEvent) => encodeResponseEvent(event)),
    chat.map((output: ChatStreamEvent) => encodeChatEvent(output)),
  ];
  for (const texts of written) {
    const withKeepAlives = texts.map((text) => sseKeepAlive + text).join("") + sseKeepAlive;
    expect(decodeEvents(withKeepAlives)).toEqual(decodeEvents(texts.join("")));
    const blocks = withKeepAlives.split(/\n\n/).slice(0, -1);
    expect(blocks.map((block) => /^data: /m.test(block))).toEqual(texts.map(() => true));
    expect(withKeepAlives).not.toMatch(/^id:/m);
    expect(texts.every((text) => text.endsWith("\n\n"))).toBe(true);
  }
});

test(`a previous_response_id is rejected with a hint, because the gateway must replace it by its history (${quirkId("RO-WS-CHAIN")})`, () => {
  const next = { model: "m", input: [user("go on")], generate: false };
  const request = decodeResponsesRequest({ ...next, previous_response_id: "resp_1" });
  expect(request).toMatchObject({ previous_response_id: "resp_1", generate: false });
  expect(() => translateResponsesRequest(request)).toThrow(
    new WireError(
      "unsupported",
      'previous_response_id is not supported for a Chat upstream; send the complete history in "input"',
      { param: "previous_response_id" },
    ),
  );
  const previousItems = [user("hi"), ...(collectResponse(events)?.output ?? []), result("a")];
  const fullRequest = decodeResponsesRequest({ ...next, input: [...previousItems, ...next.input] });
  expect(translateResponsesRequest(fullRequest).body.messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "user",
  ]);
});

test(`a text result is a string, and a result with an image is an array of input parts (${quirkId("RO-TOOL-OUTPUT-STRING")})`, () => {
  const translateResult = (content: unknown) => {
    const toolCall = {
      id: "call_a",
      type: "function",
      function: { name: "get_weather", arguments: "{}" },
    };
    const request = decodeChatRequest({
      model: "m",
      messages: [
        { role: "user", content: "w?" },
        { role: "assistant", content: null, tool_calls: [toolCall] },
        { role: "tool", tool_call_id: "call_a", content },
      ],
    });
    const { input } = translateChatRequest(request).body;
    return (input as JsonObject[]).at(-1)?.["output"];
  };
  const text = (value: string) => ({ type: "text", text: value });
  const url = "data:image/png;base64,iVBORw0KGgo=";
  expect(translateResult("sunny")).toBe("sunny");
  expect(translateResult([text("sunny"), text("warm")])).toBe("sunny\n\nwarm");
  expect(translateResult([text("sunny"), { type: "image_url", image_url: { url } }])).toEqual([
    { type: "input_text", text: "sunny" },
    { type: "input_image", image_url: url, detail: "auto" },
  ]);
});

const leakedCall =
  "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>";

test(`a call that vLLM leaks into text becomes a call on its Chat endpoint (${quirkId("RO-VLLM-XML")})`, () => {
  const profile = findProviderProfile("vllm");
  if (profile === undefined) throw new Error("no such profile");
  const toolNames = new Set(["get_weather"]);
  const { out } = playChatToChat(body([chunk({ content: leakedCall }), chunk({}, "stop")]), {
    profile,
    toolNames,
  });
  const reply = collectChat(out);
  expect(reply.ok && reply.completion.choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: { tool_calls: [{ function: { name: "get_weather", arguments: '{"city":"Paris"}' } }] },
  });
});

test(`a call that vLLM leaks into text on its Responses endpoint becomes a call only if the profile enables it (${quirkId("RO-VLLM-XML")})`, () => {
  const deltas = leakedCall.match(/[^]{1,7}/g) ?? [];
  const reads = responses(
    created,
    added(0, assistantMessage("", "msg_1")),
    ...deltas.map((delta) => ({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      delta,
    })),
    done(0, assistantMessage(leakedCall, "msg_1")),
    terminalEvent("completed", [assistantMessage(leakedCall, "msg_1")]),
  );
  const reply = collectChat(
    playResponsesToChat(reads, { toolNames: new Set(["get_weather"]) }).out,
  );
  expect(reply.ok && reply.completion.choices[0]).toMatchObject({
    finish_reason: "stop",
    message: { content: leakedCall },
  });
  expect(findPassthroughSequenceFaults(playResponsesToResponses(reads).out)).toEqual([]);

  const profile = withProfileFlags(genericProfile, { leakedCalls: ["qwen-xml"] });
  const played = playResponsesToChat(reads, { toolNames: new Set(["get_weather"]), profile });
  const callItem = collectChat(played.out);
  expect(callItem.ok && callItem.completion.choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: { content: "", tool_calls: [{ function: { name: "get_weather" } }] },
  });
  expect(played.repairs.counts.get("call_leaked")).toBe(1);
});
