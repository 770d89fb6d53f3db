import {
  repairChatReply,
  translateResponsesReply,
  ChatOverResponses,
  translateResponsesRequest,
  collectChat,
  genericProfile,
  translateChatReply,
  ResponsesOverChat,
  translateChatRequest,
  withProfileFlags,
  type UpstreamChatEvent,
  type ChatMessage,
  type ChatStreamEvent,
  type JsonObject,
  type ResponseEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { findResponsesRequestFaults } from "../check/responses-rules.ts";
import { upstreamRules } from "../check/upstream-rules.ts";
import { chunk, usageChunk } from "./chat-chunks.ts";
import {
  arbitraryHistory as anyHistory,
  translateHistory,
  findTexts,
} from "./arbitrary-histories.ts";

/* Translating to the other wire and back must preserve the content. */

const createCounter = () => {
  let count = 0;
  return (prefix: string) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
};

const someText = fc
  .string({ minLength: 1 })
  .filter((text) => text.trim() !== "" && !text.includes("<"));
/** Words without markup and surrounding white space. */
const plainText = someText.map((text) => `a${text}`);
const reply = fc.record({
  reasoning: fc.option(someText, { nil: "" }),
  text: fc.option(someText, { nil: "" }),
  calls: fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })), { maxLength: 3 }),
  isTruncated: fc.boolean(),
});

function createCompletion({
  reasoning,
  text,
  calls,
  isTruncated,
}: {
  reasoning: string;
  text: string;
  calls: object[];
  isTruncated: boolean;
}): JsonObject {
  const finish = isTruncated ? "length" : calls.length > 0 ? "tool_calls" : "stop";
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" ? null : text,
          ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((args, index) => ({
                  id: `call_abc${index}`,
                  type: "function",
                  function: { name: `tool_${index}`, arguments: JSON.stringify(args) },
                })),
              }),
        },
        finish_reason: finish,
      },
    ],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  };
}

/** Returns the content of a completion without its envelope. */
function getContent(completion: JsonObject): unknown {
  const choice = (completion["choices"] as JsonObject[])[0] ?? {};
  const message = choice["message"] as JsonObject;
  const usage = completion["usage"] as JsonObject;
  return {
    text: message["content"] ?? "",
    reasoning: message["reasoning_content"] ?? "",
    calls: message["tool_calls"] ?? [],
    finish: choice["finish_reason"],
    usage: [usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]],
  };
}

test("a complete Chat reply is the same after translation to Responses and back", () => {
  fc.assert(
    fc.property(reply, (fields) => {
      const completion = createCompletion(fields);
      const { response } = translateChatReply(completion, {
        responseId: "resp_1",
        newId: createCounter(),
        createdAt: 1,
      });
      const translatedBack = translateResponsesReply(response as JsonObject, {
        newId: createCounter(),
        createdAt: 1,
      });
      if (!translatedBack.ok) throw new Error(translatedBack.error.message);
      expect(getContent(translatedBack.completion as unknown as JsonObject)).toEqual(
        getContent(completion),
      );
    }),
    propertyRuns(300),
  );
});

test("a Chat stream is the same after translation to Responses and back", () => {
  fc.assert(
    fc.property(reply, (fields) => {
      const completion = createCompletion(fields);
      const [choice] = completion["choices"] as JsonObject[];
      const message = choice?.["message"] as JsonObject;
      const calls = (message["tool_calls"] ?? []) as JsonObject[];
      const inputs: UpstreamChatEvent[] = [
        chunk({ reasoning_content: message["reasoning_content"] ?? "" }),
        chunk({ content: message["content"] ?? "" }),
        ...calls.map((call, index) => chunk({ tool_calls: [{ ...call, index }] })),
        chunk({}, choice?.["finish_reason"] as string),
        usageChunk(),
        "[DONE]",
      ];
      const toResponses = new ResponsesOverChat({
        responseId: "resp_1",
        newId: createCounter(),
        createdAt: 1,
      });
      const toChat = new ChatOverResponses({ newId: createCounter(), createdAt: 1 });
      const out: ChatStreamEvent[] = [];
      for (const input of inputs) {
        const events: ResponseEvent[] = [];
        toResponses.push(input, events);
        for (const event of events) toChat.push(event as unknown as UpstreamResponseEvent, out);
      }
      const translatedBack = collectChat(out);
      if (!translatedBack.ok) throw new Error(translatedBack.error.message);
      expect(getContent(translatedBack.completion as unknown as JsonObject)).toEqual(
        getContent(completion),
      );
    }),
    propertyRuns(300),
  );
});

test("a complete Responses reply is the same after translation to Chat and back", () => {
  fc.assert(
    fc.property(reply, (fields) => {
      const first = translateChatReply(createCompletion(fields), {
        responseId: "resp_1",
        newId: createCounter(),
        createdAt: 1,
      }).response;
      const chat = translateResponsesReply(first as JsonObject, {
        newId: createCounter(),
        createdAt: 1,
      });
      if (!chat.ok) throw new Error(chat.error.message);
      const repaired = repairChatReply(chat.completion as unknown as JsonObject, {
        newId: createCounter(),
        createdAt: 1,
      });
      if (!repaired.ok) throw new Error(repaired.error.message);
      const second = translateChatReply(repaired.completion as unknown as JsonObject, {
        responseId: "resp_1",
        newId: createCounter(),
        createdAt: 1,
      }).response;
      const items = (response: typeof first) => response.output.map(({ id: _id, ...item }) => item);
      expect(items(second)).toEqual(items(first));
      expect([second.status, second.usage, second.incomplete_details]).toEqual([
        first.status,
        first.usage,
        first.incomplete_details,
      ]);
    }),
    propertyRuns(300),
  );
});

