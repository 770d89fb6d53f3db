import {
  ChatBody,
  ChatOverChat,
  encodeChatOutput,
  encodeResponseEvent,
  Repairs,
  ResponsesBody,
  ResponsesOverResponses,
  SseDecoder,
  type ChatInput,
  type ChatOutput,
  type JsonObject,
  type ResponseEvent,
  type ResponsesInput,
  type StreamMachine,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { workTime } from "../../../test/work-time.ts";
import { cutAt } from "../check/play.ts";
import { chunk, usageChunk } from "./chat-stream.ts";
import { newIds } from "./reply-translations.ts";

/* When the bytes of an upstream may go to a client of the same wire as they came. */

const bytes = (text: string) => new TextEncoder().encode(text);
const hello = `data: ${JSON.stringify(chunk({ role: "assistant", content: "" }))}\n\n`;
const words = (text: string) => `data: ${JSON.stringify(chunk({ content: text }))}\n\n`;

const text = (read: Uint8Array | undefined) =>
  read === undefined ? undefined : new TextDecoder().decode(read);

/** What may go on of the last read. */
function relayedOf(...reads: (string | Uint8Array)[]): string | undefined {
  const body = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder(), relay: true });
  for (const read of reads) body.push(typeof read === "string" ? bytes(read) : read, []);
  return text(body.relayed);
}

describe("what may go on as it came, of a read that has", () => {
  const hi = words("Hi");
  test.each<[string, (string | Uint8Array)[], string | undefined]>([
    ["an event", [hello, hi], hi],
    ["several", [hello, words("a") + words("b")], words("a") + words("b")],
    ["the first of all", [hi], hi],
    ["a comment before an event", [hello, `: alive\n\n${hi}`], undefined],
    ["the end of a comment", [hello, `${hi}: ali`, `ve\n\n${hi}`], undefined],
    ["an event behind a comment without a blank line", [hello, ": alive\n", hi], undefined],
    ["an event, a read after a comment", [hello, `: alive\n\n${hi}`, hi], hi],
    ["the rest of one that began before", [hello + hi.slice(0, 9), hi.slice(9)], hi],
    ["the last line end of one", [hello + hi.slice(0, -1), "\n"], hi],
    ["half a character", [hello, words("é") + hi.slice(0, 9)], words("é")],
    ["the beginning of another", [hello, `${hi}data: {`], hi],
    ["only the beginning of one", [hello, "data: {"], undefined],
    ["line ends of two bytes", [hello, hi.replaceAll("\n", "\r\n")], undefined],
    ["a byte order mark", [`\u{feff}${hi}`], undefined],
    ["blanks at the very beginning", [`\n${hi}`], undefined],
    ["an id", [hello, `id: 7\n${hi}`], undefined],
    ["an id in the part that is not whole", [hello, `${hi}id: 7\n`, hi], undefined],
    ["a retry time", [hello, `retry: 7\n${hi}`], undefined],
    ["a field that nobody knows", [hello, `x: 7\n${hi}`], undefined],
    ["a stray blank before the field", [hello, ` ${hi}`], undefined],
    ["an event that is no JSON", [hello, `data: oops\n\n${hi}`], undefined],
    ["an event in which another begins", [hello, `data: {"id":"x","cho ${hi}`], undefined],
    ["an event that says nothing", [hello, `data: \n\n${hi}`], undefined],
    ["anything behind one of these", [hello, `id: 7\n${hi}`, hi], undefined],
    ["an event of a megabyte, in pieces", [hello, `data: "${"x".repeat(1e6)}`, hi], undefined],
  ])("%s", (_what, reads, relayed) => {
    expect(relayedOf(...reads)).toBe(relayed);
  });

  test("nothing, where it was not asked for", () => {
    const body = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder() });
    body.push(bytes(hello), []);
    expect(body.relayed).toBeUndefined();
  });

  const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
  const named = (type: string) => `event: ${type}\n${event({ type, response: {} })}`;
  test.each<[string, string, boolean]>([
    ["an event that is named", named("response.in_progress"), true],
    ["one that is not", event({ type: "response.in_progress" }), false],
    ["one that is only named", `event: response.x\n${event({ response: {} })}`, false],
    ["the sentinel of the other wire", `${named("response.x")}data: [DONE]\n\n`, false],
    ["no JSON", "data: oops\n\n", false],
  ])("of a Responses upstream: %s", (_what, read, relayable) => {
    const body = new ResponsesBody({
      repairs: new Repairs(),
      utf8: new TextDecoder(),
      relay: true,
    });
    body.push(bytes(named("response.created")), []);
    body.push(bytes(read), []);
    expect(text(body.relayed)).toBe(relayable ? read : undefined);
  });
});

