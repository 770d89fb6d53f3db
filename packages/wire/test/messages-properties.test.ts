import {
  collectChat,
  collectMessage,
  collectResponse,
  decodeMessagesRequest,
  decodeResponsesRequest,
  genericProfile,
  repairMessagesRequest,
  encodeChatEvent,
  translateChatReply,
  translateChatReplyToMessage,
  translateChatToMessages,
  translateMessage,
  translateMessagesToChat,
  translateMessagesToResponses,
  translateMessageToChat,
  translateResponsesReply,
  translateResponsesReplyToMessage,
  translateResponsesRequest,
  translateResponsesToMessages,
  WireError,
  type JsonObject,
  type JsonValue,
  type MessageEvent,
  type MessagesRequest,
  type UpstreamMessageEvent,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { findMessageSequenceFaults } from "../check/message-sequence.ts";
import { findMessagesRequestFaults } from "../check/message-rules.ts";
import {
  playChatToMessages,
  playMessagesToChat,
  playMessagesToMessages,
  playMessagesToResponses,
  playResponsesToMessages,
  sealForChecks,
  splitAt,
  splitIntoBytes,
  unsealForChecks,
} from "../check/play.ts";
import { findResponseSequenceFaults } from "../check/response-sequence.ts";
import { findResponsesRequestFaults } from "../check/responses-rules.ts";
import { upstreamRules } from "../check/upstream-rules.ts";
import { arbitraryHistory, findTexts } from "./arbitrary-histories.ts";
import { encodeEvents } from "./message-events.ts";

/* Properties that hold for any events of a Messages upstream, and for any history. */

/** Returns the error of a property without expectations, or null. */
function findError<Values extends unknown[]>(
  property: fc.IProperty<Values>,
  { numRuns }: { numRuns: number },
): unknown {
  return fc.check(property, { numRuns }).errorInstance ?? null;
}

const words = fc.constantFrom("", "a", " ", "Hello", "{", '{"a":1}', "}", "<think>", "\n\n");
const index = fc.oneof(fc.constantFrom(0, 0, 1, 2, undefined, -1, 0.5), fc.jsonValue());
const reason = fc.constantFrom(
  "end_turn", "tool_use", "max_tokens", "refusal", "stop_sequence", "pause_turn", "", null, "banana",
  "model_context_window_exceeded", "abort",
); // prettier-ignore
const usage = fc.oneof(
  fc.record({ input_tokens: fc.nat(), output_tokens: fc.nat() }),
  fc.jsonValue(),
);
const block = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom(
        "text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result",
        "compaction", "hologram",
      ), // prettier-ignore
      text: words,
      thinking: words,
      signature: fc.constantFrom("", "SIG", undefined),
      data: fc.constantFrom("DATA", undefined),
      id: fc.constantFrom("toolu_a", "toolu_b", "a:b", "0", undefined),
      name: fc.constantFrom("f", "web_search", "", undefined),
      input: fc.oneof(fc.constant({}), fc.dictionary(words, fc.jsonValue()), words),
      content: fc.jsonValue(),
      citations: fc.jsonValue(),
    },
    { requiredKeys: ["type"] },
  ),
  fc.jsonValue(),
);
const delta = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom(
        "text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta", "aura_delta",
      ), // prettier-ignore
      text: words,
      thinking: words,
      signature: words,
      partial_json: fc.oneof(words, fc.jsonValue()),
      citation: fc.oneof(fc.record({ url: words }), fc.jsonValue()),
    },
    { requiredKeys: ["type"] },
  ),
  fc.jsonValue(),
);
const event = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("content_block_start"), index, content_block: block }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant("content_block_delta"), index, delta }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("content_block_stop"), index }) },
  fc.record({
    type: fc.constant("message_start"),
    message: fc.oneof(
      fc.record({ id: words, model: words, content: fc.array(block, { maxLength: 2 }), usage, stop_reason: reason }),
      fc.jsonValue(),
    ),
  }),
  fc.record({
    type: fc.constant("message_delta"),
    delta: fc.oneof(fc.record({ stop_reason: reason, stop_sequence: words }), fc.jsonValue()),
    usage,
  }),
  fc.record({ type: fc.constantFrom("message_stop", "ping", "error", "aura"), error: fc.jsonValue() }),
); // prettier-ignore
const events = fc.array(event, { maxLength: 14 }) as fc.Arbitrary<UpstreamMessageEvent[]>;

test("any events result in valid streams for every client", () => {
  fc.assert(
    fc.property(events, (upstream) => {
      const reads = [encodeEvents(upstream)];
      const responses = playMessagesToResponses(reads).out;
      expect(findResponseSequenceFaults(responses)).toEqual([]);
      expect(findChatSequenceFaults(playMessagesToChat(reads).out)).toEqual([]);
      const forwarded = playMessagesToMessages(reads).out;
      expect(findMessageSequenceFaults(forwarded, { isForwarded: true })).toEqual([]);
    }),
    propertyRuns(400),
  );
});

