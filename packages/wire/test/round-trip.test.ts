import {
  chatOfChat,
  chatOfResponse,
  ChatOverResponses,
  chatRequest,
  collectChat,
  genericProfile,
  responseOfChat,
  ResponsesOverChat,
  responsesRequest,
  withFlags,
  type ChatInput,
  type ChatMessage,
  type ChatOutput,
  type JsonObject,
  type ResponseEvent,
  type ResponsesInput,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { responsesRequestFaults } from "../check/responses-rules.ts";
import { upstreamRules } from "../check/upstream-rules.ts";
import { chunk, usageChunk } from "./chat-stream.ts";
import { history as anyHistory, send, words } from "./histories.ts";

/* What goes through both wires comes back as it was. */

const counter = () => {
  let count = 0;
  return (prefix: string) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
};

const someText = fc
  .string({ minLength: 1 })
  .filter((text) => text.trim() !== "" && !text.includes("<"));
/** Words that nothing takes for markup or for blanks around it. */
const sayable = someText.map((text) => `a${text}`);
const reply = fc.record({
  reasoning: fc.option(someText, { nil: "" }),
  text: fc.option(someText, { nil: "" }),
  calls: fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })), { maxLength: 3 }),
  cut: fc.boolean(),
});

function completionOf({
  reasoning,
  text,
  calls,
  cut,
}: {
  reasoning: string;
  text: string;
  calls: object[];
  cut: boolean;
}): JsonObject {
  const finish = cut ? "length" : calls.length > 0 ? "tool_calls" : "stop";
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
                tool_calls: calls.map((args, nth) => ({
                  id: `call_abc${nth}`,
                  type: "function",
                  function: { name: `tool_${nth}`, arguments: JSON.stringify(args) },
                })),
              }),
        },
        finish_reason: finish,
      },
    ],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  };
}

