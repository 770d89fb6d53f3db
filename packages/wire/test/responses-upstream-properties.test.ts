import {
  collectChat,
  Repairs,
  ResponsesBody,
  ResponsesOverResponses,
  WireError,
  type JsonObject,
  type ResponsesInput,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { chatSequenceFaults } from "../check/chat-sequence.ts";
import { cutAt, playResponsesToChat, playResponsesToResponses } from "../check/play.ts";

/* What must hold for every Responses upstream, whatever it sends and in whatever order. */

const words = fc.constantFrom("", "a", "Hello", "{", '{"a":1}', "}", "<tool_call>");
const index = fc.oneof(fc.constantFrom(0, 0, 1, 2, undefined, -1, 0.5, 30_000_000), fc.jsonValue());
const item = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom("message", "function_call", "custom_tool_call", "reasoning", "aura"),
      id: fc.constantFrom("i_0", "i_1", undefined),
      call_id: fc.constantFrom("call_aaa", "call_bbb", "0", undefined),
      name: fc.constantFrom("f", "", undefined),
      arguments: fc.oneof(words, fc.constant({ a: 1 }), fc.constant(undefined)),
      input: words,
      status: fc.constantFrom("completed", "incomplete", undefined),
      content: fc.oneof(
        words,
        fc.array(fc.record({ type: fc.constant("output_text"), text: words }), { maxLength: 2 }),
      ),
      summary: fc.array(fc.record({ type: fc.constant("summary_text"), text: words }), {
        maxLength: 2,
      }),
      encrypted_content: fc.constantFrom("ENC", undefined),
    },
    { requiredKeys: ["type"] },
  ),
  fc.jsonValue(),
);
const event = fc.oneof(
  fc.record({
    type: fc.constantFrom("response.output_item.added", "response.output_item.done"),
    output_index: index,
    item,
  }),
  fc.record(
    {
      type: fc.constantFrom(
        "response.output_text.delta",
        "response.output_text.done",
        "response.refusal.delta",
        "response.reasoning_text.delta",
        "response.reasoning_summary_text.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.custom_tool_call_input.delta",
        "response.output_text.annotation.added",
        "response.created",
        "response.telepathy",
        "ping",
      ),
      output_index: index,
      item_id: fc.constantFrom("i_0", "i_1", undefined),
      delta: words,
      text: words,
      arguments: words,
      annotation: fc.jsonValue(),
      response: fc.jsonValue(),
    },
    { requiredKeys: ["type"] },
  ),
  fc.record({
    type: fc.constantFrom("response.completed", "response.incomplete", "response.failed", "error"),
    response: fc.oneof(
      fc.record({ output: fc.oneof(fc.array(item, { maxLength: 3 }), fc.jsonValue()) }),
      fc.jsonValue(),
    ),
  }),
  fc.jsonValue(),
);
const body = fc
  .array(event, { maxLength: 10 })
  .map((events) => events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(""));

test("any events become a legal Chat sequence, and nothing but our own error is thrown", () => {
  fc.assert(
    fc.property(body, (text) => {
      const faults = () => chatSequenceFaults(playResponsesToChat([text]).out);
      expect(outcome(faults)).toEqual([]);
    }),
    runs(1500),
  );
});

test("any events are passed on numbered, with one terminal event, the last, whose items were all added and done once", () => {
  fc.assert(
    fc.property(body, (text) => {
      expect(outcome(() => passedFaults(playResponsesToResponses([text]).out))).toEqual([]);
    }),
    runs(1500),
  );
});

test("where cut calls are withheld, none that is incomplete is ever done, whatever is said in between", () => {
  fc.assert(
    fc.property(body, fc.array(fc.nat(12)), (text, pauses) => {
      const repairs = new Repairs();
      const reader = new ResponsesBody({ repairs });
      const options = {
        responseId: "resp_1",
        createdAt: 1,
        cutCalls: "withheld" as const,
        repairs,
      };
      const machine = new ResponsesOverResponses(options);
      const [inputs, out]: [ResponsesInput[], ResponsesInput[]] = [[], []];
      reader.push(text, inputs);
      reader.end("eof", inputs);
      inputs.forEach((input, nth) => {
        if (pauses.includes(nth)) machine.keepAlive(out);
        machine.push(input, out);
      });
      machine.begin(out);
      machine.end("eof", out);
      const done = out.filter(({ type }) => type === "response.output_item.done");
      const calls = done.filter(({ item: told }) => String(Object(told).type).endsWith("_call"));
      expect(calls.filter(({ item: told }) => Object(told).status === "incomplete")).toEqual([]);
      expect(Object(out.at(-1)?.["response"]).output).toHaveLength(done.length);
      expect(out.map((event) => event["sequence_number"])).toEqual(out.map((_, nth) => nth));
      expect(out.filter(({ type }) => type === "response.created")).toHaveLength(1);
    }),
    runs(800),
  );
});