test("the output does not depend on how the bytes are split", () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 12 });
  fc.assert(
    fc.property(events, cuts, (upstream, lengths) => {
      const bytes = new TextEncoder().encode(encodeEvents(upstream));
      for (const play of [playMessagesToResponses, playMessagesToChat, playMessagesToMessages]) {
        const whole = play([bytes]).out;
        expect(play(splitAt(bytes, lengths)).out).toEqual(whole);
        expect(play(splitIntoBytes(bytes)).out).toEqual(whole);
      }
    }),
    propertyRuns(60),
  );
});

test("what a Messages client receives does not depend on how a Chat upstream's bytes are split", () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 12 });
  const sizes = new Set<number>();
  fc.assert(
    fc.property(events, cuts, (upstream, lengths) => {
      const chunks = playMessagesToChat([encodeEvents(upstream)]).out;
      const bytes = new TextEncoder().encode(chunks.map(encodeChatEvent).join(""));
      const whole = playChatToMessages([bytes]).out;
      sizes.add(whole.length);
      expect(playChatToMessages(splitAt(bytes, lengths)).out).toEqual(whole);
      expect(playChatToMessages(splitIntoBytes(bytes)).out).toEqual(whole);
      expect(findMessageSequenceFaults(whole)).toEqual([]);
    }),
    propertyRuns(100),
  );
  expect(sizes.size).toBeGreaterThan(3);
});

