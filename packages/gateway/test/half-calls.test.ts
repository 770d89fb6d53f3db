import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { eventsOf } from "./running-gateway.ts";
import { scene } from "./scene.ts";
import { beginStream, chunk, event } from "./scripted-upstream.ts";
import { namedEvent, sendJson } from "./wire-replies.ts";

/* A reply with half a call: both client wires are given the same account of it, and nothing of it can be run. */

const half = '{"city":"Pa';
const malformed = '{"city": }';
const complete = '{"city":"Paris"}';

interface Case {
  /** The arguments of the reply's calls. */
  calls: string[];
  /** The upstream's word for its finish; null: only the sentinel. On a Responses upstream: whether the items were done. */
  finish: string | null;
}

const tools = {
  chat: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
  responses: [{ type: "function", name: "f", parameters: { type: "object" } }],
};
const requests = {
  chat: { model: "up/m", messages: [{ role: "user", content: "Go" }], tools: tools.chat },
  responses: { model: "up/m", input: "Go", tools: tools.responses },
};
const paths = { chat: "/chat/completions", responses: "/responses" };

const callId = (at: number) => `call_number_${at}`;

function chatReply({ calls, finish }: Case, stream: boolean): JsonObject[] | JsonObject {
  const tool_calls = calls.map((text, index) => ({
    index,
    id: callId(index),
    type: "function",
    function: { name: "f", arguments: text },
  }));
  if (stream) return [chunk({ tool_calls }), ...(finish === null ? [] : [chunk({}, finish)])];
  const message = { role: "assistant", content: null, tool_calls };
  return {
    id: "c",
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: finish }],
  };
}

function responsesReply({ calls, finish }: Case, stream: boolean): JsonObject[] | JsonObject {
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

/** What a client learns of a reply: how it ended, and the arguments of the calls that it may run. */
interface Account {
  ended: "complete" | "cut";
  runnable: string[];
}

async function ask(
  client: "chat" | "responses",
  speaks: "chat" | "responses",
  stream: boolean,
  reply: Case,
  headers: Record<string, string> = {},
): Promise<Account> {
  const { gateway } = await scene(
    (_request, response) => {
      const body = speaks === "chat" ? chatReply(reply, stream) : responsesReply(reply, stream);
      if (!Array.isArray(body)) return sendJson(response, body);
      beginStream(response);
      for (const each of body) response.write(speaks === "chat" ? event(each) : namedEvent(each));
      response.end(speaks === "chat" ? event("[DONE]") : "");
    },
    { upstream: { speaks } },
  );
  const asked = { ...requests[client], stream };
  const response = await gateway.post(paths[client], asked, { headers });
  expect(response.status).toBe(200);
  if (client === "responses") {
    const events = stream ? await eventsOf(response) : [];
    const last = stream ? events.at(-1)?.["response"] : await response.json();
    return accountOfResponse(last as JsonObject);
  }
  if (!stream) return accountOfChoice(((await response.json()) as Completion).choices[0]);
  return accountOfChunks(await eventsOf(response));
}

function accountOfResponse({ status, output, incomplete_details: why }: JsonObject): Account {
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

function accountOfChoice({ finish_reason: finish, message }: Choice): Account {
  expect(["tool_calls", "length"]).toContain(finish);
  // A Chat client runs what is JSON, unless the reply was cut.
  const calls = (message.tool_calls ?? []).map((call) => call.function.arguments);
  const runnable = finish === "length" ? [] : calls.filter(isJson);
  return { ended: finish === "length" ? "cut" : "complete", runnable };
}

function accountOfChunks(chunks: Chunk[]): Account {
  const texts: string[] = [];
  let finish: string | null = null;
  for (const { choices } of chunks)
    for (const choice of choices ?? []) {
      finish ??= choice.finish_reason;
      for (const { index = 0, function: called } of choice.delta.tool_calls ?? [])
        texts[index] = (texts[index] ?? "") + called.arguments;
    }
  const tool_calls = texts.map((text) => ({ function: { arguments: text } }));
  return accountOfChoice({ finish_reason: finish, message: { tool_calls } });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const cut: Account = { ended: "cut", runnable: [] };

describe.each(["chat", "responses"] as const)("on a %s upstream", (speaks) => {
  describe.each([true, false])("streamed: %s", (stream) => {
    const everyClient = async (reply: Case): Promise<Account[]> => [
      await ask("responses", speaks, stream, reply),
      await ask("chat", speaks, stream, reply),
      await ask("chat", speaks, stream, reply, { "x-deltawire-tool-calls": "whole" }),
    ];

    test.each(["stop", "banana", ...(stream ? [null] : [])])(
      "half a call with the finish %s is a cut reply, none of whose calls may run",
      async (finish) => {
        expect(await everyClient({ calls: [half], finish })).toEqual([cut, cut, cut]);
        if (speaks === "responses") return;
        expect(await everyClient({ calls: [complete, half], finish })).toEqual([cut, cut, cut]);
      },
    );

    test.each([half, malformed])(
      "with a call that the upstream says has ended, and that is no JSON, the reply is complete: %s",
      async (text) => {
        const none: Account = { ended: "complete", runnable: [] };
        const one: Account = { ended: "complete", runnable: [complete] };
        expect(await everyClient({ calls: [text], finish: "tool_calls" })).toEqual([
          none,
          none,
          none,
        ]);
        expect(await everyClient({ calls: [complete, text], finish: "tool_calls" })).toEqual([
          one,
          one,
          one,
        ]);
      },
    );

    test.each(["stop", "tool_calls", "length"])(
      "a complete call with the finish %s",
      async (finish) => {
        const isCut = finish === "length" && speaks === "chat";
        const account = isCut ? cut : { ended: "complete", runnable: [complete] };
        expect(await everyClient({ calls: [complete], finish })).toEqual([
          account,
          account,
          account,
        ]);
      },
    );
  });
});

test("half a call is never done for Codex, and its response ends incomplete", async () => {
  for (const speaks of ["chat", "responses"] as const) {
    const { gateway } = await scene(
      (_request, response) => {
        const reply: Case = { calls: [half], finish: "stop" };
        const body = speaks === "chat" ? chatReply(reply, true) : responsesReply(reply, true);
        beginStream(response);
        for (const each of body as JsonObject[])
          response.write(speaks === "chat" ? event(each) : namedEvent(each));
        response.end(speaks === "chat" ? event("[DONE]") : "");
      },
      { upstream: { speaks } },
    );
    const headers = { "user-agent": "codex_cli_rs/0.77.0", originator: "codex_cli_rs" };
    const asked = { ...requests.responses, stream: true };
    const events = await eventsOf(await gateway.post("/responses", asked, { headers }));
    expect(events.filter(({ type }) => type === "response.output_item.done")).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { output: [], incomplete_details: { reason: "max_output_tokens" } },
    });
  }
});
