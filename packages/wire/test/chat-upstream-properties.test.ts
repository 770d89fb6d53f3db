import {
  repairChatReply,
  collectChat,
  collectResponse,
  translateChatReply,
  WireError,
  type ChatDelta,
  type JsonObject,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { splitAt, playChatToChat, playChatToResponses } from "../check/play.ts";
import { findResponseSequenceFaults } from "../check/response-sequence.ts";
import { body, chunk, usageChunk } from "./chat-chunks.ts";

/* Properties that hold for any stream of a provider, split anywhere and ended in any way. */

const words = fc.oneof(
  fc.constantFrom("", " ", "\n", "Hello", "<think>", "</think>", "<", "`", '{"a":1}', "中文", "😀"),
  fc.string(),
);
const fragment = fc.record(
  {
    index: fc.constantFrom(0, 1, null),
    id: fc.constantFrom("call_aaa", "call_bbb", "", null, "0"),
    type: fc.constantFrom("function", "custom", null),
    function: fc.record(
      {
        name: fc.constantFrom("get_weather", "health", "get_", "", null),
        arguments: fc.constantFrom("", "{}", '{"city":', '"Paris"}', '{"a":1}{"b":2}', null, " "),
      },
      { requiredKeys: [] },
    ),
    extra_content: fc.constant({ google: { thought_signature: "s" } }),
  },
  { requiredKeys: [] },
);
const delta: fc.Arbitrary<ChatDelta> = fc.record(
  {
    role: fc.constantFrom("assistant", null),
    content: fc.oneof(
      words,
      fc.constant(null),
      fc.array(fc.record({ type: fc.constant("text"), text: words }), { maxLength: 2 }),
    ),
    reasoning_content: words,
    reasoning: words,
    reasoning_details: fc.array(
      fc.record({ type: fc.constant("reasoning.text"), text: words, index: fc.constant(0) }),
      { maxLength: 2 },
    ),
    refusal: fc.constantFrom(null, "no"),
    tool_calls: fc.array(fragment, { maxLength: 2 }),
    annotations: fc.constant([
      { type: "url_citation", url_citation: { url: "https://example.org" } },
    ]),
    audio: fc.record({ data: fc.constant("AAAA"), transcript: words }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<ChatDelta>;
const finish = fc.constantFrom(
  null,
  null,
  null,
  "stop",
  "tool_calls",
  "length",
  "content_filter",
  "error",
  "eos",
  "banana",
  "",
);
const anyChunk = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(delta, finish).map(([d, f]) => chunk(d, f)) },
  fc.constant(usageChunk()),
  fc
    .tuple(delta, finish)
    .map(([d, f]) => ({ ...chunk(d, f), choices: [{ index: 1, delta: d, finish_reason: f }] })),
  fc.constant({ error: { message: "boom", code: 502 } }),
  fc.constant({ id: "", choices: [], prompt_filter_results: [] }),
);
const anyStream = fc.tuple(fc.array(anyChunk, { maxLength: 12 }), fc.boolean());
const anyEnd = fc.constantFrom(
  "eof",
  "grace",
  "idle_timeout",
  "transport_error",
  "aborted" as const,
);

test("any stream becomes a valid sequence of Responses events", () => {
  fc.assert(
    fc.property(anyStream, anyEnd, ([chunks, done], endReason) => {
      const { out } = playChatToResponses(body(chunks, done), { end: endReason });
      expect(findResponseSequenceFaults(out)).toEqual([]);
    }),
    propertyRuns(600),
  );
});

test("any stream becomes a valid sequence of Chat chunks", () => {
  fc.assert(
    fc.property(anyStream, anyEnd, ([chunks, done], endReason) => {
      const { out } = playChatToChat(body(chunks, done), { end: endReason });
      expect(findChatSequenceFaults(out)).toEqual([]);
    }),
    propertyRuns(600),
  );
});

test("events do not depend on how the bytes are split", () => {
  fc.assert(
    fc.property(
      anyStream,
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 80 }),
      ([chunks, done], cuts) => {
        const bytes = new TextEncoder().encode(body(chunks, done).join(""));
        const reads = splitAt(bytes, cuts);
        expect(playChatToResponses(reads).out).toEqual(playChatToResponses([bytes]).out);
        expect(playChatToChat(reads).out).toEqual(playChatToChat([bytes]).out);
      },
    ),
    propertyRuns(300),
  );
});

