import {
  ChatBody,
  ChatOverChat,
  encodeChatEvent,
  encodeResponseEvent,
  Repairs,
  ResponsesBody,
  ResponsesOverResponses,
  SseDecoder,
  type UpstreamChatEvent,
  type ChatStreamEvent,
  type JsonObject,
  type ResponseEvent,
  type UpstreamResponseEvent,
  type StreamMachine,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import { splitAt } from "../check/play.ts";
import { chunk, usageChunk } from "./chat-chunks.ts";
import { requiredFields } from "./response-fields.ts";
import { createIdCounter } from "./translate-reply.ts";

/* The bytes of an upstream are forwarded unchanged to a client of the same wire if possible. */

const bytes = (text: string) => new TextEncoder().encode(text);
const hello = `data: ${JSON.stringify(chunk({ role: "assistant", content: "" }))}\n\n`;
const textEvent = (text: string) => `data: ${JSON.stringify(chunk({ content: text }))}\n\n`;

const text = (read: Uint8Array | undefined) =>
  read === undefined ? undefined : new TextDecoder().decode(read);

/** Returns the part of the last read that can be forwarded. */
function getForwardedPart(...reads: (string | Uint8Array)[]): string | undefined {
  const body = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder(), passthrough: true });
  for (const read of reads) body.push(typeof read === "string" ? bytes(read) : read, []);
  return text(body.passthroughBytes);
}

describe("the part of a read that is forwarded unchanged", () => {
  const hi = textEvent("Hi");
  test.each<[string, (string | Uint8Array)[], string | undefined]>([
    ["is one event", [hello, hi], hi],
    [
      "is several events",
      [hello, textEvent("a") + textEvent("b")],
      textEvent("a") + textEvent("b"),
    ],
    ["is the first event of the reply", [hi], hi],
    ["is empty if it contains a comment", [hello, `: alive\n\n${hi}`], undefined],
    ["is empty if it starts in a comment", [hello, `${hi}: ali`, `ve\n\n${hi}`], undefined],
    ["is empty after a comment without a blank line", [hello, ": alive\n", hi], undefined],
    ["is one event if the comment was in the read before", [hello, `: alive\n\n${hi}`, hi], hi],
    [
      "is the complete event that started in the read before",
      [hello + hi.slice(0, 9), hi.slice(9)],
      hi,
    ],
    [
      "is the complete event if only its last line break was missing",
      [hello + hi.slice(0, -1), "\n"],
      hi,
    ],
    [
      "ends before an incomplete event, even after a multibyte character",
      [hello, textEvent("é") + hi.slice(0, 9)],
      textEvent("é"),
    ],
    ["ends before an incomplete event", [hello, `${hi}data: {`], hi],
    ["is empty if no event is complete", [hello, "data: {"], undefined],
    ["is empty if lines end with CRLF", [hello, hi.replaceAll("\n", "\r\n")], undefined],
    ["is empty if it starts with a byte order mark", [`\u{feff}${hi}`], undefined],
    ["is empty if the reply starts with a blank line", [`\n${hi}`], undefined],
    ["is empty if an event has an id", [hello, `id: 7\n${hi}`], undefined],
    [
      "is empty if the incomplete event before it has an id",
      [hello, `${hi}id: 7\n`, hi],
      undefined,
    ],
    ["is empty if an event has a retry time", [hello, `retry: 7\n${hi}`], undefined],
    ["is empty if an event has an unknown field", [hello, `x: 7\n${hi}`], undefined],
    ["is empty if a field name has a leading space", [hello, ` ${hi}`], undefined],
    ["is empty if an event is not JSON", [hello, `data: oops\n\n${hi}`], undefined],
    [
      "is empty if an event is spliced into another",
      [hello, `data: {"id":"x","cho ${hi}`],
      undefined,
    ],
    ["is empty if an event has no data", [hello, `data: \n\n${hi}`], undefined],
    ["is empty if the read before could not be forwarded", [hello, `id: 7\n${hi}`, hi], undefined],
    [
      "is empty if an event is larger than a megabyte",
      [hello, `data: "${"x".repeat(1e6)}`, hi],
      undefined,
    ],
  ])("%s", (_title, reads, forwarded) => {
    expect(getForwardedPart(...reads)).toBe(forwarded);
  });

  test("is empty if passthrough is not enabled", () => {
    const body = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder() });
    body.push(bytes(hello), []);
    expect(body.passthroughBytes).toBeUndefined();
  });

  const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
  const namedEvent = (type: string) => `event: ${type}\n${event({ type, response: {} })}`;
  test.each<[string, string, boolean]>([
    [
      "is an event with its type in the event line and in the data",
      namedEvent("response.in_progress"),
      true,
    ],
    ["is empty without an event line", event({ type: "response.in_progress" }), false],
    ["is empty without a type in the data", `event: response.x\n${event({ response: {} })}`, false],
    ["is empty if it contains [DONE]", `${namedEvent("response.x")}data: [DONE]\n\n`, false],
    ["is empty if an event is not JSON", "data: oops\n\n", false],
  ])("of a Responses upstream %s", (_title, read, isForwarded) => {
    const body = new ResponsesBody({
      repairs: new Repairs(),
      utf8: new TextDecoder(),
      passthrough: true,
    });
    body.push(bytes(namedEvent("response.created")), []);
    body.push(bytes(read), []);
    expect(text(body.passthroughBytes)).toBe(isForwarded ? read : undefined);
  });
});

