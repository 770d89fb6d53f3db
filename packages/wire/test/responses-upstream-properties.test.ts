import {
  collectChat,
  Repairs,
  ResponsesBody,
  ResponsesOverResponses,
  WireError,
  type JsonObject,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { splitAt, playResponsesToChat, playResponsesToResponses } from "../check/play.ts";

/* Properties that hold for any events of a Responses upstream, in any order. */

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

test("any events become a valid sequence of Chat chunks or a WireError", () => {
  fc.assert(
    fc.property(body, (text) => {
      const faults = () => findChatSequenceFaults(playResponsesToChat([text]).out);
      expect(runCheck(faults)).toEqual([]);
    }),
    propertyRuns(1500),
  );
});

test("any events are forwarded as a sequence with consecutive numbers, one terminal event at the end, and one added and done event per item", () => {
  fc.assert(
    fc.property(body, (text) => {
      expect(runCheck(() => findForwardedFaults(playResponsesToResponses([text]).out))).toEqual([]);
    }),
    propertyRuns(1500),
  );
});

test("if truncated calls are withheld, no incomplete call has a done event, even with keep-alives in between", () => {
  fc.assert(
    fc.property(body, fc.array(fc.nat(12)), (text, pauses) => {
      const repairs = new Repairs();
      const reader = new ResponsesBody({ repairs });
      const options = {
        responseId: "resp_1",
        createdAt: 1,
        truncatedCalls: "withheld" as const,
        repairs,
      };
      const machine = new ResponsesOverResponses(options);
      const [inputs, out]: [UpstreamResponseEvent[], UpstreamResponseEvent[]] = [[], []];
      reader.push(text, inputs);
      reader.end("eof", inputs);
      inputs.forEach((input, index) => {
        if (pauses.includes(index)) machine.keepAlive(out);
        machine.push(input, out);
      });
      machine.begin(out);
      machine.end("eof", out);
      const done = out.filter(({ type }) => type === "response.output_item.done");
      const calls = done.filter(({ item }) => String(Object(item).type).endsWith("_call"));
      expect(calls.filter(({ item }) => Object(item).status === "incomplete")).toEqual([]);
      expect(Object(out.at(-1)?.["response"]).output).toHaveLength(done.length);
      expect(out.map((event) => event["sequence_number"])).toEqual(out.map((_, index) => index));
      expect(out.filter(({ type }) => type === "response.created")).toHaveLength(1);
    }),
    propertyRuns(800),
  );
});

test("events do not depend on how the bytes are split", () => {
  fc.assert(
    fc.property(
      body,
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }),
      (text, cuts) => {
        const bytes = new TextEncoder().encode(text);
        const reads = splitAt(bytes, cuts);
        expect(playResponsesToChat(reads).out).toEqual(playResponsesToChat([bytes]).out);
        expect(playResponsesToResponses(reads).out).toEqual(playResponsesToResponses([bytes]).out);
      },
    ),
    propertyRuns(200),
  );
});

/** A valid response of a server that may omit events, change ids or send no indexes. */
const responseVariant = fc.record({
  text: fc.string({ minLength: 1 }),
  args: fc.dictionary(fc.string(), fc.string()).map((value) => JSON.stringify(value)),
  hasChangingIds: fc.boolean(),
  hasNoIndex: fc.boolean(),
  hasAddedEvents: fc.boolean(),
  hasDoneEvents: fc.boolean(),
  hasDeltas: fc.boolean(),
});

test("text and calls are emitted once, even if a server omits events or changes ids", () => {
  fc.assert(
    fc.property(
      responseVariant,
      ({ text, args, hasChangingIds, hasNoIndex, hasAddedEvents, hasDoneEvents, hasDeltas }) => {
        const id = (base: string, at: string) => (hasChangingIds ? `${base}_${at}` : base);
        const position = (index_: number, base: string) =>
          hasNoIndex ? { item_id: base } : { output_index: index_, item_id: base };
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
        const onlyIf = (condition: boolean, ...events: object[]) => (condition ? events : []);
        // Without an index, the items of two events can only be matched if their ids do not change.
        const isAmbiguous = hasNoIndex && hasChangingIds;
        const events = [
          { type: "response.created", response: { id: "r" } },
          ...onlyIf(hasAddedEvents && !isAmbiguous, {
            type: "response.output_item.added",
            ...position(0, id("m", "a")),
            item: { ...message("a"), content: [] },
          }),
          ...onlyIf(hasDeltas && hasAddedEvents && !isAmbiguous, {
            type: "response.output_text.delta",
            ...position(0, id("m", "a")),
            delta: text,
          }),
          ...onlyIf(hasDoneEvents && !isAmbiguous, {
            type: "response.output_item.done",
            ...position(0, id("m", "a")),
            item: message(hasNoIndex ? "a" : "b"),
          }),
          ...onlyIf(hasAddedEvents && !isAmbiguous, {
            type: "response.output_item.added",
            ...position(1, id("f", "a")),
            item: { ...call("a"), arguments: "" },
          }),
          ...onlyIf(hasDoneEvents && !isAmbiguous, {
            type: "response.output_item.done",
            ...position(1, id("f", "a")),
            item: call(hasNoIndex ? "a" : "b"),
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
        const forwarded = playResponsesToResponses(reads).out;
        expect(findForwardedFaults(forwarded)).toEqual([]);
        expect(forwarded.at(-1)).toMatchObject({
          response: { output: [{ type: "message" }, { type: "function_call", arguments: args }] },
        });
      },
    ),
    propertyRuns(400),
  );
});

function findForwardedFaults(events: readonly JsonObject[]): string[] {
  const faults: string[] = [];
  const added = new Set<unknown>();
  const done = new Set<unknown>();
  const terminals = new Set([
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
  ]);
  events.forEach((event, position) => {
    const at = event["output_index"];
    if (event["sequence_number"] !== position)
      faults.push(`#${position} has sequence number ${JSON.stringify(event["sequence_number"])}`);
    if (terminals.has(event["type"] as string) !== (position === events.length - 1))
      faults.push(`#${position}: only the last event may be terminal`);
    if (event["type"] === "response.output_item.added") {
      if (added.has(at)) faults.push(`${JSON.stringify(at)} added twice`);
      added.add(at);
    }
    if (event["type"] !== "response.output_item.done") return;
    if (!added.has(at) || done.has(at))
      faults.push(`${JSON.stringify(at)} done twice, or never added`);
    done.add(at);
  });
  if (events[0]?.["type"] !== "response.created")
    faults.push("the first event is not response.created");
  if (added.size !== done.size) faults.push("an item was never done");
  return faults;
}

function runCheck(faults: () => string[]): string[] {
  try {
    return faults();
  } catch (error) {
    return error instanceof WireError ? [] : [String(error)];
  }
}
