import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readEvents } from "./test-gateway.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent } from "./scripted-upstream.ts";
import { formatNamedEvent, sendJson } from "./wire-replies.ts";

/* A reply with an incomplete call: clients of both APIs receive the same outcome, and none of them can run the call. */

const half = '{"city":"Pa';
const malformed = '{"city": }';
const complete = '{"city":"Paris"}';

interface UpstreamReply {
  /** The arguments of the reply's calls. */
  calls: string[];
  /** The finish reason of a Chat upstream; null: only the sentinel. From a Responses upstream, "tool_calls": items are done. */
  finish: string | null;
}

const tools = {
  chat: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
  responses: [{ type: "function", name: "f", parameters: { type: "object" } }],
};
const requests = {
  chat: { model: "up/m", messages: [{ role: "user", content: "Go" }], tools: tools.chat },
  responses: { model: "up/m", input: "Go", tools: tools.responses },
  messages: {
    model: "up/m",
    max_tokens: 1000,
    messages: [{ role: "user", content: "Go" }],
    tools: [{ name: "f", input_schema: { type: "object" } }],
  },
};
const paths = { chat: "/chat/completions", responses: "/responses", messages: "/messages" };

const callId = (index: number) => `call_number_${index}`;

function chatReply({ calls, finish }: UpstreamReply, stream: boolean): JsonObject[] | JsonObject {
  const tool_calls = calls.map((text, index) => ({
    index,
    id: callId(index),
    type: "function",
    function: { name: "f", arguments: text },
  }));
  if (stream)
    return [chatChunk({ tool_calls }), ...(finish === null ? [] : [chatChunk({}, finish)])];
  const message = { role: "assistant", content: null, tool_calls };
  return {
    id: "c",
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: finish }],
  };
}

function responsesReply(
  { calls, finish }: UpstreamReply,
  stream: boolean,
): JsonObject[] | JsonObject {
  const isDone = finish === "tool_calls";
  const items = calls.map((text, index) => ({
    type: "function_call",
    id: `fc_${index}`,
    call_id: callId(index),
    name: "f",
    arguments: text,
    status: isDone || text === complete ? "completed" : "incomplete",
  }));
  const response = { id: "resp_1", object: "response", status: "completed", output: items };
  if (!stream) return response;
  return [
    { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
    ...items.flatMap((item, output_index) => [
      {
        type: "response.output_item.added",
        output_index,
        item: { ...item, arguments: "", status: "in_progress" },
      },
      {
        type: "response.function_call_arguments.delta",
        output_index,
        item_id: item.id,
        delta: item.arguments,
      },
      ...(isDone ? [{ type: "response.output_item.done", output_index, item }] : []),
    ]),
    // Without its items, as some servers send it.
    { type: "response.completed", response: { ...response, output: isDone ? items : [] } },
  ];
}

/** The outcome of a reply for a client: how it ended, and the arguments of the calls that the client may run. */
interface ReplyOutcome {
  ended: "complete" | "cut";
  runnable: string[];
}

async function requestOutcome(
  client: keyof typeof requests,
  speaks: "chat" | "responses",
  stream: boolean,
  reply: UpstreamReply,
  headers: Record<string, string> = {},
): Promise<ReplyOutcome> {
  const { gateway } = await gatewayFixture(
    (_request, response) => {
      const body = speaks === "chat" ? chatReply(reply, stream) : responsesReply(reply, stream);
      if (!Array.isArray(body)) return sendJson(response, body);
      beginStream(response);
      for (const each of body)
        response.write(speaks === "chat" ? formatEvent(each) : formatNamedEvent(each));
      response.end(speaks === "chat" ? formatEvent("[DONE]") : "");
    },
    { upstream: { speaks } },
  );
  const requestBody = { ...requests[client], stream };
  const response = await gateway.post(paths[client], requestBody, { headers });
  expect(response.status).toBe(200);
  if (client === "messages")
    return readMessageOutcome(
      stream ? await readEvents(response) : toMessageEvents((await response.json()) as JsonObject),
    );
  if (client === "responses") {
    const events = stream ? await readEvents(response) : [];
    const last = stream ? events.at(-1)?.["response"] : await response.json();
    return readResponseOutcome(last as JsonObject);
  }
  if (!stream) return readChoiceOutcome(((await response.json()) as Completion).choices[0]);
  return readStreamOutcome(await readEvents(response));
}

/** Returns the events of a stream with the same content as a complete reply. */
function toMessageEvents({ content, stop_reason }: JsonObject): JsonObject[] {
  const blocks = content as JsonObject[];
  return [
    ...blocks.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: block },
      {
        type: "content_block_delta",
        index,
        delta: { type: "input_json_delta", partial_json: JSON.stringify(block["input"]) },
      },
    ]),
    { type: "message_delta", delta: { stop_reason: stop_reason ?? null } },
  ];
}

function readMessageOutcome(events: readonly JsonObject[]): ReplyOutcome {
  const texts = new Map<unknown, string>();
  let stopReason: unknown;
  for (const { type, index, content_block: block, delta } of events) {
    const isCall = (block as JsonObject | undefined)?.["type"] === "tool_use";
    if (type === "content_block_start" && isCall) texts.set(index, "");
    const { partial_json: piece, stop_reason } = (delta ?? {}) as JsonObject;
    if (typeof piece === "string") texts.set(index, (texts.get(index) ?? "") + piece);
    stopReason = stop_reason ?? stopReason;
  }
  expect(["tool_use", "max_tokens", "end_turn"]).toContain(stopReason);
  // A Messages client runs what is JSON, unless the reply was cut.
  const isCut = stopReason === "max_tokens";
  return {
    ended: isCut ? "cut" : "complete",
    runnable: isCut ? [] : [...texts.values()].filter(isJson),
  };
}

