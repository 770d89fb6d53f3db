import { readFileSync } from "node:fs";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import {
  chatRequest,
  collectChat,
  collectResponse,
  decodeChatRequest,
  decodeResponsesRequest,
  encodeChatOutput,
  encodeResponseEvent,
  genericProfile,
  mendHistory,
  profileNamed,
  refusesHistory,
  Repairs,
  responsesRequest,
  SseDecoder,
  sseKeepAlive,
  withFlags,
  WireError,
  type ChatMessage,
  type ChatOutput,
  type InputItem,
  type JsonObject,
  type Profile,
  type ResponseEvent,
  type SseEvent,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { passedSequenceFaults } from "../check/passed-sequence.ts";
import {
  playResponsesToChat,
  playResponsesToResponses,
  playToChat,
  playToResponses,
} from "../check/play.ts";
import { readsOf, type Quirk } from "../check/quirk.ts";
import { responsesRequestFaults } from "../check/responses-rules.ts";
import { body, call, chunk, usageChunk } from "./chat-stream.ts";
import { sharedData } from "../../../test/shared-data.ts";

/*
 * The entries of the shared catalogue that have neither wire data nor a rule: a case of our own for each, named by its
 * id at the end.
 */

const cases = new Set<string>();

/** Notes that a test is a case of an entry, and returns its id. */
function caseOf(id: string): string {
  cases.add(id);
  return id;
}

const catalogue = sharedData("quirks/quirks.json");

test.skipIf(catalogue.isMissing)(
  "every entry of the shared catalogue without wire data and rule has a case here",
  () => {
    const { quirks } = JSON.parse(readFileSync(catalogue.path, "utf8")) as { quirks: Quirk[] };
    const bare = quirks.filter(({ wire, rule }) => !wire && !rule).map(({ id }) => id);
    expect(bare.length).toBeGreaterThan(0);
    expect([...cases].toSorted()).toEqual(bare.toSorted());
  },
);

// Requests

const user = (text: string) => ({ type: "message", role: "user", content: text });
const said = (text: string, id?: string) => ({
  type: "message",
  role: "assistant",
  ...(id === undefined ? {} : { id }),
  content: [{ type: "output_text", text }],
});
const thought = (id: string, more: object = {}) => ({
  type: "reasoning",
  id,
  summary: [],
  ...more,
});
const thinking = { content: [{ type: "reasoning_text", text: "think hard" }] };
const called = (id: string) => ({
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

function messagesFor(profile: Profile | undefined, input: object[]): ChatMessage[] {
  if (profile === undefined) throw new Error("no such profile");
  const request = decodeResponsesRequest({ model: "m", input: structuredClone(input) });
  return chatRequest(request, { profile }).body.messages;
}

test(`earlier reasoning goes back under the name that the server reads, and under no other (${caseOf("RQ-REASONING-FIELD")})`, () => {
  const input = [user("w?"), thought("rs_1", thinking), called("a"), result("a")];
  const fieldsFor = (profile: Profile | undefined) => {
    const { reasoning, reasoning_content } = messagesFor(profile, input)[1] as JsonObject;
    return { reasoning, reasoning_content };
  };
  expect(fieldsFor(profileNamed("vLLM"))).toEqual({ reasoning: "think hard" });
  expect(fieldsFor(profileNamed("LM Studio"))).toEqual({ reasoning_content: "think hard" });
  expect(fieldsFor(genericProfile)).toEqual({});
  const learned = withFlags(genericProfile, { reasoningField: "reasoning" });
  expect(fieldsFor(learned)).toEqual({ reasoning: "think hard" });
});

test(`Kimi K2.6 keeps the reasoning of earlier turns where the profile is told to ask for it, and other Kimis, which refuse the word, never hear it (${caseOf("RQ-KIMI-KEEP")})`, () => {
  const kimi = profileNamed("kimi");
  if (kimi === undefined) throw new Error("no such profile");
  const thinks = { type: "enabled", keep: "all" };
  const input = [user("w?"), thought("rs_1", thinking), called("a"), result("a"), user("and now?")];
  const request = decodeResponsesRequest({ model: "kimi-k2.6", input });
  const plain = chatRequest(request, { profile: kimi }).body;
  const keeping = chatRequest(request, {
    profile: withFlags(kimi, { extraBody: { thinking: thinks } }),
  }).body;
  expect(plain).not.toHaveProperty("thinking");
  expect(keeping).toEqual({ ...plain, thinking: thinks });
  expect(keeping.messages[1]).toMatchObject({ role: "assistant", reasoning_content: "think hard" });
});

test(`a body reads like any other once the gateway, whose part that is, has unpacked it from zstd (${caseOf("RQ-ZSTD")})`, () => {
  const request = { model: "gpt-5", input: [user("Grüße")], stream: true };
  const packed = zstdCompressSync(JSON.stringify(request));
  const unpacked: unknown = JSON.parse(zstdDecompressSync(packed).toString());
  expect(decodeResponsesRequest(unpacked)).toEqual(decodeResponsesRequest(request));
});

test(`reasoning that another provider sealed is dropped without a word, its summary is not, and the history stays whole (${caseOf("RQ-ENCRYPTED-FOREIGN")})`, () => {
  const foreign = thought("rs_x", { encrypted_content: "gAAAAABforeign" });
  const input: object[] = [user("hi"), foreign, said("yo"), user("again")];
  const bare = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "yo" },
    { role: "user", content: "again" },
  ];
  expect(messagesFor(genericProfile, input)).toEqual(bare);
  const reads = withFlags(genericProfile, {
    reasoningField: "reasoning_content",
    reasoningRange: "all",
  });
  expect(messagesFor(reads, input)).toEqual(bare);
  const request = decodeResponsesRequest({ model: "m", input: structuredClone(input) });
  expect(chatRequest(request, { profile: reads, unseal: () => undefined }).body.messages).toEqual(
    bare,
  );
  const summed = { ...foreign, summary: [{ type: "summary_text", text: "polite" }] };
  expect(messagesFor(reads, input.with(1, summed))[1]).toEqual({
    role: "assistant",
    content: "yo",
    reasoning_content: "polite",
  });
});

test(`neither does a Responses upstream get what another provider sealed for a Chat client (${caseOf("RQ-ENCRYPTED-FOREIGN")})`, () => {
  const sealed = (format: string) => [{ type: "reasoning.encrypted", data: "SEALED", format }];
  const sent = (format: string) =>
    responsesRequest(
      decodeChatRequest({
        model: "m",
        messages: [
          { role: "user", content: "hi" },
          { role: "assistant", content: "yo", reasoning_details: sealed(format) },
          { role: "user", content: "again" },
        ],
      }),
    );
  expect(JSON.stringify(sent("anthropic-claude-v1").body.input)).not.toContain("SEALED");
  expect(sent("anthropic-claude-v1").repairs.counts.get("reasoning_dropped")).toBe(1);
  expect(JSON.stringify(sent("openai-responses-v1").body.input)).toContain("SEALED");
});

// Histories for a Responses upstream

function mended(input: object[], stored = false): object[] {
  return mendHistory(input as InputItem[], { stored, repairs: new Repairs() });
}

test(`reasoning that a server has not stored is left out, and what followed it goes without its id (${caseOf("RQ-RS-NOT-FOUND")})`, () => {
  const message =
    "Item with id 'rs_0f3a' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.";
  expect(refusesHistory({ error: { message, type: "invalid_request_error" } })).toBe(true);
  const sealed = thought("rs_2", { encrypted_content: "SEALED" });
  const input = [
    user("w?"),
    thought("rs_0f3a"),
    called("a"),
    result("a"),
    sealed,
    said("sunny", "msg_1"),
    user("and now?"),
  ];
  const { id: _id, ...anonymous } = called("a");
  expect(mended(input)).toEqual([
    user("w?"),
    anonymous,
    result("a"),
    sealed,
    said("sunny", "msg_1"),
    user("and now?"),
  ]);
});

test(`a Chat client's reasoning is asked for under seal, so that nothing has to be stored (${caseOf("RQ-RS-NOT-FOUND")})`, () => {
  const request = decodeChatRequest({ model: "m", messages: [{ role: "user", content: "hi" }] });
  expect(responsesRequest(request).body).toMatchObject({
    store: false,
    include: ["reasoning.encrypted_content"],
  });
});

test(`reasoning without what it led to is left out, at the end and where a history was trimmed (${caseOf("RQ-RS-ORPHAN")})`, () => {
  const message =
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
  expect(refusesHistory({ error: { message } })).toBe(true);
  const sealed = (id: string) => thought(id, { encrypted_content: "SEALED" });
  const trimmed = [sealed("rs_1"), user("a"), sealed("rs_2"), said("b", "msg_2"), sealed("rs_3")];
  const faults = (input: object[]) => responsesRequestFaults({ input: input as InputItem[] });
  expect(faults(trimmed)).toEqual([
    "input[0]: reasoning without what it led to",
    "input[4]: reasoning without what it led to",
  ]);
  expect(mended(trimmed)).toEqual([user("a"), sealed("rs_2"), said("b", "msg_2")]);
  expect(mended(trimmed, true)).toEqual(mended(trimmed));
  expect(faults(mended(trimmed))).toEqual([]);
});

/** A Responses upstream's events as it sends them. */
function responses(...events: object[]): (string | Uint8Array)[] {
  const wire = { responses: true, chunks: events };
  return readsOf({ id: "", class: "responses-upstream", title: "", wire });
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
const ended = (status: string, output: object[] = [], more: object = {}) => ({
  type: `response.${status}`,
  response: { id: "resp_1", status, output, ...more },
});

test(`sealed reasoning is replayed under the id with which it was done, which is the one under its seal (${caseOf("RQ-RS-ID-MISMATCH")})`, () => {
  const sealed = thought("rs_done", { encrypted_content: "SEALED" });
  const reads = responses(
    created,
    added(0, thought("rs_added")),
    done(0, sealed),
    added(1, said("", "msg_added")),
    done(1, said("Hi.", "msg_done")),
    ended("completed", [thought("rs_third", { encrypted_content: "SEALED" }), said("Hi.")]),
  );
  const reply = collectChat(playResponsesToChat(reads).out);
  if (!reply.ok) throw new Error("failed");
  const message: unknown = reply.completion.choices[0]?.message;
  const request = decodeChatRequest({
    model: "m",
    messages: [{ role: "user", content: "hi" }, message, { role: "user", content: "again" }],
  });
  expect((responsesRequest(request).body.input as object[])[1]).toEqual(sealed);
});

// What clients get

const events = playToResponses(
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

function decoded(text: string): SseEvent[] {
  const decoder = new SseDecoder({ strictFields: true });
  const out: SseEvent[] = [];
  decoder.push(text, out);
  decoder.end("eof", out);
  return out;
}

test(`every event says its type in the event line and in the data (${caseOf("RO-TYPE-IN-DATA")})`, () => {
  const kinds = decoded(events.map(encodeResponseEvent).join("")).map(({ event, data }) => [
    event,
    (JSON.parse(data) as { type?: string }).type,
  ]);
  expect(kinds).toEqual(events.map(({ type }) => [type, type]));
  expect(new Set(events.map(({ type }) => type)).size).toBeGreaterThan(10);
});

test(`an upstream's event that says its type in the event line only says it in the data too when it is passed on (${caseOf("RO-TYPE-IN-DATA")})`, () => {
  const terminal = { response: { id: "resp_1", status: "completed", output: [] } };
  const read = `event: response.completed\ndata: ${JSON.stringify(terminal)}\n\n`;
  const passed = playResponsesToResponses([read]).out.map(({ type }) => type);
  expect(passed).toEqual(["response.created", "response.in_progress", "response.completed"]);
});

test(`response.completed has every item that was streamed, under the same ids (${caseOf("RO-COMPLETED-OUTPUT")})`, () => {
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

test(`so has an upstream's own that came with none (${caseOf("RO-COMPLETED-OUTPUT")})`, () => {
  const items = [said("Hi.", "msg_1"), called("a")];
  const steps = items.flatMap((item, at) => [added(at, item), done(at, item)]);
  const { out } = playResponsesToResponses(responses(created, ...steps, ended("completed")));
  expect(passedSequenceFaults(out)).toEqual([]);
  expect(out.at(-1)?.["response"]).toMatchObject({ output: items });
});

test.each([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
])(
  `a reply cut by %s ends in %s for a Chat client, without an error (${caseOf("RO-INCOMPLETE")})`,
  (reason, finish) => {
    const item = { ...called("a"), arguments: '{"ci', status: "incomplete" };
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
    const reads = responses(
      created,
      added(0, said("", "msg_1")),
      done(0, said("Hel", "msg_1")),
      added(1, { ...item, arguments: "" }),
      done(1, item),
      ended("incomplete", [], { incomplete_details: { reason }, usage }),
    );
    const chat = playResponsesToChat(reads);
    const reply = collectChat(chat.out);
    expect(chat.out.at(-1)).toBe("[DONE]");
    expect(reply.ok && reply.completion.choices[0]).toMatchObject({
      finish_reason: finish,
      message: { content: "Hel" },
    });
    expect(reply.ok && reply.completion.usage).toMatchObject({ completion_tokens: 7 });
    const passed = playResponsesToResponses(reads);
    expect(passedSequenceFaults(passed.out)).toEqual([]);
    expect(passed.out.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason }, usage },
    });
  },
);

test(`a keep-alive between any two events is an event to no client, not even to one that takes every blank line for one (${caseOf("RO-KEEPALIVE-FORM")})`, () => {
  const chat = playToChat(
    body([chunk({ content: "Hello." }), chunk({}, "stop"), usageChunk()]),
  ).out;
  const written = [
    events.map((event: ResponseEvent) => encodeResponseEvent(event)),
    chat.map((output: ChatOutput) => encodeChatOutput(output)),
  ];
  for (const texts of written) {
    const kept = texts.map((text) => sseKeepAlive + text).join("") + sseKeepAlive;
    expect(decoded(kept)).toEqual(decoded(texts.join("")));
    const blocks = kept.split(/\n\n/).slice(0, -1);
    expect(blocks.map((block) => /^data: /m.test(block))).toEqual(texts.map(() => true));
    expect(kept).not.toMatch(/^id:/m);
    expect(texts.every((text) => text.endsWith("\n\n"))).toBe(true);
  }
});

test(`a previous_response_id is read and refused with what to do, for the gateway to put in its place what its socket remembers (${caseOf("RO-WS-CHAIN")})`, () => {
  const next = { model: "m", input: [user("go on")], generate: false };
  const request = decodeResponsesRequest({ ...next, previous_response_id: "resp_1" });
  expect(request).toMatchObject({ previous_response_id: "resp_1", generate: false });
  expect(() => chatRequest(request)).toThrow(
    new WireError(
      "unsupported",
      'previous_response_id: a Chat upstream keeps no state; send the whole history in "input"',
      { param: "previous_response_id" },
    ),
  );
  const remembered = [user("hi"), ...(collectResponse(events)?.output ?? []), result("a")];
  const chained = decodeResponsesRequest({ ...next, input: [...remembered, ...next.input] });
  expect(chatRequest(chained).body.messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "user",
  ]);
});

test(`a result of text alone is a string, one with a picture a list of input parts (${caseOf("RO-TOOL-OUTPUT-STRING")})`, () => {
  const outputOf = (content: unknown) => {
    const asked = {
      id: "call_a",
      type: "function",
      function: { name: "get_weather", arguments: "{}" },
    };
    const request = decodeChatRequest({
      model: "m",
      messages: [
        { role: "user", content: "w?" },
        { role: "assistant", content: null, tool_calls: [asked] },
        { role: "tool", tool_call_id: "call_a", content },
      ],
    });
    const { input } = responsesRequest(request).body;
    return (input as JsonObject[]).at(-1)?.["output"];
  };
  const text = (words: string) => ({ type: "text", text: words });
  const url = "data:image/png;base64,iVBORw0KGgo=";
  expect(outputOf("sunny")).toBe("sunny");
  expect(outputOf([text("sunny"), text("warm")])).toBe("sunny\n\nwarm");
  expect(outputOf([text("sunny"), { type: "image_url", image_url: { url } }])).toEqual([
    { type: "input_text", text: "sunny" },
    { type: "input_image", image_url: url, detail: "auto" },
  ]);
});

const xml =
  "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>";

test(`a call that vLLM leaks into text is a call when its Chat endpoint is asked instead of its Responses endpoint (${caseOf("RO-VLLM-XML")})`, () => {
  const profile = profileNamed("vllm");
  if (profile === undefined) throw new Error("no such profile");
  const toolNames = new Set(["get_weather"]);
  const { out } = playToChat(body([chunk({ content: xml }), chunk({}, "stop")]), {
    profile,
    toolNames,
  });
  const reply = collectChat(out);
  expect(reply.ok && reply.completion.choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: { tool_calls: [{ function: { name: "get_weather", arguments: '{"city":"Paris"}' } }] },
  });
});

test(`from its Responses endpoint such a call is a call where the profile says so, else all of it stays text (${caseOf("RO-VLLM-XML")})`, () => {
  const deltas = xml.match(/[^]{1,7}/g) ?? [];
  const reads = responses(
    created,
    added(0, said("", "msg_1")),
    ...deltas.map((delta) => ({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      delta,
    })),
    done(0, said(xml, "msg_1")),
    ended("completed", [said(xml, "msg_1")]),
  );
  const reply = collectChat(
    playResponsesToChat(reads, { toolNames: new Set(["get_weather"]) }).out,
  );
  expect(reply.ok && reply.completion.choices[0]).toMatchObject({
    finish_reason: "stop",
    message: { content: xml },
  });
  expect(passedSequenceFaults(playResponsesToResponses(reads).out)).toEqual([]);

  const profile = withFlags(genericProfile, { leakedCalls: ["qwen-xml"] });
  const played = playResponsesToChat(reads, { toolNames: new Set(["get_weather"]), profile });
  const called = collectChat(played.out);
  expect(called.ok && called.completion.choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: { content: "", tool_calls: [{ function: { name: "get_weather" } }] },
  });
  expect(played.repairs.counts.get("call_leaked")).toBe(1);
});