/** Returns what a gateway sends: the upstream's bytes if possible, otherwise the output of the translator. */
function forward<Input, Out>(
  body: StreamMachine<string | Uint8Array, Input> & {
    readonly passthroughBytes: Uint8Array | undefined;
  },
  translator: StreamMachine<Input, Out>,
  encode: (out: Out) => string,
  reads: readonly Uint8Array[],
): { sent: string; unchangedReads: number } {
  const utf8 = new TextDecoder();
  let sent = "";
  let unchangedReads = 0;
  for (const read of reads) {
    const inputs: Input[] = [];
    const out: Out[] = [];
    body.push(read, inputs);
    for (const input of inputs) translator.push(input, out);
    const same =
      inputs.length === out.length && inputs.every((input, index) => Object.is(input, out[index]));
    if (body.passthroughBytes !== undefined && same) {
      sent += utf8.decode(body.passthroughBytes);
      unchangedReads += 1;
    } else sent += out.map(encode).join("");
  }
  return { sent, unchangedReads };
}

const forwardChat = (reads: readonly Uint8Array[]) =>
  forward<UpstreamChatEvent, ChatStreamEvent>(
    new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder(), passthrough: true }),
    new ChatOverChat({ newId: createIdCounter(), createdAt: 1 }),
    encodeChatEvent,
    reads,
  );

test("the text chunks of a Chat upstream are forwarded unchanged", () => {
  const reads = [hello, ...["Hé", "llo", "!"].map(textEvent)];
  const end = [chunk({}, "stop"), usageChunk()].map((each) => `data: ${JSON.stringify(each)}\n\n`);
  const { sent, unchangedReads } = forwardChat([...reads, ...end, "data: [DONE]\n\n"].map(bytes));
  expect(unchangedReads).toBe(4);
  expect(sent.startsWith(reads.join(""))).toBe(true);
  expect(sent.endsWith("data: [DONE]\n\n")).toBe(true);
});

describe("events of a Responses upstream with consecutive sequence numbers are forwarded unchanged,", () => {
  const item = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const position = { output_index: 0, item_id: "msg_1", content_index: 0 };
  const forwarded = (response: JsonObject, opened: JsonObject = complete) => {
    const events = [
      { type: "response.created", response: opened },
      { type: "response.in_progress", response: opened },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_text.delta", ...position, delta: "Hi" },
      { type: "response.output_text.done", ...position, text: "Hi" },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...complete, output: [item], ...response } },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
    const reads = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const { sent, unchangedReads } = forward<UpstreamResponseEvent, UpstreamResponseEvent>(
      new ResponsesBody({ repairs: new Repairs(), utf8: new TextDecoder(), passthrough: true }),
      new ResponsesOverResponses({ responseId: "resp_0", createdAt: 1 }),
      (event) => encodeResponseEvent(event as unknown as ResponseEvent),
      reads.map(bytes),
    );
    return { reads, sent, rewritten: reads.length - unchangedReads };
  };
  const complete = {
    ...requiredFields,
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
  };

  test("including the last one if its response is complete", () => {
    const { reads, sent, rewritten } = forwarded({});
    expect([rewritten, sent]).toEqual([0, reads.join("")]);
  });

  test.each<[string, JsonObject]>([
    ["has no status", { status: null }],
    ["has an output that differs from its events", { output: [{ ...item, role: "user" }] }],
    ["lacks a field", { incomplete_details: undefined }],
  ])("except for the last one if its response %s", (_title, response) => {
    const { reads, sent, rewritten } = forwarded(response);
    expect(rewritten).toBe(1);
    expect(sent.startsWith(reads.slice(0, -1).join(""))).toBe(true);
  });

  test("except for the opening events if their response lacks a field", () => {
    const { reads, sent, rewritten } = forwarded({}, { ...complete, top_p: undefined });
    expect(rewritten).toBe(2);
    expect(sent.endsWith(reads.slice(2).join(""))).toBe(true);
  });
});

test("an event that arrives in many reads is forwarded in linear time", () => {
  const long = textEvent("x".repeat(200_000));
  const reads = [hello, ...(long.match(/[^]{1,40}/g) ?? [])].map(bytes);
  let forwarded: string | undefined;
  const ms = measureCpuTime(() => {
    const body = new ChatBody({
      repairs: new Repairs(),
      utf8: new TextDecoder(),
      passthrough: true,
    });
    for (const read of reads) body.push(read, []);
    forwarded = text(body.passthroughBytes);
  });
  expect(forwarded).toBe(long);
  expect(ms).toBeLessThan(150);
});

test("a client receives the same events whether they are forwarded or translated, however they are split", () => {
  const piece = fc.oneof(
    fc.string().map(textEvent),
    fc.constantFrom(
      ": alive\n\n",
      "id: 7\n",
      "data: oops\n\n",
      textEvent("Grüße 🙂").replaceAll("\n", "\r\n"),
      `data: ${JSON.stringify(chunk({ tool_calls: [{ index: 3, id: "call_abc", function: { name: "f", arguments: "{}" } }] }))}\n\n`,
    ),
  );
  const readEvents = (text: string) => {
    const events: { data: string; id: string | undefined }[] = [];
    new SseDecoder().push(text, events as never);
    return events.map(({ data, id }) => [data, id]);
  };
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 30 }),
      (pieces, cuts) => {
        const all = bytes([hello, ...pieces].join(""));
        const out: ChatStreamEvent[] = [];
        const complete = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder() });
        const translator = new ChatOverChat({ newId: createIdCounter(), createdAt: 1 });
        const inputs: UpstreamChatEvent[] = [];
        complete.push(all, inputs);
        for (const input of inputs) translator.push(input, out);
        const { sent } = forwardChat(splitAt(all, cuts));
        expect(readEvents(sent)).toEqual(readEvents(out.map(encodeChatEvent).join("")));
      },
    ),
    propertyRuns(300),
  );
});
