import {
  ChatBody,
  Repairs,
  parseUpstreamFailure,
  type UpstreamChatEvent,
  type JsonObject,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { body, call, chunk, usageChunk } from "./chat-chunks.ts";
import {
  getChoices,
  getRepairDetails,
  translateToChat,
  translateToResponses,
} from "./translate-reply.ts";

const textChunk = chunk({ role: "assistant", content: "Hi" });
const callChunk = chunk({
  role: "assistant",
  ...call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' }),
});

const replies = { text: textChunk, "a call": callChunk };

test.each([
  ["text", "eos", "stop"],
  ["text", "end_turn", "stop"],
  ["a call", "tool_use", "tool_calls"],
  ["a call", "function_call", "tool_calls"],
  ["text", "sensitive", "content_filter"],
  ["text", "max_tokens", "length"],
] as const)(
  "the finish reason of %s is changed from %s to %s, with a repair",
  (reply, reason, finish) => {
    const inputs: UpstreamChatEvent[] = [replies[reply], chunk({}, reason), "[DONE]"];
    const chat = translateToChat(inputs);
    expect(getChoices(chat.out).at(-1)?.finish_reason).toBe(finish);
    const record = [{ code: "finish_corrected", choice: 0, detail: reason }];
    expect(chat.repairs.list).toEqual(record);
    expect(translateToResponses(inputs).repairs.list).toEqual(record);
  },
);

test.each([
  ["text", "stop"],
  ["a call", "tool_calls"],
  ["text", "length"],
  ["a call", "length"],
  ["text", "content_filter"],
] as const)("the finish reason of %s is not changed if it is %s", (reply, reason) => {
  const inputs: UpstreamChatEvent[] = [replies[reply], chunk({}, reason), "[DONE]"];
  const chat = translateToChat(inputs);
  expect(getChoices(chat.out).at(-1)?.finish_reason).toBe(reason);
  expect(chat.repairs.list).toEqual([]);
  expect(translateToResponses(inputs).repairs.list).toEqual([]);
});

/** Returns the failures that a Responses client and a Chat client receive. */
function getFailures(inputs: UpstreamChatEvent[]) {
  const { response } = translateToResponses(inputs);
  const last = translateToChat(inputs).out.at(-1);
  return {
    responses: response?.error ?? null,
    chat: last === "[DONE]" ? null : (last?.error ?? null),
  };
}

const chunkWithChoice = (fields: JsonObject) => ({
  ...chunk({}),
  choices: [{ index: 0, delta: {}, finish_reason: null, ...fields }],
});

test.each<[string, UpstreamChatEvent, { code: string; message: string }]>([
  [
    "a vLLM error object instead of a chunk",
    { object: "error", message: "boom", type: "BadRequestError", code: 400 },
    { code: "upstream_error", message: "boom" },
  ],
  [
    "a message and a type without choices",
    { message: "slow down", type: "rate_limit_error" },
    { code: "rate_limit_exceeded", message: "slow down" },
  ],
  ["an error that is a string", { error: "boom" }, { code: "upstream_error", message: "boom" }],
  [
    "a choice with an error",
    chunkWithChoice({ error: { message: "slow down", code: 429 } }),
    { code: "rate_limit_exceeded", message: "slow down" },
  ],
  [
    "a choice with an error that is a string",
    chunkWithChoice({ error: "overloaded" }),
    { code: "server_is_overloaded", message: "overloaded" },
  ],
  [
    "a choice with an error and finish_reason error",
    chunkWithChoice({
      finish_reason: "error",
      error: { message: "boom", code: "tool_use_failed" },
    }),
    { code: "tool_use_failed", message: "boom" },
  ],
])("%s is a failure with the provider's message", (_title, input, failure) => {
  for (const inputs of [
    [textChunk, input, "[DONE]"],
    [input, "[DONE]"],
  ] as UpstreamChatEvent[][]) {
    const { responses, chat } = getFailures(inputs);
    expect(responses).toEqual(failure);
    expect(chat).toMatchObject(failure);
  }
});

test.each([[""], [false], [null]])("an error field of %j is ignored", (error) => {
  const inputs: UpstreamChatEvent[] = [
    { ...textChunk, error },
    chunkWithChoice({ error }),
    { ...chunk({}, "stop"), error },
    "[DONE]",
  ];
  const { response, repairs } = translateToResponses(inputs);
  expect(response).toMatchObject({ status: "completed", error: null });
  expect(repairs.list).toEqual([]);
  expect(translateToChat(inputs).out.at(-1)).toBe("[DONE]");
});

test("an error together with a finish reason is ignored, with a repair that contains its message", () => {
  const error = { message: "a second call could not be read", code: 502 };
  const inputs: UpstreamChatEvent[] = [
    callChunk,
    chunkWithChoice({ finish_reason: "tool_calls", error }),
    "[DONE]",
  ];
  const responses = translateToResponses(inputs);
  expect(responses.output).toMatchObject([{ type: "function_call", status: "completed" }]);
  expect(responses.response).toMatchObject({ status: "completed", error: null });
  const record = [{ code: "error_ignored", choice: 0, detail: JSON.stringify(error) }];
  expect(responses.repairs.list).toEqual(record);
  const chat = translateToChat(inputs);
  expect(chat.out.at(-1)).toBe("[DONE]");
  expect(chat.repairs.list).toEqual(record);
});

test("a reply that has only invalid JSON and [DONE] is a failure with the invalid text as its message", () => {
  const repairs = new Repairs();
  const reader = new ChatBody({ repairs });
  const inputs: UpstreamChatEvent[] = [];
  const reads = ["data: : keep-alive\n\n", "data: upstream connect error\n\n", "data: [DONE]\n\n"];
  for (const read of reads) reader.push(read, inputs);
  reader.end("eof", inputs);
  const { responses, chat } = getFailures(inputs);
  expect(responses).toEqual({ code: "upstream_error", message: "upstream connect error" });
  expect(chat).toMatchObject({ message: "upstream connect error" });
  expect(getRepairDetails(repairs, "event_not_json")).toContain("upstream connect error");
});

test.each(["<!DOCTYPE html><p>Hi", "\n<!-- a --> <html lang='en'>", "<head>\n\n<title>Ä</title>"])(
  "a web page as the reply is reported, however it is split: %j",
  (page) => {
    const bytes = new TextEncoder().encode(page);
    for (const size of [1, 3, bytes.length]) {
      const reader = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder() });
      const inputs: UpstreamChatEvent[] = [];
      for (let offset = 0; offset < bytes.length; offset += size)
        reader.push(bytes.subarray(offset, offset + size), inputs);
      reader.end("eof", inputs);
      expect(getFailures(inputs).responses).toEqual({
        code: "upstream_web_page",
        message: expect.stringMatching(
          /^the upstream returned a web page \(text\/html\) instead of an API reply: ./,
        ) as string,
      });
    }
  },
);