/** What a relay sends: a read as it is where that is allowed, else what the translator put out. */
function relay<Input, Out>(
  body: StreamMachine<string | Uint8Array, Input> & { readonly relayed: Uint8Array | undefined },
  translator: StreamMachine<Input, Out>,
  encode: (out: Out) => string,
  reads: readonly Uint8Array[],
): { sent: string; asTheyAre: number } {
  const utf8 = new TextDecoder();
  let sent = "";
  let asTheyAre = 0;
  for (const read of reads) {
    const inputs: Input[] = [];
    const out: Out[] = [];
    body.push(read, inputs);
    for (const input of inputs) translator.push(input, out);
    const same =
      inputs.length === out.length && inputs.every((input, nth) => Object.is(input, out[nth]));
    if (body.relayed !== undefined && same) {
      sent += utf8.decode(body.relayed);
      asTheyAre += 1;
    } else sent += out.map(encode).join("");
  }
  return { sent, asTheyAre };
}

const chatRelay = (reads: readonly Uint8Array[]) =>
  relay<ChatInput, ChatOutput>(
    new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder(), relay: true }),
    new ChatOverChat({ newId: newIds(), createdAt: 1 }),
    encodeChatOutput,
    reads,
  );

test("plain text of a Chat upstream goes on as it is, all but the end", () => {
  const reads = [hello, ...["Hé", "llo", "!"].map(words)];
  const end = [chunk({}, "stop"), usageChunk()].map((each) => `data: ${JSON.stringify(each)}\n\n`);
  const { sent, asTheyAre } = chatRelay([...reads, ...end, "data: [DONE]\n\n"].map(bytes));
  expect(asTheyAre).toBe(4);
  expect(sent.startsWith(reads.join(""))).toBe(true);
  expect(sent.endsWith("data: [DONE]\n\n")).toBe(true);
});

describe("events of a Responses upstream that are numbered densely go on as they are,", () => {
  const item = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const place = { output_index: 0, item_id: "msg_1", content_index: 0 };
  const relayed = (response: JsonObject) => {
    const events = [
      { type: "response.created", response: { id: "resp_1" } },
      { type: "response.in_progress", response: { id: "resp_1" } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_text.delta", ...place, delta: "Hi" },
      { type: "response.output_text.done", ...place, text: "Hi" },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id: "resp_1", output: [item], ...response } },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
    const reads = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const { sent, asTheyAre } = relay<ResponsesInput, ResponsesInput>(
      new ResponsesBody({ repairs: new Repairs(), utf8: new TextDecoder(), relay: true }),
      new ResponsesOverResponses({ responseId: "resp_0", createdAt: 1 }),
      (event) => encodeResponseEvent(event as unknown as ResponseEvent),
      reads.map(bytes),
    );
    return { reads, sent, rewritten: reads.length - asTheyAre };
  };
  const complete = {
    object: "response",
    created_at: 1,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "m",
    usage: null,
  };

  test("the last one too if its response has all that was said", () => {
    const { reads, sent, rewritten } = relayed(complete);
    expect([rewritten, sent]).toEqual([0, reads.join("")]);
  });

  test.each<[string, JsonObject]>([
    ["has no status", { ...complete, status: null }],
    ["has another output than its events", { ...complete, output: [{ ...item, role: "user" }] }],
    ["has not all fields", { ...complete, incomplete_details: undefined }],
  ])("all but the last one if its response %s", (_what, response) => {
    const { reads, sent, rewritten } = relayed(response);
    expect(rewritten).toBe(1);
    expect(sent.startsWith(reads.slice(0, -1).join(""))).toBe(true);
  });
});

test("an event that comes in many reads goes on, and each byte is looked at once", () => {
  const long = words("x".repeat(200_000));
  const reads = [hello, ...(long.match(/[^]{1,40}/g) ?? [])].map(bytes);
  let relayed: string | undefined;
  const ms = workTime(() => {
    const body = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder(), relay: true });
    for (const read of reads) body.push(read, []);
    relayed = text(body.relayed);
  });
  expect(relayed).toBe(long);
  expect(ms).toBeLessThan(150);
});

test("wherever the network cuts, a client reads the same events, relayed or not", () => {
  const piece = fc.oneof(
    fc.string().map(words),
    fc.constantFrom(
      ": alive\n\n",
      "id: 7\n",
      "data: oops\n\n",
      words("Grüße 🙂").replaceAll("\n", "\r\n"),
      `data: ${JSON.stringify(chunk({ tool_calls: [{ index: 3, id: "call_abc", function: { name: "f", arguments: "{}" } }] }))}\n\n`,
    ),
  );
  const dataOf = (text: string) => {
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
        const out: ChatOutput[] = [];
        const whole = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder() });
        const translator = new ChatOverChat({ newId: newIds(), createdAt: 1 });
        const inputs: ChatInput[] = [];
        whole.push(all, inputs);
        for (const input of inputs) translator.push(input, out);
        const { sent } = chatRelay(cutAt(all, cuts));
        expect(dataOf(sent)).toEqual(dataOf(out.map(encodeChatOutput).join("")));
      },
    ),
    runs(300),
  );
});