/** Valid Chat histories: user turns, optionally answered, with calls and all their results. */
const history = fc
  .array(
    fc.record({
      question: someText,
      answer: fc.option(someText, { nil: undefined }),
      reasoning: fc.option(someText, { nil: undefined }),
      calls: fc.array(
        fc.record({
          custom: fc.boolean(),
          args: fc.dictionary(fc.string(), fc.string()),
          result: someText,
        }),
        { maxLength: 3 },
      ),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((turns) =>
    turns.flatMap(({ question, answer, reasoning, calls }, turn): ChatMessage[] => {
      const id = (index: number) => `call_${turn}_${index}`;
      const messages: ChatMessage[] = [{ role: "user", content: question }];
      if (calls.length > 0)
        messages.push(
          {
            role: "assistant",
            content: null,
            ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
            tool_calls: calls.map(({ custom, args }, index) =>
              custom
                ? {
                    id: id(index),
                    type: "custom",
                    custom: { name: "patch", input: JSON.stringify(args) },
                  }
                : {
                    id: id(index),
                    type: "function",
                    function: { name: "weather", arguments: JSON.stringify(args) },
                  },
            ),
          },
          ...calls.map(({ result }, index): ChatMessage => ({
            role: "tool",
            tool_call_id: id(index),
            content: result,
          })),
        );
      if (answer !== undefined) messages.push({ role: "assistant", content: answer });
      return messages;
    }),
  );

const tools = [
  {
    type: "function" as const,
    function: { name: "weather", parameters: { type: "object", properties: {} } },
  },
  { type: "custom" as const, custom: { name: "patch" } },
];
const native = withProfileFlags(genericProfile, {
  customTools: "native",
  reasoningField: "reasoning_content",
  reasoningRange: "all",
});

test("a valid Chat history is the same after translation to a valid Responses request and back", () => {
  fc.assert(
    fc.property(history, (messages) => {
      const { body } = translateChatRequest({ model: "m", messages, tools });
      expect(findResponsesRequestFaults(body)).toEqual([]);
      const translatedBack = translateResponsesRequest(body, { profile: native }).body;
      expect(upstreamRules["tool-adjacency"](translatedBack)).toBeUndefined();
      const withoutReasoning = (list: ChatMessage[]) =>
        list.map((message) => {
          const { reasoning_content: _dropped, ...rest } = message as JsonObject;
          return rest;
        });
      expect(withoutReasoning(translatedBack.messages)).toEqual(withoutReasoning(messages));
      expect(translatedBack.tools).toEqual(tools);
    }),
    propertyRuns(300),
  );
});

test("any Responses history is a valid request without lost text after translation to Chat and back", () => {
  fc.assert(
    fc.property(anyHistory, (input) => {
      const chat = translateHistory(input, native);
      const { body } = translateChatRequest({ ...chat, store: true });
      expect(findResponsesRequestFaults(body)).toEqual([]);
      expect(findTexts(body.input)).toEqual(findTexts(chat.messages));
    }),
    propertyRuns(400),
  );
});

test("the reasoning of the current turn is preserved in a Responses history after translation to Chat and back", () => {
  const input = [
    { role: "user", content: "go" },
    { type: "reasoning", summary: [{ type: "summary_text", text: "I must look." }] },
    { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: "ok" },
  ];
  const { body } = translateChatRequest({ ...translateHistory(input, native), store: true });
  expect(body.input).toEqual([{ type: "message", ...input[0] }, ...input.slice(1)]);
});

/** Any output item, including those that the other wire lacks. */
const outputItem = fc.oneof(
  plainText.map((text) => ({ type: "message", content: [{ type: "output_text", text }] })),
  plainText.map((text) => ({ type: "reasoning", summary: [{ type: "summary_text", text }] })),
  fc.dictionary(fc.string(), fc.string(), { minKeys: 1 }).map((args) => ({
    type: "function_call",
    name: "weather",
    arguments: JSON.stringify(args),
  })),
  plainText.map((input) => ({ type: "custom_tool_call", name: "patch", input })),
);

test("a response with any items keeps its text, reasoning, calls and usage after translation to Chat and back", () => {
  fc.assert(
    fc.property(fc.array(outputItem, { maxLength: 6 }), (items) => {
      const output = items.map((item, index) => ({
        id: `i_${index}`,
        call_id: `call_abc${index}`,
        ...item,
      }));
      const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
      const first = { id: "resp_1", status: "completed", output, usage } as unknown as JsonObject;
      const options = { newId: createCounter(), createdAt: 1 };
      const chat = translateResponsesReply(first, options);
      if (!chat.ok) throw new Error(chat.error.message);
      const completion = chat.completion as unknown as JsonObject;
      const { response } = translateChatReply(completion, { ...options, responseId: "resp_2" });
      expect(getItemContent(response.output)).toEqual(getItemContent(output));
      expect(response.usage).toMatchObject(usage);
    }),
    propertyRuns(300),
  );
});

/** Returns the content of items by kind, since a Chat message has no order between kinds. */
function getItemContent(output: readonly object[]): unknown {
  const itemsOfType = (type: string) =>
    (output as JsonObject[]).filter((item) => item["type"] === type);
  const texts = (list: unknown) => (list as { text: string }[]).map(({ text }) => text).join("");
  return {
    text: itemsOfType("message")
      .map((item) => texts(item["content"]))
      .join(""),
    reasoning: itemsOfType("reasoning")
      .map((item) => texts(item["summary"]))
      .join(""),
    calls: [...itemsOfType("function_call"), ...itemsOfType("custom_tool_call")]
      .map(({ call_id, name, arguments: args, input }) =>
        JSON.stringify([call_id, name, args ?? input]),
      )
      .toSorted(),
  };
}