function readResponseOutcome({
  status,
  output,
  incomplete_details: why,
}: JsonObject): ReplyOutcome {
  if (status === "incomplete") expect(why).toEqual({ reason: "max_output_tokens" });
  else expect(status).toBe("completed");
  const items = output as { status: string; arguments: string }[];
  return {
    ended: status === "completed" ? "complete" : "cut",
    runnable: items.filter((item) => item.status === "completed").map((item) => item.arguments),
  };
}

interface Call {
  index?: number;
  function: { arguments: string };
}
interface Choice {
  finish_reason: string | null;
  message: { tool_calls?: Call[] };
}
interface Completion {
  choices: [Choice];
}
interface Chunk {
  choices?: { finish_reason: string | null; delta: { tool_calls?: Call[] } }[];
}

function readChoiceOutcome({ finish_reason: finish, message }: Choice): ReplyOutcome {
  expect(["tool_calls", "length"]).toContain(finish);
  // A Chat client runs what is JSON, unless the reply was cut.
  const calls = (message.tool_calls ?? []).map((call) => call.function.arguments);
  const runnable = finish === "length" ? [] : calls.filter(isJson);
  return { ended: finish === "length" ? "cut" : "complete", runnable };
}

function readStreamOutcome(chunks: Chunk[]): ReplyOutcome {
  const texts: string[] = [];
  let finish: string | null = null;
  for (const { choices } of chunks)
    for (const choice of choices ?? []) {
      finish ??= choice.finish_reason;
      for (const { index = 0, function: called } of choice.delta.tool_calls ?? [])
        texts[index] = (texts[index] ?? "") + called.arguments;
    }
  const tool_calls = texts.map((text) => ({ function: { arguments: text } }));
  return readChoiceOutcome({ finish_reason: finish, message: { tool_calls } });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const cut: ReplyOutcome = { ended: "cut", runnable: [] };

describe.each(["chat", "responses"] as const)("on a %s upstream", (speaks) => {
  describe.each([true, false])("streamed: %s", (stream) => {
    const requestFromEveryClient = async (reply: UpstreamReply): Promise<ReplyOutcome[]> => [
      await requestOutcome("responses", speaks, stream, reply),
      await requestOutcome("chat", speaks, stream, reply),
      await requestOutcome("messages", speaks, stream, reply),
      await requestOutcome("chat", speaks, stream, reply, { "x-deltawire-tool-calls": "complete" }),
    ];

    test.each(["stop", "banana", ...(stream ? [null] : [])])(
      "a reply with an incomplete call and finish_reason %s is incomplete, and none of its calls may run",
      async (finish) => {
        expect(await requestFromEveryClient({ calls: [half], finish })).toEqual([
          cut,
          cut,
          cut,
          cut,
        ]);
        if (speaks === "responses") return;
        expect(await requestFromEveryClient({ calls: [complete, half], finish })).toEqual([
          cut,
          cut,
          cut,
          cut,
        ]);
      },
    );

    test.each([half, malformed])(
      "a reply with a finished call that is not valid JSON is complete, and that call may not run: %s",
      async (text) => {
        // A Messages client fails on such a call, unless the reply was cut.
        const none: ReplyOutcome = { ended: "complete", runnable: [] };
        const one: ReplyOutcome = { ended: "complete", runnable: [complete] };
        expect(await requestFromEveryClient({ calls: [text], finish: "tool_calls" })).toEqual([
          none,
          none,
          cut,
          none,
        ]);
        expect(
          await requestFromEveryClient({ calls: [complete, text], finish: "tool_calls" }),
        ).toEqual([one, one, cut, one]);
      },
    );

    test.each(["stop", "tool_calls", "length"])(
      "a complete call may run, unless a Chat upstream ended the reply at a limit: finish_reason %s",
      async (finish) => {
        const isCut = finish === "length" && speaks === "chat";
        const outcome = isCut ? cut : { ended: "complete", runnable: [complete] };
        expect(await requestFromEveryClient({ calls: [complete], finish })).toEqual([
          outcome,
          outcome,
          outcome,
          outcome,
        ]);
      },
    );
  });
});

test("Codex never receives an incomplete call as a finished item, and its response ends as incomplete", async () => {
  for (const speaks of ["chat", "responses"] as const) {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        const reply: UpstreamReply = { calls: [half], finish: "stop" };
        const body = speaks === "chat" ? chatReply(reply, true) : responsesReply(reply, true);
        beginStream(response);
        for (const each of body as JsonObject[])
          response.write(speaks === "chat" ? formatEvent(each) : formatNamedEvent(each));
        response.end(speaks === "chat" ? formatEvent("[DONE]") : "");
      },
      { upstream: { speaks } },
    );
    const headers = { "user-agent": "codex_cli_rs/0.77.0", originator: "codex_cli_rs" };
    const requestBody = { ...requests.responses, stream: true };
    const events = await readEvents(await gateway.post("/responses", requestBody, { headers }));
    expect(events.filter(({ type }) => type === "response.output_item.done")).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { output: [], incomplete_details: { reason: "max_output_tokens" } },
    });
  }
});
