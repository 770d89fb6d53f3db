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
  type UpstreamChatEvent,
  type ClientTranslator,
  type ResponseObject,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { createIdCounter } from "./translate-reply.ts";

const createCommonOptions = () => ({
  newId: createIdCounter(),
  createdAt: 1,
  responseId: "resp_1",
});

const chatUpstream = {
  text: { choices: [{ index: 0, delta: { content: "Hi" } }] },
  finish: { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  truncated: { choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
  terminal: "[DONE]",
  error: { error: { message: "slow down", code: 429 } },
} as unknown as Record<"text" | "finish" | "truncated" | "terminal" | "error", UpstreamChatEvent>;

const item = { id: "msg_1", type: "message", role: "assistant" };
const part = { item_id: "msg_1", output_index: 0, content_index: 0 };
const responsesUpstream = {
  text: { type: "response.output_text.delta", ...part, delta: "Hi" },
  finish: { type: "response.output_item.done", output_index: 0, item: { ...item, content: [] } },
  truncated: { type: "response.incomplete", response: { status: "incomplete", output: [] } },
  terminal: { type: "response.completed", response: { status: "completed", output: [] } },
  error: { type: "error", error: { message: "slow down", code: 429 } },
} as unknown as Record<
  "text" | "finish" | "truncated" | "terminal" | "error",
  UpstreamResponseEvent
>;

const chatWithCompleteCalls = (): ClientTranslator<UpstreamResponseEvent, unknown> =>
  connectTranslators(
    new ChatOverResponses(createCommonOptions()),
    new ChatOverChat({ ...createCommonOptions(), toolCalls: "complete" }),
  );

describe.each([
  ["Responses over Chat", chatUpstream, () => new ResponsesOverChat(createCommonOptions())],
  ["Chat over Chat", chatUpstream, () => new ChatOverChat(createCommonOptions())],
  ["Chat over Responses", responsesUpstream, () => new ChatOverResponses(createCommonOptions())],
  ["Chat with complete calls over Responses", responsesUpstream, chatWithCompleteCalls],
  [
    "Responses over Responses",
    responsesUpstream,
    () => new ResponsesOverResponses(createCommonOptions()),
  ],
])("%s", (_name, inputs, create) => {
  const translate = (...names: (keyof typeof inputs)[]) => {
    const translator = create() as ClientTranslator<unknown, unknown>;
    const out: unknown[] = [];
    for (const name of names) translator.push(inputs[name], out);
    return { translator, out };
  };

  test("has not ended before the terminal event", () => {
    const { translator } = translate("text", "finish");
    expect([translator.ended, translator.failure]).toEqual([false, undefined]);
  });

  test("has ended without a failure if the upstream completed the reply", () => {
    const { translator, out } = translate("text", "finish", "terminal");
    expect([translator.ended, translator.failure]).toEqual([true, undefined]);
    const length = out.length;
    translator.end("eof", out);
    expect(out).toHaveLength(length);
  });

  test("has ended without a failure if the reply reached the token limit", () => {
    const { translator, out } = translate("text", "truncated");
    translator.end("eof", out);
    expect([translator.ended, translator.failure]).toEqual([true, undefined]);
  });

  test("has the failure that the upstream reported, and ends with the connection", () => {
    const { translator, out } = translate("text", "error");
    const failure = { code: "rate_limit_exceeded", message: "slow down" };
    expect([translator.ended, translator.failure]).toMatchObject([false, failure]);
    translator.end("eof", out);
    expect([translator.ended, translator.failure]).toMatchObject([true, failure]);
  });

  test("fails a reply that ends early", () => {
    const { translator, out } = translate("text");
    translator.end("transport_error", out);
    expect(translator.ended).toBe(true);
    expect(translator.failure).toMatchObject({ code: "upstream_stream_truncated" });
  });

  test("ends with the failure of its caller, or with the upstream's if it reported one", () => {
    const tooLarge = { code: "reply_too_large", message: "too large" };
    const withoutFailure = translate("text");
    withoutFailure.translator.fail(tooLarge, withoutFailure.out);
    expect([withoutFailure.translator.ended, withoutFailure.translator.failure]).toMatchObject([
      true,
      tooLarge,
    ]);
    expect(JSON.stringify(withoutFailure.out.at(-1))).toContain("reply_too_large");
    const withReportedFailure = translate("text", "error");
    withReportedFailure.translator.fail(tooLarge, withReportedFailure.out);
    expect(withReportedFailure.translator.failure).toMatchObject({ code: "rate_limit_exceeded" });
  });
});

/** A call whose arguments exceed the budget below, which is checked at the end of the reply. */
const largeCall = { id: "call_1", name: "f", arguments: "[1,2,3,4,5,6]" };
const chatCall = { index: 0, id: largeCall.id, type: "function", function: largeCall };
const largeFromChat = [
  { choices: [{ index: 0, delta: { content: "Hi" } }] },
  { choices: [{ index: 0, delta: { tool_calls: [chatCall] } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  "[DONE]",
] as unknown as UpstreamChatEvent[];
const callItem = { ...largeCall, id: "fc_1", call_id: "call_1", type: "function_call" };
const largeFromResponses = [
  responsesUpstream.text,
  { type: "response.output_item.added", output_index: 1, item: { ...callItem, arguments: "" } },
  { type: "response.completed", response: { status: "completed", output: [callItem] } },
] as unknown as UpstreamResponseEvent[];

const createOptionsWithSmallBudget = () => ({
  ...createCommonOptions(),
  budget: new ReplyBudget({ argumentValues: 3 }),
});

describe.each([
  [
    "Responses over Chat",
    largeFromChat,
    () => new ResponsesOverChat(createOptionsWithSmallBudget()),
  ],
  ["Chat over Chat", largeFromChat, () => new ChatOverChat(createOptionsWithSmallBudget())],
  [
    "Chat with complete calls over Chat",
    largeFromChat,
    () => new ChatOverChat({ ...createOptionsWithSmallBudget(), toolCalls: "complete" }),
  ],
  [
    "Chat over Responses",
    largeFromResponses,
    () => new ChatOverResponses(createOptionsWithSmallBudget()),
  ],
  [
    "Chat with complete calls over Responses",
    largeFromResponses,
    () =>
      connectTranslators<UpstreamResponseEvent, UpstreamChatEvent, unknown>(
        new ChatOverResponses(createCommonOptions()) as ClientTranslator<
          UpstreamResponseEvent,
          UpstreamChatEvent
        >,
        new ChatOverChat({ ...createOptionsWithSmallBudget(), toolCalls: "complete" }),
      ),
  ],
])("%s", (_name, inputs, create) => {
  test("ends with a failure if a limit is exceeded at the end of the reply", () => {
    const translator = create() as ClientTranslator<unknown, unknown>;
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

test("onFinished receives the final response once, unless it failed", () => {
  const finished: ResponseObject[] = [];
  const onFinished = (response: ResponseObject): void => void finished.push(response);
  for (const names of [
    ["text", "finish", "terminal"],
    ["text", "truncated", "terminal"],
    ["text"],
  ] as const) {
    const translator = new ResponsesOverChat({ ...createCommonOptions(), onFinished });
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
      () =>
        UpstreamReply.create(new ChatBody(utf8()), new ResponsesOverChat(createCommonOptions())),
      'data: {"error":{"message":"no such parameter","code":400}}\n\n',
    ],
    [
      "Responses",
      () =>
        UpstreamReply.create(
          new ResponsesBody(utf8()),
          new ResponsesOverResponses(createCommonOptions()),
        ),
      'data: {"type":"error","error":{"message":"no such parameter","code":400}}\n\n',
    ],
  ])("of a %s upstream that starts with an error is a rejection and emits nothing", (...row) => {
    const [, create, text] = row;
    const reply = create();
    const out: never[] = [];
    reply.push(bytes(text), out);
    reply.end("eof", out);
    expect(out).toEqual([]);
    expect([reply.hasBegun, reply.ended]).toEqual([false, false]);
    expect(reply.rejection).toMatchObject({
      provider: { message: "no such parameter", code: 400 },
    });
  });

  test("that fails after its start is not a rejection", () => {
    const reply = UpstreamReply.create(
      new ChatBody(utf8()),
      new ResponsesOverChat(createCommonOptions()),
    );
    const out: unknown[] = [];
    reply.push(bytes('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'), out as never[]);
    reply.push(bytes('data: {"error":{"message":"broken"}}\n\n'), out as never[]);
    expect([reply.rejection, reply.ended, reply.failure]).toEqual([undefined, false, undefined]);
    reply.end("eof", out as never[]);
    expect([reply.ended, reply.failure]).toMatchObject([true, { message: "broken" }]);
  });
});