/** A complete reply, and a stream with the same content that has one chunk per field. */
const completeReply = fc
  .record({
    content: fc.option(words, { nil: null }),
    reasoning_content: words,
    calls: fc.array(fc.constantFrom('{"a":1}', "{}", "", '{"a":', '{"a":1}{"b":2}'), {
      maxLength: 3,
    }),
    finish_reason: fc.constantFrom("stop", "tool_calls", "length", "content_filter", null),
  })
  .map(({ content, reasoning_content, calls, finish_reason }) => {
    const tool_calls = calls.map((args, index) => ({
      id: `call_${index}_abc`,
      type: "function",
      function: { name: "get_weather", arguments: args },
      index,
    }));
    const reply: JsonObject = {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content, reasoning_content, tool_calls },
          finish_reason,
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    };
    const chunks = [
      chunk({ role: "assistant" }),
      chunk({ reasoning_content }),
      chunk({ content }),
      ...tool_calls.map((entry) => chunk({ tool_calls: [entry] })),
      chunk({}, finish_reason),
      usageChunk({ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }),
    ];
    return { reply, chunks };
  });

const createCounter = () => {
  let count = 0;
  return (prefix: string) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
};

test("a stream and a complete reply with the same content result in the same response", () => {
  fc.assert(
    fc.property(completeReply, ({ reply, chunks }) => {
      const options = { responseId: "resp_1", newId: createCounter(), createdAt: 1 };
      const { response } = translateChatReply(reply, options);
      expect(collectResponse(playChatToResponses(body(chunks)).out)).toEqual(response);
      expect(collectResponse(playChatToResponses([JSON.stringify(reply)]).out)).toEqual(response);
    }),
    propertyRuns(300),
  );
});

test("a stream and a complete reply with the same content result in the same completion", () => {
  fc.assert(
    fc.property(completeReply, ({ reply, chunks }) => {
      const collected = repairChatReply(reply, { newId: createCounter(), createdAt: 1 });
      const streamed = collectChat(playChatToChat(body(chunks)).out);
      if (!collected.ok || !streamed.ok) throw new Error("expected two completions");
      expect(streamed.completion.usage).toEqual(collected.completion.usage);
      const summarize = ({ completion }: typeof streamed) =>
        completion.choices.map(({ message, finish_reason }) => ({
          text: message.content ?? "",
          reasoning: message.reasoning_content ?? "",
          calls: message.tool_calls ?? [],
          finish_reason,
        }));
      expect(summarize(streamed)).toEqual(
        summarize({ ok: true, completion: collected.completion }),
      );
    }),
    propertyRuns(300),
  );
});

/** JSON of unknown shapes, and JSON of nearly the right shape. */
const anyText = fc.oneof(
  fc.jsonValue(),
  fc.record(
    { choices: fc.jsonValue(), usage: fc.jsonValue(), error: fc.jsonValue(), id: fc.jsonValue() },
    { requiredKeys: [] },
  ),
  fc
    .array(
      fc.record(
        {
          index: fc.jsonValue(),
          delta: fc.jsonValue(),
          message: fc.jsonValue(),
          finish_reason: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    )
    .map((choices) => ({ choices })),
  fc
    .record(
      {
        content: fc.jsonValue(),
        reasoning: fc.jsonValue(),
        reasoning_details: fc.jsonValue(),
        tool_calls: fc.array(
          fc.record(
            {
              index: fc.jsonValue(),
              id: fc.jsonValue(),
              function: fc.jsonValue(),
              custom: fc.jsonValue(),
            },
            { requiredKeys: [] },
          ),
        ),
        function_call: fc.jsonValue(),
        annotations: fc.jsonValue(),
        audio: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    .map((d) => ({ choices: [{ index: 0, delta: d }] })),
);

test("random input throws at most a WireError, and the emitted sequence is valid", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          anyText.map((g) => `data: ${JSON.stringify(g)}\n\n`),
          fc.string(),
          fc.constant("data: [DONE]\n\n"),
        ),
      ),
      (reads) => {
        try {
          expect(findResponseSequenceFaults(playChatToResponses(reads).out)).toEqual([]);
          expect(findChatSequenceFaults(playChatToChat(reads).out)).toEqual([]);
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
        }
      },
    ),
    propertyRuns(1500),
  );
});