/** What a completion says, without the envelope. */
function said(completion: JsonObject): unknown {
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

test("a whole reply: Chat, Responses, Chat", () => {
  fc.assert(
    fc.property(reply, (given) => {
      const completion = completionOf(given);
      const { response } = responseOfChat(completion, {
        responseId: "resp_1",
        newId: counter(),
        createdAt: 1,
      });
      const back = chatOfResponse(response as JsonObject, { newId: counter(), createdAt: 1 });
      if (!back.ok) throw new Error(back.error.message);
      expect(said(back.completion as unknown as JsonObject)).toEqual(said(completion));
    }),
    runs(300),
  );
});

test("a stream: Chat, Responses, Chat", () => {
  fc.assert(
    fc.property(reply, (given) => {
      const completion = completionOf(given);
      const [choice] = completion["choices"] as JsonObject[];
      const message = choice?.["message"] as JsonObject;
      const calls = (message["tool_calls"] ?? []) as JsonObject[];
      const inputs: ChatInput[] = [
        chunk({ reasoning_content: message["reasoning_content"] ?? "" }),
        chunk({ content: message["content"] ?? "" }),
        ...calls.map((call, index) => chunk({ tool_calls: [{ ...call, index }] })),
        chunk({}, choice?.["finish_reason"] as string),
        usageChunk(),
        "[DONE]",
      ];
      const toResponses = new ResponsesOverChat({
        responseId: "resp_1",
        newId: counter(),
        createdAt: 1,
      });
      const toChat = new ChatOverResponses({ newId: counter(), createdAt: 1 });
      const out: ChatOutput[] = [];
      for (const input of inputs) {
        const events: ResponseEvent[] = [];
        toResponses.push(input, events);
        for (const event of events) toChat.push(event as unknown as ResponsesInput, out);
      }
      const back = collectChat(out);
      if (!back.ok) throw new Error(back.error.message);
      expect(said(back.completion as unknown as JsonObject)).toEqual(said(completion));
    }),
    runs(300),
  );
});

test("a whole reply: Responses, Chat, Responses", () => {
  fc.assert(
    fc.property(reply, (given) => {
      const first = responseOfChat(completionOf(given), {
        responseId: "resp_1",
        newId: counter(),
        createdAt: 1,
      }).response;
      const chat = chatOfResponse(first as JsonObject, { newId: counter(), createdAt: 1 });
      if (!chat.ok) throw new Error(chat.error.message);
      const repaired = chatOfChat(chat.completion as unknown as JsonObject, {
        newId: counter(),
        createdAt: 1,
      });
      if (!repaired.ok) throw new Error(repaired.error.message);
      const second = responseOfChat(repaired.completion as unknown as JsonObject, {
        responseId: "resp_1",
        newId: counter(),
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
    runs(300),
  );
});

/** Legal Chat histories: turns of a user, perhaps answered, with calls and all their results. */
const history = fc
  .array(
    fc.record({
      said: someText,
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
    turns.flatMap(({ said: text, answer, reasoning, calls }, turn): ChatMessage[] => {
      const id = (nth: number) => `call_${turn}_${nth}`;
      const messages: ChatMessage[] = [{ role: "user", content: text }];
      if (calls.length > 0)
        messages.push(
          {
            role: "assistant",
            content: null,
            ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
            tool_calls: calls.map(({ custom, args }, nth) =>
              custom
                ? {
                    id: id(nth),
                    type: "custom",
                    custom: { name: "patch", input: JSON.stringify(args) },
                  }
                : {
                    id: id(nth),
                    type: "function",
                    function: { name: "weather", arguments: JSON.stringify(args) },
                  },
            ),
          },
          ...calls.map(({ result }, nth): ChatMessage => ({
            role: "tool",
            tool_call_id: id(nth),
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
const native = withFlags(genericProfile, {
  customTools: "native",
  reasoningField: "reasoning_content",
  reasoningRange: "all",
});

test("a legal Chat history is a legal Responses request, and comes back with every word, call and result", () => {
  fc.assert(
    fc.property(history, (messages) => {
      const { body } = responsesRequest({ model: "m", messages, tools });
      expect(responsesRequestFaults(body)).toEqual([]);
      const back = chatRequest(body, { profile: native }).body;
      expect(upstreamRules["tool-adjacency"](back)).toBeUndefined();
      const plain = (list: ChatMessage[]) =>
        list.map((message) => {
          const { reasoning_content: _dropped, ...rest } = message as JsonObject;
          return rest;
        });
      expect(plain(back.messages)).toEqual(plain(messages));
      expect(back.tools).toEqual(tools);
    }),
    runs(300),
  );
});

test("any Responses history, through Chat and back, is a legal request and loses no word", () => {
  fc.assert(
    fc.property(anyHistory, (input) => {
      const chat = send(input, native);
      const { body } = responsesRequest({ ...chat, store: true });
      expect(responsesRequestFaults(body)).toEqual([]);
      expect(words(body.input)).toEqual(words(chat.messages));
    }),
    runs(400),
  );
});

test("the reasoning of the current turn comes back from the other wire", () => {
  const input = [
    { role: "user", content: "go" },
    { type: "reasoning", summary: [{ type: "summary_text", text: "I must look." }] },
    { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: "ok" },
  ];
  const { body } = responsesRequest({ ...send(input, native), store: true });
  expect(body.input).toEqual([{ type: "message", ...input[0] }, ...input.slice(1)]);
});

/** Responses of any items in any order, as one wire has them and the other does not. */
const outputItem = fc.oneof(
  sayable.map((text) => ({ type: "message", content: [{ type: "output_text", text }] })),
  sayable.map((text) => ({ type: "reasoning", summary: [{ type: "summary_text", text }] })),
  fc.dictionary(fc.string(), fc.string(), { minKeys: 1 }).map((args) => ({
    type: "function_call",
    name: "weather",
    arguments: JSON.stringify(args),
  })),
  sayable.map((input) => ({ type: "custom_tool_call", name: "patch", input })),
);

test("responses of any items keep text, reasoning, calls and usage: Responses, Chat, Responses", () => {
  fc.assert(
    fc.property(fc.array(outputItem, { maxLength: 6 }), (items) => {
      const output = items.map((item, nth) => ({
        id: `i_${nth}`,
        call_id: `call_abc${nth}`,
        ...item,
      }));
      const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
      const first = { id: "resp_1", status: "completed", output, usage } as unknown as JsonObject;
      const options = { newId: counter(), createdAt: 1 };
      const chat = chatOfResponse(first, options);
      if (!chat.ok) throw new Error(chat.error.message);
      const completion = chat.completion as unknown as JsonObject;
      const { response } = responseOfChat(completion, { ...options, responseId: "resp_2" });
      expect(saidBy(response.output)).toEqual(saidBy(output));
      expect(response.usage).toMatchObject(usage);
    }),
    runs(300),
  );
});

/** What items say, kind by kind: the order between kinds has no place in a Chat message. */
function saidBy(output: readonly object[]): unknown {
  const of = (type: string) => (output as JsonObject[]).filter((item) => item["type"] === type);
  const texts = (list: unknown) => (list as { text: string }[]).map(({ text }) => text).join("");
  return {
    text: of("message")
      .map((item) => texts(item["content"]))
      .join(""),
    reasoning: of("reasoning")
      .map((item) => texts(item["summary"]))
      .join(""),
    calls: [...of("function_call"), ...of("custom_tool_call")]
      .map(({ call_id, name, arguments: args, input }) =>
        JSON.stringify([call_id, name, args ?? input]),
      )
      .toSorted(),
  };
}