test("garbage never throws anything but a WireError", () => {
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ maxLength: 200 }).map((text) => new TextEncoder().encode(text)),
    fc.jsonValue().map((value) => new TextEncoder().encode(JSON.stringify(value))),
    fc.jsonValue().map((value) => new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`)),
  );
  const error = findError(
    fc.property(fc.array(garbage, { maxLength: 4 }), (reads) => {
      for (const play of [
        playMessagesToResponses,
        playMessagesToChat,
        playMessagesToMessages,
        playChatToMessages,
        playResponsesToMessages,
      ])
        try {
          play(reads);
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
        }
    }),
    propertyRuns(200),
  );
  expect(error).toBeNull();
});

const plain = fc
  .string({ minLength: 1 })
  .filter((text) => text.trim() !== "" && !text.includes("<"));
const callArguments = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }));
const message = fc.record({
  thinking: fc.option(plain, { nil: "" }),
  text: fc.option(plain.map((text) => `a${text}`), { nil: "" }),
  calls: fc.array(callArguments, { maxLength: 3 }),
  input: fc.nat({ max: 10_000 }),
  cached: fc.nat({ max: 1000 }),
  output: fc.integer({ min: 1, max: 10_000 }),
}); // prettier-ignore

let idCount = 0;
const newId = (prefix: string): string => `${prefix}_${(idCount += 1)}`;
const writer = {
  newId,
  createdAt: 1,
  messageId: "msg_1",
  responseId: "resp_1",
  requestedModel: "m",
};

test("a reply keeps its content over every pair of wires and back", () => {
  fc.assert(
    fc.property(message, ({ thinking, text, calls, input, cached, output }) => {
      const content = [
        ...(thinking === "" ? [] : [{ type: "thinking", thinking, signature: "SIG" }]),
        ...(text === "" ? [] : [{ type: "text", text }]),
        ...calls.map((value, position) => ({
          type: "tool_use",
          id: `toolu_000${position}`,
          name: "f",
          input: JSON.parse(JSON.stringify(value)) as JsonObject,
        })),
      ];
      const reply = {
        id: "msg_0",
        type: "message",
        role: "assistant",
        model: "m",
        content,
        stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
        stop_sequence: null,
        usage: { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output },
      } as JsonObject;
      const expected = {
        content: content.map(({ signature: _signature, ...rest }: JsonObject) => rest),
        stop_reason: reply["stop_reason"],
        usage: { cache_creation_input_tokens: 0, ...(reply["usage"] as JsonObject) },
      };
      const options = { ...writer, seal: sealForChecks, profile: plainReplies };
      const { response } = translateMessage(reply, options);
      const fromResponses = translateResponsesReplyToMessage(
        response as unknown as JsonObject,
        options,
      );
      const chat = translateMessageToChat(reply, options);
      if (!chat.ok) throw new Error(chat.error.message);
      const fromChat = translateChatReplyToMessage(
        chat.completion as unknown as JsonObject,
        options,
      );
      // Through all three wires, in both directions: with the above these are all pairs.
      const chatOfResponse = translateResponsesReply(response as unknown as JsonObject, options);
      if (!chatOfResponse.ok) throw new Error(chatOfResponse.error.message);
      const { response: responseOfChat } = translateChatReply(
        chat.completion as unknown as JsonObject,
        options,
      );
      const aroundByChat = translateChatReplyToMessage(
        chatOfResponse.completion as unknown as JsonObject,
        options,
      );
      const aroundByResponses = translateResponsesReplyToMessage(
        responseOfChat as unknown as JsonObject,
        options,
      );
      for (const result of [fromResponses, fromChat, aroundByChat, aroundByResponses]) {
        if (!result.ok) throw new Error(result.error.error.message);
        const { content: blocks, stop_reason, usage: counts } = result.message;
        const unsigned = blocks.map((entry) => {
          const { signature: _signature, ...rest } = entry as unknown as JsonObject;
          return rest;
        });
        expect({ content: unsigned, stop_reason, usage: counts }).toEqual(expected);
      }
    }),
    propertyRuns(150),
  );
});

/** Text that looks like markup is not separated. */
const plainReplies = { thinkTags: false, startsInsideThink: false, leakedCalls: [] };

test("streamed and complete replies agree", () => {
  fc.assert(
    fc.property(events, (upstream) => {
      const { out } = playMessagesToMessages([encodeEvents(upstream)]);
      const collected = collectMessage(out as unknown as MessageEvent[]);
      if (collected?.ok !== true) return;
      const reply = JSON.stringify(collected.message);
      const again = playMessagesToMessages([reply], { expect: "complete" }).out;
      const second = collectMessage(again as unknown as MessageEvent[]);
      expect(second).toMatchObject({
        ok: true,
        message: { stop_reason: collected.message.stop_reason },
      });
      const responses = collectResponse(
        playMessagesToResponses([reply], { expect: "complete" }).out,
      );
      expect(responses?.status).not.toBe("failed");
      expect(collectChat(playMessagesToChat([reply], { expect: "complete" }).out).ok).toBe(true);
    }),
    propertyRuns(100),
  );
});

test("any Responses history becomes a valid Messages request with all its texts", () => {
  const counts = { accepted: 0, rejected: 0 };
  fc.assert(
    fc.property(arbitraryHistory, fc.boolean(), (input, keepsSystem) => {
      const options = {
        lateSystemMessages: keepsSystem ? ("keep" as const) : ("reminder" as const),
      };
      const body = translateOrReject(() =>
        translateResponsesToMessages(decodeResponsesRequest({ model: "m", input }), options),
      );
      counts[body === undefined ? "rejected" : "accepted"] += 1;
      if (body === undefined) return;
      expect(findMessagesRequestFaults(body)).toEqual([]);
      const chat = translateResponsesRequest(decodeResponsesRequest({ model: "m", input }), {
        profile: { ...genericProfile, toolResultMedia: "parts" },
      });
      // What a Chat upstream receives, a Messages upstream receives too.
      expect(findTexts(body.messages).concat(findTexts(body.system ?? []))).toHaveLength(
        findTexts(chat.body.messages).length,
      );
    }),
    propertyRuns(400),
  );
  expect(counts.accepted).toBeGreaterThan(counts.rejected);
});

test("any Chat history becomes a valid Messages request", () => {
  const counts = { accepted: 0, rejected: 0 };
  fc.assert(
    fc.property(arbitraryHistory, (input) => {
      const chat = translateOrReject(() =>
        translateResponsesRequest(decodeResponsesRequest({ model: "m", input })),
      );
      counts[chat === undefined ? "rejected" : "accepted"] += 1;
      if (chat === undefined) return;
      const { body } = translateChatToMessages(chat);
      expect(findMessagesRequestFaults(body)).toEqual([]);
    }),
    propertyRuns(200),
  );
  expect(counts.accepted).toBeGreaterThan(counts.rejected);
});

const callIds = fc.constantFrom("toolu_a", "toolu_b", "Bash_0", "x".repeat(90));
const content = fc.oneof(
  plain,
  fc.constant(""),
  fc.array(
    fc.oneof(
      plain.map((text) => ({ type: "text", text })),
      fc.constant({ type: "text", text: " " }),
      fc.constant({ type: "image", source: { type: "url", url: "https://example.com/a.png" } }),
    ),
    { maxLength: 3 },
  ),
);
/** Valid turns: the results of all calls follow in the next turn, in any order. */
const turns = fc.array(
  fc.record({
    question: content,
    system: fc.option(plain, { nil: undefined }),
    texts: fc.array(plain, { maxLength: 2 }),
    calls: fc.uniqueArray(callIds, { maxLength: 3 }),
    result: content,
    isReversed: fc.boolean(),
    thinking: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);
type Turn = typeof turns extends fc.Arbitrary<(infer One)[]> ? One : never;

function buildMessages(list: readonly Turn[]): JsonObject[] {
  return list.flatMap(({ question, system, texts, calls, result, isReversed, thinking }) => {
    const results = calls.map((id) => ({ type: "tool_result", tool_use_id: id, content: result }));
    const thought = { type: "thinking", thinking: "Hm.", signature: sealForChecks({}) ?? "" };
    const assistant = [
      ...(thinking ? [thought] : []),
      ...texts.map((text) => ({ type: "text", text })),
      ...calls.map((id) => ({ type: "tool_use", id, name: "f", input: { a: 1 } })),
    ];
    return [
      { role: "user", content: question },
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      ...(assistant.length === 0 ? [] : [{ role: "assistant", content: assistant }]),
      ...(results.length === 0
        ? []
        : [{ role: "user", content: isReversed ? results.toReversed() : results }]),
    ] as JsonObject[];
  });
}

test("any valid Messages history becomes a valid request on every wire", () => {
  fc.assert(
    fc.property(turns, (list) => {
      const messages = [...buildMessages(list), { role: "user", content: "Go on." }];
      const request = decodeMessagesRequest({ model: "m", max_tokens: 9, messages });
      const options = { unseal: unsealForChecks };
      const chat = translateMessagesToChat(request, options).body;
      expect(upstreamRules["tool-adjacency"](chat)).toBeUndefined();
      expect(findMessagesRequestFaults(translateChatToMessages(chat).body)).toEqual([]);
      const responses = translateMessagesToResponses(request, options).body;
      expect(findResponsesRequestFaults(responses)).toEqual([]);
      const { body } = repairMessagesRequest(request);
      expect(body).toBe(request);
      // Every wire has all the texts, results and calls, also after a way back.
      const back = translateChatToMessages(chat).body;
      const expected = list.flatMap(listContents);
      for (const translated of [chat, responses, back]) {
        const sent = collectStrings(translated).join("\n");
        expect(expected.filter((text) => !sent.includes(text))).toEqual([]);
      }
      const callCount = list.reduce((sum, { calls }) => sum + calls.length, 0);
      const items = responses.input as JsonObject[];
      expect(items.filter(({ type }) => type === "function_call")).toHaveLength(callCount);
      expect(items.filter(({ type }) => type === "function_call_output")).toHaveLength(callCount);
    }),
    propertyRuns(300),
  );
});

/** Returns the texts that a turn has, which no translation may lose. */
function listContents({ question, system = "", texts, calls, result }: Turn): string[] {
  const values = [question, system, texts, ...(calls.length > 0 ? [result] : [])];
  return collectStrings(values as JsonValue).filter((text) => text.trim() !== "");
}

/** Returns all strings in a value, except for types and roles. */
function collectStrings(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(collectStrings);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "type" || name === "role" ? [] : collectStrings(inner),
  );
}

/** Returns undefined if a request is rejected. Other errors fail the test. */
function translateOrReject<Body>(run: () => { body: Body }): Body | undefined {
  try {
    return run().body;
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

test("any JSON is decoded as a Messages request or rejected, and then translated or rejected", () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("text", "image", "tool_use", "tool_result"),
  );
  const anyBlock = fc.record(
    {
      type: fc.constantFrom(
        "text",
        "image",
        "document",
        "tool_use",
        "tool_result",
        "thinking",
        "aura",
      ),
      text: value,
      source: value,
      id: callIds,
      tool_use_id: callIds,
      name: value,
      input: fc.oneof(fc.constant({}), value),
      content: value,
      thinking: value,
      signature: value,
    },
    { requiredKeys: ["type"] },
  );
  const request = fc.record(
    {
      model: fc.constant("m"),
      max_tokens: fc.oneof(fc.constant(10), value),
      messages: fc.array(
        fc.record({
          role: fc.constantFrom("user", "assistant", "system"),
          content: fc.oneof(fc.array(anyBlock, { maxLength: 3 }), value),
          output_config: value,
        }),
        { maxLength: 4 },
      ),
      system: value,
      tools: fc.oneof(
        value,
        fc.array(fc.record({ name: value, type: value, input_schema: value })),
      ),
      tool_choice: value,
      thinking: value,
      output_config: value,
      metadata: value,
      stop_sequences: value,
    },
    { requiredKeys: ["model", "max_tokens", "messages"] },
  );
  const error = findError(
    fc.property(request, (candidate) => {
      let decoded: MessagesRequest;
      try {
        decoded = decodeMessagesRequest(candidate);
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        return;
      }
      translateOrReject(() => translateMessagesToChat(decoded));
      translateOrReject(() => translateMessagesToResponses(decoded));
      translateOrReject(() => repairMessagesRequest(decoded));
    }),
    propertyRuns(500),
  );
  expect(error).toBeNull();
});
