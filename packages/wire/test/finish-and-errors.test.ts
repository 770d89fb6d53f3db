import {
  ChatBody,
  Repairs,
  upstreamFailure,
  type ChatInput,
  type JsonObject,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { body, call, chunk, usageChunk } from "./chat-stream.ts";
import { choicesIn, detailsOf, toChat, toResponses } from "./reply-translations.ts";

const said = chunk({ role: "assistant", content: "Hi" });
const called = chunk({
  role: "assistant",
  ...call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' }),
});

const replies = { text: said, "a call": called };

test.each([
  ["text", "eos", "stop"],
  ["text", "end_turn", "stop"],
  ["a call", "tool_use", "tool_calls"],
  ["a call", "function_call", "tool_calls"],
  ["text", "sensitive", "content_filter"],
  ["text", "max_tokens", "length"],
] as const)(
  "%s that finishes with the word %s has the finish %s, and the word is on record",
  (reply, word, finish) => {
    const inputs: ChatInput[] = [replies[reply], chunk({}, word), "[DONE]"];
    const chat = toChat(inputs);
    expect(choicesIn(chat.out).at(-1)?.finish_reason).toBe(finish);
    const record = [{ code: "finish_corrected", choice: 0, detail: word }];
    expect(chat.repairs.list).toEqual(record);
    expect(toResponses(inputs).repairs.list).toEqual(record);
  },
);

test.each([
  ["text", "stop"],
  ["a call", "tool_calls"],
  ["text", "length"],
  ["a call", "length"],
  ["text", "content_filter"],
] as const)("%s that finishes with the word %s has nothing to correct", (reply, word) => {
  const inputs: ChatInput[] = [replies[reply], chunk({}, word), "[DONE]"];
  const chat = toChat(inputs);
  expect(choicesIn(chat.out).at(-1)?.finish_reason).toBe(word);
  expect(chat.repairs.list).toEqual([]);
  expect(toResponses(inputs).repairs.list).toEqual([]);
});

/** What both clients are told of the failure. */
function failures(inputs: ChatInput[]) {
  const { response } = toResponses(inputs);
  const last = toChat(inputs).out.at(-1);
  return {
    responses: response?.error ?? null,
    chat: last === "[DONE]" ? null : (last?.error ?? null),
  };
}

const choiceWith = (fields: JsonObject) => ({
  ...chunk({}),
  choices: [{ index: 0, delta: {}, finish_reason: null, ...fields }],
});

test.each<[string, ChatInput, { code: string; message: string }]>([
  [
    "vLLM's error instead of a chunk",
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
    choiceWith({ error: { message: "slow down", code: 429 } }),
    { code: "rate_limit_exceeded", message: "slow down" },
  ],
  [
    "a choice with an error that is a string",
    choiceWith({ error: "overloaded" }),
    { code: "server_is_overloaded", message: "overloaded" },
  ],
  [
    "a choice with an error beside the finish word error",
    choiceWith({ finish_reason: "error", error: { message: "boom", code: "tool_use_failed" } }),
    { code: "tool_use_failed", message: "boom" },
  ],
])("%s is a failure, with its words", (_form, input, failure) => {
  for (const inputs of [
    [said, input, "[DONE]"],
    [input, "[DONE]"],
  ] as ChatInput[][]) {
    const { responses, chat } = failures(inputs);
    expect(responses).toEqual(failure);
    expect(chat).toMatchObject(failure);
  }
});

test.each([[""], [false], [null]])("an error %j is none", (error) => {
  const inputs: ChatInput[] = [
    { ...said, error },
    choiceWith({ error }),
    { ...chunk({}, "stop"), error },
    "[DONE]",
  ];
  const { response, repairs } = toResponses(inputs);
  expect(response).toMatchObject({ status: "completed", error: null });
  expect(repairs.list).toEqual([]);
  expect(toChat(inputs).out.at(-1)).toBe("[DONE]");
});

test("an error beside a good finish is ignored, and its words are on record", () => {
  const error = { message: "a second call could not be read", code: 502 };
  const inputs: ChatInput[] = [
    called,
    choiceWith({ finish_reason: "tool_calls", error }),
    "[DONE]",
  ];
  const responses = toResponses(inputs);
  expect(responses.output).toMatchObject([{ type: "function_call", status: "completed" }]);
  expect(responses.response).toMatchObject({ status: "completed", error: null });
  const record = [{ code: "error_ignored", choice: 0, detail: JSON.stringify(error) }];
  expect(responses.repairs.list).toEqual(record);
  const chat = toChat(inputs);
  expect(chat.out.at(-1)).toBe("[DONE]");
  expect(chat.repairs.list).toEqual(record);
});

test("nothing but unreadable words and then the sentinel is a failure with these words", () => {
  const repairs = new Repairs();
  const reader = new ChatBody({ repairs });
  const inputs: ChatInput[] = [];
  const reads = ["data: : keep-alive\n\n", "data: upstream connect error\n\n", "data: [DONE]\n\n"];
  for (const read of reads) reader.push(read, inputs);
  reader.end("eof", inputs);
  const { responses, chat } = failures(inputs);
  expect(responses).toEqual({ code: "upstream_error", message: "upstream connect error" });
  expect(chat).toMatchObject({ message: "upstream connect error" });
  expect(detailsOf(repairs, "event_not_json")).toContain("upstream connect error");
});

test.each(["<!DOCTYPE html><p>Hi", "\n<!-- a --> <html lang='en'>", "<head>\n\n<title>Ä</title>"])(
  "a web page is named as one, wherever its bytes are cut: %j",
  (page) => {
    const bytes = new TextEncoder().encode(page);
    for (const size of [1, 3, bytes.length]) {
      const reader = new ChatBody({ repairs: new Repairs(), utf8: new TextDecoder() });
      const inputs: ChatInput[] = [];
      for (let at = 0; at < bytes.length; at += size)
        reader.push(bytes.subarray(at, at + size), inputs);
      reader.end("eof", inputs);
      expect(failures(inputs).responses).toEqual({
        code: "upstream_web_page",
        message: expect.stringMatching(
          /^the upstream answered a web page \(text\/html\), not an API: ./,
        ) as string,
      });
    }
  },
);

test("looking for a web page behind many comments takes no time", () => {
  const reader = new ChatBody({ repairs: new Repairs() });
  const inputs: ChatInput[] = [];
  reader.push(`${"<!---->".repeat(1000)}x`, inputs);
  reader.end("eof", inputs);
  expect(failures(inputs).responses?.code).toBe("upstream_error");
});

test("unreadable words beside a reply are skipped, and counted", () => {
  const repairs = new Repairs();
  const reader = new ChatBody({ repairs });
  const inputs: ChatInput[] = [];
  const [hi = "", ...rest] = body([said, chunk({}, "stop")]);
  for (const read of ["data: oops\n\n", hi, "data: oops\n\n", ...rest]) reader.push(read, inputs);
  reader.end("eof", inputs);
  expect(failures(inputs)).toEqual({ responses: null, chat: null });
  expect(detailsOf(repairs, "event_not_json")).toEqual(["oops", "oops"]);
});

test.each([[{}], [{ cost: 0 }], [{ prompt_tokens: "11" }], [null]])(
  "a usage %j counts nothing, and does not replace one that does",
  (later) => {
    const { response } = toResponses([
      said,
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

test("what a refused request's words happen to quote does not make the server a busy one", () => {
  const message = "no such model; there are: clean, overloaded, rate limit";
  expect(upstreamFailure({ status: 404, code: "model_not_found", message }).code).toBe(
    "model_not_found",
  );
  expect(upstreamFailure({ message: "the server is overloaded" }).code).toBe(
    "server_is_overloaded",
  );
  expect(upstreamFailure({ status: 500, message: "rate limit reached" }).code).toBe(
    "rate_limit_exceeded",
  );
});