test("cutting the bytes anywhere changes nothing", () => {
  fc.assert(
    fc.property(
      body,
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }),
      (text, cuts) => {
        const bytes = new TextEncoder().encode(text);
        const reads = cutAt(bytes, cuts);
        expect(playResponsesToChat(reads).out).toEqual(playResponsesToChat([bytes]).out);
        expect(playResponsesToResponses(reads).out).toEqual(playResponsesToResponses([bytes]).out);
      },
    ),
    runs(200),
  );
});

/** What a good response looks like from a server that leaves out events, changes ids or skips indexes. */
const goodResponse = fc.record({
  text: fc.string({ minLength: 1 }),
  args: fc.dictionary(fc.string(), fc.string()).map((value) => JSON.stringify(value)),
  idsChange: fc.boolean(),
  withoutIndex: fc.boolean(),
  announced: fc.boolean(),
  ended: fc.boolean(),
  streamed: fc.boolean(),
});

test("text and calls come once, whichever events a server leaves out and whatever ids it changes", () => {
  fc.assert(
    fc.property(
      goodResponse,
      ({ text, args, idsChange, withoutIndex, announced, ended, streamed }) => {
        const id = (base: string, at: string) => (idsChange ? `${base}_${at}` : base);
        const place = (index_: number, base: string) =>
          withoutIndex ? { item_id: base } : { output_index: index_, item_id: base };
        const message = (at: string) => ({
          type: "message",
          id: id("m", at),
          content: [{ type: "output_text", text }],
        });
        const call = (at: string) => ({
          type: "function_call",
          id: id("f", at),
          call_id: "call_aaa",
          name: "f",
          arguments: args,
        });
        const lists = (when: boolean, ...events: object[]) => (when ? events : []);
        // Without an index, only an id that stays tells the items of two events apart.
        const steady = withoutIndex && idsChange;
        const events = [
          { type: "response.created", response: { id: "r" } },
          ...lists(announced && !steady, {
            type: "response.output_item.added",
            ...place(0, id("m", "a")),
            item: { ...message("a"), content: [] },
          }),
          ...lists(streamed && announced && !steady, {
            type: "response.output_text.delta",
            ...place(0, id("m", "a")),
            delta: text,
          }),
          ...lists(ended && !steady, {
            type: "response.output_item.done",
            ...place(0, id("m", "a")),
            item: message(withoutIndex ? "a" : "b"),
          }),
          ...lists(announced && !steady, {
            type: "response.output_item.added",
            ...place(1, id("f", "a")),
            item: { ...call("a"), arguments: "" },
          }),
          ...lists(ended && !steady, {
            type: "response.output_item.done",
            ...place(1, id("f", "a")),
            item: call(withoutIndex ? "a" : "b"),
          }),
          { type: "response.completed", response: { id: "r", output: [message("c"), call("c")] } },
        ];
        const reads = events.map((each) => `data: ${JSON.stringify(each)}\n\n`);
        const chat = collectChat(playResponsesToChat(reads).out);
        expect(chat).toMatchObject({
          completion: {
            choices: [
              {
                finish_reason: "tool_calls",
                message: {
                  content: text,
                  tool_calls: [{ id: "call_aaa", function: { arguments: args } }],
                },
              },
            ],
          },
        });
        const passed = playResponsesToResponses(reads).out;
        expect(passedFaults(passed)).toEqual([]);
        expect(passed.at(-1)).toMatchObject({
          response: { output: [{ type: "message" }, { type: "function_call", arguments: args }] },
        });
      },
    ),
    runs(400),
  );
});

function passedFaults(events: readonly JsonObject[]): string[] {
  const faults: string[] = [];
  const added = new Set<unknown>();
  const done = new Set<unknown>();
  const terminals = new Set([
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
  ]);
  events.forEach((each, nth) => {
    const at = each["output_index"];
    if (each["sequence_number"] !== nth)
      faults.push(`#${nth} is numbered ${JSON.stringify(each["sequence_number"])}`);
    if (terminals.has(each["type"] as string) !== (nth === events.length - 1))
      faults.push(`#${nth} and the end`);
    if (each["type"] === "response.output_item.added") {
      if (added.has(at)) faults.push(`${JSON.stringify(at)} added twice`);
      added.add(at);
    }
    if (each["type"] !== "response.output_item.done") return;
    if (!added.has(at) || done.has(at))
      faults.push(`${JSON.stringify(at)} done twice, or never added`);
    done.add(at);
  });
  if (events[0]?.["type"] !== "response.created") faults.push("the first event");
  if (added.size !== done.size) faults.push("an item was never done");
  return faults;
}

function outcome(faults: () => string[]): string[] {
  try {
    return faults();
  } catch (error) {
    return error instanceof WireError ? [] : [String(error)];
  }
}
