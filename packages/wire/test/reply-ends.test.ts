import {
  ChatBody,
  ChatOverChat,
  ChatOverResponses,
  connectTranslators,
  Repairs,
  ReplyBudget,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  UpstreamReply,
  type ChatInput,
  type ClientTranslator,
  type ResponseObject,
  type ResponsesInput,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { newIds } from "./reply-translations.ts";

const common = () => ({ newId: newIds(), createdAt: 1, responseId: "resp_1" });

const chatUpstream = {
  text: { choices: [{ index: 0, delta: { content: "Hi" } }] },
  finish: { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  cut: { choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
  last: "[DONE]",
  error: { error: { message: "slow down", code: 429 } },
} as unknown as Record<"text" | "finish" | "cut" | "last" | "error", ChatInput>;

const item = { id: "msg_1", type: "message", role: "assistant" };
const part = { item_id: "msg_1", output_index: 0, content_index: 0 };
const responsesUpstream = {
  text: { type: "response.output_text.delta", ...part, delta: "Hi" },
  finish: { type: "response.output_item.done", output_index: 0, item: { ...item, content: [] } },
  cut: { type: "response.incomplete", response: { status: "incomplete", output: [] } },
  last: { type: "response.completed", response: { status: "completed", output: [] } },
  error: { type: "error", error: { message: "slow down", code: 429 } },
} as unknown as Record<"text" | "finish" | "cut" | "last" | "error", ResponsesInput>;

const chatToWhole = (): ClientTranslator<ResponsesInput, unknown> =>
  connectTranslators(
    new ChatOverResponses(common()),
    new ChatOverChat({ ...common(), toolCalls: "whole" }),
  );

describe.each([
  ["Responses over Chat", chatUpstream, () => new ResponsesOverChat(common())],
  ["Chat over Chat", chatUpstream, () => new ChatOverChat(common())],
  ["Chat over Responses", responsesUpstream, () => new ChatOverResponses(common())],
  ["Chat with complete calls over Responses", responsesUpstream, chatToWhole],
  ["Responses over Responses", responsesUpstream, () => new ResponsesOverResponses(common())],
])("%s", (_name, inputs, make) => {
  const translated = (...names: (keyof typeof inputs)[]) => {
    const translator = make() as ClientTranslator<unknown, unknown>;
    const out: unknown[] = [];
    for (const name of names) translator.push(inputs[name], out);
    return { translator, out };
  };

  test("has not ended while a terminal event is to come", () => {
    const { translator } = translated("text", "finish");
    expect([translator.ended, translator.failure]).toEqual([false, undefined]);
  });

  test("has ended without a failure when the upstream has completed the reply", () => {
    const { translator, out } = translated("text", "finish", "last");
    expect([translator.ended, translator.failure]).toEqual([true, undefined]);
    const length = out.length;
    translator.end("eof", out);
    expect(out).toHaveLength(length);
  });

  test("has ended without a failure when the reply was cut by a limit of tokens", () => {
    const { translator, out } = translated("text", "cut");
    translator.end("eof", out);
    expect([translator.ended, translator.failure]).toEqual([true, undefined]);
  });

  test("has the failure when the upstream reports it, and ends with the connection", () => {
    const { translator, out } = translated("text", "error");
    const failure = { code: "rate_limit_exceeded", message: "slow down" };
    expect([translator.ended, translator.failure]).toMatchObject([false, failure]);
    translator.end("eof", out);
    expect([translator.ended, translator.failure]).toMatchObject([true, failure]);
  });

  test("fails a reply that breaks off", () => {
    const { translator, out } = translated("text");
    translator.end("transport_error", out);
    expect(translator.ended).toBe(true);
    expect(translator.failure).toMatchObject({ code: "upstream_stream_truncated" });
  });

  test("ends with a failure from outside, and with that of the upstream if there is one", () => {
    const tooLarge = { code: "reply_too_large", message: "too large" };
    const own = translated("text");
    own.translator.fail(tooLarge, own.out);
    expect([own.translator.ended, own.translator.failure]).toMatchObject([true, tooLarge]);
    expect(JSON.stringify(own.out.at(-1))).toContain("reply_too_large");
    const reported = translated("text", "error");
    reported.translator.fail(tooLarge, reported.out);
    expect(reported.translator.failure).toMatchObject({ code: "rate_limit_exceeded" });
  });
});

/** Its arguments have more values than the budgets below allow. They are counted when the reply ends. */
const largeCall = { id: "call_1", name: "f", arguments: "[1,2,3,4,5,6]" };
const chatCall = { index: 0, id: largeCall.id, type: "function", function: largeCall };
const largeFromChat = [
  { choices: [{ index: 0, delta: { content: "Hi" } }] },
  { choices: [{ index: 0, delta: { tool_calls: [chatCall] } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  "[DONE]",
] as unknown as ChatInput[];
const callItem = { ...largeCall, id: "fc_1", call_id: "call_1", type: "function_call" };
const largeFromResponses = [
  responsesUpstream.text,
  { type: "response.output_item.added", output_index: 1, item: { ...callItem, arguments: "" } },
  { type: "response.completed", response: { status: "completed", output: [callItem] } },
] as unknown as ResponsesInput[];

const small = () => ({ ...common(), budget: new ReplyBudget({ argumentValues: 3 }) });

describe.each([
  ["Responses over Chat", largeFromChat, () => new ResponsesOverChat(small())],
  ["Chat over Chat", largeFromChat, () => new ChatOverChat(small())],
  [
    "complete calls of Chat over Chat",
    largeFromChat,
    () => new ChatOverChat({ ...small(), toolCalls: "whole" }),
  ],
  ["Chat over Responses", largeFromResponses, () => new ChatOverResponses(small())],
  [
    "Chat with complete calls over Responses",
    largeFromResponses,
    () =>
      connectTranslators<ResponsesInput, ChatInput, unknown>(
        new ChatOverResponses(common()) as ClientTranslator<ResponsesInput, ChatInput>,
        new ChatOverChat({ ...small(), toolCalls: "whole" }),
      ),
  ],
])("%s", (_name, inputs, make) => {
  test("ends with the failure when a limit is exceeded at the end of the reply", () => {
    const translator = make() as ClientTranslator<unknown, unknown>;
    const out: unknown[] = [];
    const read = (): void => {
      for (const input of inputs) translator.push(input, out);
      translator.end("eof", out);
    };
    expect(read).toThrow("JSON values in the arguments");
    const tooLarge = { code: "reply_too_large", message: "too large" };
    translator.fail(tooLarge, out);
    expect([translator.ended, translator.failure]).toMatchObject([true, tooLarge]);
    expect(JSON.stringify(out.at(-1))).toContain("reply_too_large");
    expect(JSON.stringify(out)).not.toContain('"finish_reason":"tool_calls"');
  });
});

test("the response that ends is handed over once, unless it failed", () => {
  const finished: ResponseObject[] = [];
  const onFinished = (response: ResponseObject): void => void finished.push(response);
  for (const names of [["text", "finish", "last"], ["text", "cut", "last"], ["text"]] as const) {
    const translator = new ResponsesOverChat({ ...common(), onFinished });
    for (const name of names) translator.push(chatUpstream[name], []);
    translator.end("eof", []);
  }
  expect(finished.map(({ status }) => status)).toEqual(["completed", "incomplete"]);
});

const bytes = (text: string): Uint8Array => Buffer.from(text);
const utf8 = () => ({
  repairs: new Repairs(),
  utf8: new TextDecoder(),
});

describe("a reply", () => {
  test.each([
    [
      "Chat",
      () => UpstreamReply.of(new ChatBody(utf8()), new ResponsesOverChat(common())),
      'data: {"error":{"message":"no such parameter","code":400}}\n\n',
    ],
    [
      "Responses",
      () => UpstreamReply.of(new ResponsesBody(utf8()), new ResponsesOverResponses(common())),
      'data: {"type":"error","error":{"message":"no such parameter","code":400}}\n\n',
    ],
  ])("of a %s upstream that begins with an error is a refusal, and puts nothing out", (...row) => {
    const [, make, text] = row;
    const reply = make();
    const out: never[] = [];
    reply.push(bytes(text), out);
    reply.end("eof", out);
    expect(out).toEqual([]);
    expect([reply.begun, reply.ended]).toEqual([false, false]);
    expect(reply.refusal).toMatchObject({ provider: { message: "no such parameter", code: 400 } });
  });

  test("that fails after its beginning is no refusal", () => {
    const reply = UpstreamReply.of(new ChatBody(utf8()), new ResponsesOverChat(common()));
    const out: unknown[] = [];
    reply.push(bytes('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'), out as never[]);
    reply.push(bytes('data: {"error":{"message":"broken"}}\n\n'), out as never[]);
    expect([reply.refusal, reply.ended, reply.failure]).toEqual([undefined, false, undefined]);
    reply.end("eof", out as never[]);
    expect([reply.ended, reply.failure]).toMatchObject([true, { message: "broken" }]);
  });
});
