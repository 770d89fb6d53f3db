import {
  chatOfChat,
  collectChat,
  collectResponse,
  responseOfChat,
  WireError,
  type ChatDelta,
  type JsonObject,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { chatSequenceFaults } from "../check/chat-sequence.ts";
import { cutAt, playToChat, playToResponses } from "../check/play.ts";
import { responseSequenceFaults } from "../check/response-sequence.ts";
import { body, chunk, usageChunk } from "./chat-stream.ts";

/* What must hold for every input: any stream a provider might send, cut anywhere, ended anyhow. */

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
const stream = fc.tuple(fc.array(anyChunk, { maxLength: 12 }), fc.boolean());
const end = fc.constantFrom("eof", "grace", "idle_timeout", "transport_error", "aborted" as const);

test("any stream becomes a legal Responses sequence with one terminal event", () => {
  fc.assert(
    fc.property(stream, end, ([chunks, done], how) => {
      const { out } = playToResponses(body(chunks, done), { end: how });
      expect(responseSequenceFaults(out)).toEqual([]);
    }),
    runs(600),
  );
});

test("any stream becomes a legal Chat sequence that ends in [DONE] or an error", () => {
  fc.assert(
    fc.property(stream, end, ([chunks, done], how) => {
      const { out } = playToChat(body(chunks, done), { end: how });
      expect(chatSequenceFaults(out)).toEqual([]);
    }),
    runs(600),
  );
});

test("cutting the bytes anywhere changes nothing", () => {
  fc.assert(
    fc.property(
      stream,
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 80 }),
      ([chunks, done], cuts) => {
        const bytes = new TextEncoder().encode(body(chunks, done).join(""));
        const reads = cutAt(bytes, cuts);
        expect(playToResponses(reads).out).toEqual(playToResponses([bytes]).out);
        expect(playToChat(reads).out).toEqual(playToChat([bytes]).out);
      },
    ),
    runs(300),
  );
});

/** A whole reply, and the same said in one chunk a field. */
const wholeReply = fc
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

const counter = () => {
  let count = 0;
  return (prefix: string) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
};

test("a stream and a whole reply that say the same give the same response", () => {
  fc.assert(
    fc.property(wholeReply, ({ reply, chunks }) => {
      const options = { responseId: "resp_1", newId: counter(), createdAt: 1 };
      const { response } = responseOfChat(reply, options);
      expect(collectResponse(playToResponses(body(chunks)).out)).toEqual(response);
      expect(collectResponse(playToResponses([JSON.stringify(reply)]).out)).toEqual(response);
    }),
    runs(300),
  );
});

test("and the same completion", () => {
  fc.assert(
    fc.property(wholeReply, ({ reply, chunks }) => {
      const collected = chatOfChat(reply, { newId: counter(), createdAt: 1 });
      const streamed = collectChat(playToChat(body(chunks)).out);
      if (!collected.ok || !streamed.ok) throw new Error("an error");
      expect(streamed.completion.usage).toEqual(collected.completion.usage);
      const said = ({ completion }: typeof streamed) =>
        completion.choices.map(({ message, finish_reason }) => ({
          text: message.content ?? "",
          reasoning: message.reasoning_content ?? "",
          calls: message.tool_calls ?? [],
          finish_reason,
        }));
      expect(said(streamed)).toEqual(said({ ok: true, completion: collected.completion }));
    }),
    runs(300),
  );
});

/** Garbage: JSON of no known shape, JSON of nearly the right shape, and no JSON at all. */
const garbage = fc.oneof(
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

test("random garbage never throws anything but our own error, and the sequence stays legal", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          garbage.map((g) => `data: ${JSON.stringify(g)}\n\n`),
          fc.string(),
          fc.constant("data: [DONE]\n\n"),
        ),
      ),
      (reads) => {
        try {
          expect(responseSequenceFaults(playToResponses(reads).out)).toEqual([]);
          expect(chatSequenceFaults(playToChat(reads).out)).toEqual([]);
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
        }
      },
    ),
    runs(1500),
  );
});
