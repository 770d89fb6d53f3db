import {
  buildContinuation,
  ChatOverMessages,
  collectChat,
  collectResponse,
  ContinuedTurn,
  maxContinuations,
  MessagesBody,
  Repairs,
  ResponsesOverMessages,
  UpstreamReply,
  type ChatStreamEvent,
  type ClientTranslator,
  type ContinuedTurnOptions,
  type MessageContentBlock,
  type MessagesRequest,
  type ResponseEvent,
  type UpstreamMessageEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findMessagesRequestFaults } from "../check/message-rules.ts";
import { sealForChecks } from "../check/play.ts";
import {
  blockDelta,
  blockStart,
  blockStop,
  callBlock,
  encodeEvents,
  messageEnd,
  messageStart,
  textBlock,
  thinkingBlock,
} from "./message-events.ts";

/* A Messages upstream pauses its turn while it runs its own tools; an OpenAI client receives one reply (M12). */

const request: MessagesRequest = {
  model: "m",
  max_tokens: 100,
  messages: [{ role: "user", content: "Who won?" }],
  tools: [{ type: "web_search_20250305", name: "web_search" }],
};

/** What the caller of the library does: sends the turn back while it is paused. Returns the requests that it sent. */
function run<Out>(
  translator: ClientTranslator<UpstreamMessageEvent, Out>,
  replies: readonly (readonly UpstreamMessageEvent[] | string)[],
  options?: ContinuedTurnOptions,
) {
  const turn = new ContinuedTurn(translator, options);
  const out: Out[] = [];
  const requests = [request];
  for (const [position, reply] of replies.entries()) {
    if (position > 0) {
      if (turn.pausedContent === undefined) throw new Error(`reply ${position} is not paused`);
      requests.push(buildContinuation(request, turn.pausedContent));
      turn.resume();
    }
    const body = new MessagesBody({ repairs: turn.repairs, utf8: new TextDecoder() });
    const upstream = UpstreamReply.create(body, turn);
    const text = typeof reply === "string" ? reply : encodeEvents(reply);
    for (const byte of new TextEncoder().encode(text)) upstream.push(Uint8Array.of(byte), out);
    upstream.end("eof", out);
  }
  return { turn, out, requests };
}

const newId = (prefix: string): string => `${prefix}_123456`;

function runForResponses(
  replies: readonly (readonly UpstreamMessageEvent[] | string)[],
  options?: ContinuedTurnOptions,
) {
  const writer = {
    newId,
    createdAt: 1,
    responseId: "resp_1",
    repairs: new Repairs(),
    seal: sealForChecks,
  };
  const result = run<ResponseEvent>(new ResponsesOverMessages(writer), replies, options);
  return { ...result, response: collectResponse(result.out) };
}

function runForChat(replies: readonly (readonly UpstreamMessageEvent[] | string)[]) {
  const writer = { newId, createdAt: 1, includeUsage: true, repairs: new Repairs() };
  const result = run<ChatStreamEvent>(new ChatOverMessages(writer), replies);
  const collected = collectChat(result.out);
  return { ...result, completion: collected.ok ? collected.completion : undefined };
}

const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
const found = {
  type: "web_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: [{ type: "web_search_result", url: "https://example.com", encrypted_content: "SECRET" }],
};

/** Thinking, text and a search that is still running. */
const paused = [
  messageStart({ usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 5 } }),
  ...thinkingBlock(0, "I must search.", "SIGNED"),
  ...textBlock(1, "Let me ", "look."),
  blockStart(2, search),
  blockDelta(2, { type: "input_json_delta", partial_json: '{"query":' }),
  blockDelta(2, { type: "input_json_delta", partial_json: '"winner"}' }),
  blockStop(2),
  ...messageEnd("pause_turn", { output_tokens: 20 }),
];
const rest = [
  messageStart({ id: "msg_2", usage: { input_tokens: 30, output_tokens: 1 } }),
  blockStart(0, found),
  blockStop(0),
  ...textBlock(1, " Nobody."),
  ...messageEnd("end_turn", { output_tokens: 4 }),
];
const turnContent: MessageContentBlock[] = [
  { type: "thinking", thinking: "I must search.", signature: "SIGNED" },
  { type: "text", text: "Let me look." },
  { ...search, input: { query: "winner" } },
];