test("a web page after many comments is detected in linear time", () => {
  const reader = new ChatBody({ repairs: new Repairs() });
  const inputs: UpstreamChatEvent[] = [];
  reader.push(`${"<!---->".repeat(1000)}x`, inputs);
  reader.end("eof", inputs);
  expect(getFailures(inputs).responses?.code).toBe("upstream_error");
});

test("events that are not JSON are skipped within a reply, with a repair", () => {
  const repairs = new Repairs();
  const reader = new ChatBody({ repairs });
  const inputs: UpstreamChatEvent[] = [];
  const [hi = "", ...rest] = body([textChunk, chunk({}, "stop")]);
  for (const read of ["data: oops\n\n", hi, "data: oops\n\n", ...rest]) reader.push(read, inputs);
  reader.end("eof", inputs);
  expect(getFailures(inputs)).toEqual({ responses: null, chat: null });
  expect(getRepairDetails(repairs, "event_not_json")).toEqual(["oops", "oops"]);
});

test.each([[{}], [{ cost: 0 }], [{ prompt_tokens: "11" }], [null]])(
  "a usage of %j does not replace one with counts",
  (later) => {
    const { response } = translateToResponses([
      textChunk,
      { ...chunk({}, "stop"), usage: later },
      usageChunk(),
      { ...usageChunk(), usage: later },
      "[DONE]",
    ]);
    expect(response?.usage).toEqual({
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 18,
    });
  },
);

test("words in the message of a rejected request do not turn it into an overload or rate limit error", () => {
  const message = "no such model; there are: clean, overloaded, rate limit";
  expect(parseUpstreamFailure({ status: 404, code: "model_not_found", message }).code).toBe(
    "model_not_found",
  );
  expect(parseUpstreamFailure({ message: "the server is overloaded" }).code).toBe(
    "server_is_overloaded",
  );
  expect(parseUpstreamFailure({ status: 500, message: "rate limit reached" }).code).toBe(
    "rate_limit_exceeded",
  );
});