describe("a paused turn and its continuation are one reply", () => {
  test("of a Responses client", () => {
    const { response, requests, turn, out } = runForResponses([paused, rest]);
    expect(response?.status).toBe("completed");
    expect(out.filter(({ type }) => type === "response.created")).toHaveLength(1);
    expect(response?.output).toMatchObject([
      { type: "reasoning" },
      { type: "message", content: [{ text: "Let me look." }] },
      { type: "web_search_call", action: { query: "winner" } },
      { type: "message", content: [{ text: " Nobody." }] },
    ]);
    expect(response?.usage).toMatchObject({
      input_tokens: 45,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens: 24,
    });
    expect(turn.ended).toBe(true);
    expect(turn.repairs.list).toEqual([]);
    expect(requests[1]).toEqual({
      ...request,
      messages: [...request.messages, { role: "assistant", content: turnContent }],
    });
  });

  test("of a Chat client", () => {
    const { completion } = runForChat([paused, rest]);
    expect(completion).toMatchObject({
      choices: [{ finish_reason: "stop", message: { content: "Let me look. Nobody." } }],
      usage: { prompt_tokens: 45, completion_tokens: 24 },
    });
  });

  test("also if both are complete replies instead of streams", () => {
    const reply = (content: unknown, stop_reason: string) =>
      JSON.stringify({
        id: `msg_${stop_reason}`,
        type: "message",
        role: "assistant",
        content,
        stop_reason,
        usage: { input_tokens: 10, output_tokens: 2 },
      });
    const { response, requests } = runForResponses([
      reply(turnContent, "pause_turn"),
      reply([found, { type: "text", text: "Nobody." }], "end_turn"),
    ]);
    expect(response).toMatchObject({
      status: "completed",
      usage: { input_tokens: 20, output_tokens: 4 },
    });
    expect(JSON.stringify(response?.output)).toContain("Nobody.");
    expect(requests[1]?.messages[1]?.content).toEqual(turnContent);
  });
});

test("each continuation sends the complete turn back, and no blanks at its end", () => {
  const more = [
    messageStart({ id: "msg_2" }),
    blockStart(0, found),
    blockStop(0),
    ...textBlock(1, "  "),
    ...textBlock(2, "And now? \n"),
    ...messageEnd("pause_turn"),
  ];
  const { requests } = runForResponses([paused, more, rest]);
  expect(requests[2]?.messages[1]?.content).toEqual([
    ...turnContent,
    found,
    { type: "text", text: "And now?" },
  ]);
  for (const { messages } of requests)
    expect(findMessagesRequestFaults({ ...request, messages, tools: null })).toEqual([]);
});

test("a prefilled turn is continued", () => {
  const messages: MessagesRequest["messages"] = [
    ...request.messages,
    { role: "assistant", content: "It was" },
  ];
  const { messages: sent } = buildContinuation({ ...request, messages }, turnContent);
  expect(sent).toEqual([
    ...request.messages,
    { role: "assistant", content: [{ type: "text", text: "It was" }, ...turnContent] },
  ]);
});

test("a turn is sent back at most five times, then the reply is incomplete", () => {
  const replies = Array.from({ length: maxContinuations + 1 }, () => paused);
  const { response, turn, requests } = runForResponses(replies);
  expect(requests).toHaveLength(6);
  expect(turn.pausedContent).toBeUndefined();
  expect(response).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
    usage: { output_tokens: 120 },
  });
  expect(runForResponses([paused], { maxContinuations: 0 }).response?.status).toBe("incomplete");
});

test("a turn is not sent back without content, or with a call that the client runs", () => {
  const empty = [messageStart(), ...messageEnd("pause_turn")];
  expect(runForResponses([empty]).response?.status).toBe("incomplete");
  const call = [
    messageStart(),
    ...callBlock(0, "toolu_1", "health", "{}"),
    ...messageEnd("pause_turn"),
  ];
  const { response } = runForResponses([call]);
  expect(response).toMatchObject({ status: "incomplete", output: [{ status: "incomplete" }] });
});

describe("if a turn cannot be sent back, the reply", () => {
  test("is incomplete with its text after giveUp", () => {
    const { turn, out } = runForResponses([paused]);
    expect(turn).toMatchObject({ ended: false, awaitsEnd: true });
    turn.giveUp(out);
    expect(turn.ended).toBe(true);
    expect(collectResponse(out)).toMatchObject({
      status: "incomplete",
      usage: { input_tokens: 15, output_tokens: 20 },
    });
    const { length } = out;
    turn.giveUp(out);
    expect(out).toHaveLength(length);
  });

  test("fails after fail, or if the client disconnects", () => {
    const { turn, out } = runForResponses([paused]);
    turn.fail({ code: "upstream_error", message: "the continuation was rejected" }, out);
    expect(collectResponse(out)).toMatchObject({
      status: "failed",
      error: { message: "the continuation was rejected" },
    });
    const aborted = runForResponses([paused]);
    aborted.turn.end("aborted", aborted.out);
    expect(aborted.turn.ended).toBe(true);
    expect(aborted.turn.failure).toBeDefined();
  });

  test("fails if its continuation breaks off", () => {
    const { response } = runForResponses([paused, rest.slice(0, -2)]);
    expect(response?.status).toBe("failed");
  });
});

test("a reply that is not paused is the same with and without continuations", () => {
  const events = [messageStart(), ...textBlock(0, "Hi"), ...messageEnd("end_turn")];
  const { out, turn } = runForResponses([events]);
  const plain: ResponseEvent[] = [];
  const translator = new ResponsesOverMessages({ newId, createdAt: 1, responseId: "resp_1" });
  for (const event of events) translator.push(event, plain);
  expect(out).toEqual(plain);
  expect(turn.pausedContent).toBeUndefined();
});
