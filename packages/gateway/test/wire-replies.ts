import type { ServerResponse } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { beginStream, chunk, event } from "./scripted-upstream.ts";

/*
 * One reply in every form in which an upstream sends it: on both wires, streamed and whole.
 */

export interface Reply {
  reasoning?: string[];
  /** What the upstream wants back of its reasoning, on the Responses wire. */
  sealed?: string;
  text?: string[];
  calls?: { id: string; name: string; arguments: string[] }[];
  /** Undefined: the upstream does not tell. */
  usage?: { input: number; output: number };
}

/** Answers a request in the form that it asks for. */
export function answers(
  speaks: "chat" | "responses",
  response: ServerResponse,
  body: JsonObject,
  reply: Reply,
): void {
  if (body["stream"] !== true) return sendJson(response, wholeReply(speaks, reply));
  beginStream(response);
  for (const each of streamed(speaks, reply)) response.write(each);
  response.end();
}

export function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** The events of the reply, each as it is on the wire. */
export function streamed(speaks: "chat" | "responses", reply: Reply): string[] {
  if (speaks === "chat") return [...chatChunks(reply).map(event), event("[DONE]")];
  return responseEvents(reply).map((each, at) => namedEvent({ ...each, sequence_number: at }));
}

export function namedEvent(data: JsonObject): string {
  return `event: ${JSON.stringify(data["type"]).slice(1, -1)}\n${event(data)}`;
}

export function wholeReply(speaks: "chat" | "responses", reply: Reply): JsonObject {
  return speaks === "chat" ? chatCompletion(reply) : responseObject(reply, "completed");
}

function chatChunks({ reasoning = [], text = [], calls = [], usage }: Reply): JsonObject[] {
  const head = (at: number) => ({ index: at, id: calls[at]?.id ?? "", type: "function" });
  return [
    ...reasoning.map((words) => chunk({ reasoning_content: words })),
    ...text.map((words) => chunk({ content: words })),
    ...calls.flatMap(({ name, arguments: pieces }, at) => [
      chunk({ tool_calls: [{ ...head(at), function: { name, arguments: "" } }] }),
      ...pieces.map((piece) =>
        chunk({ tool_calls: [{ index: at, function: { arguments: piece } }] }),
      ),
    ]),
    chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    ...(usage === undefined ? [] : [{ ...chunk({}), choices: [], usage: chatUsage(usage) }]),
  ];
}

function chatCompletion({ reasoning, text, calls, usage }: Reply): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "some-model",
    choices: [
      {
        index: 0,
        finish_reason: calls === undefined ? "stop" : "tool_calls",
        message: {
          role: "assistant",
          content: text?.join("") ?? null,
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning.join("") }),
          ...(calls === undefined
            ? {}
            : {
                tool_calls: calls.map(({ id, name, arguments: pieces }) => ({
                  id,
                  type: "function",
                  function: { name, arguments: pieces.join("") },
                })),
              }),
        },
      },
    ],
    ...(usage === undefined ? {} : { usage: chatUsage(usage) }),
  };
}

function chatUsage({ input, output }: { input: number; output: number }): JsonObject {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function responseObject(reply: Reply, status: "in_progress" | "completed"): JsonObject {
  const { usage } = reply;
  const isDone = status === "completed";
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status,
    model: "some-model",
    error: null,
    incomplete_details: null,
    output: isDone ? itemsOf(reply).map(({ done }) => done) : [],
    usage:
      isDone && usage !== undefined
        ? {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: usage.input + usage.output,
          }
        : null,
  };
}

function responseEvents(reply: Reply): JsonObject[] {
  const begun = responseObject(reply, "in_progress");
  return [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...itemsOf(reply).flatMap(({ added, between, done }, at) => [
      { type: "response.output_item.added", output_index: at, item: added },
      ...between.map((each) => ({ output_index: at, item_id: done["id"], ...each })),
      { type: "response.output_item.done", output_index: at, item: done },
    ]),
    { type: "response.completed", response: responseObject(reply, "completed") },
  ];
}

interface Item {
  added: JsonObject;
  between: JsonObject[];
  done: JsonObject;
}

function itemsOf({ reasoning, sealed, text, calls = [] }: Reply): Item[] {
  return [
    ...(reasoning === undefined ? [] : [reasoningItem(reasoning, sealed)]),
    ...(text === undefined ? [] : [messageItem(text)]),
    ...calls.map(callItem),
  ];
}

function reasoningItem(pieces: string[], sealed: string | undefined): Item {
  const item = { id: "rs_1", type: "reasoning" };
  const place = { summary_index: 0 };
  const part = (words: string) => ({ type: "summary_text", text: words });
  const words = pieces.join("");
  const prefix = "response.reasoning_summary";
  return {
    added: { ...item, summary: [] },
    between: [
      { type: `${prefix}_part.added`, ...place, part: part("") },
      ...pieces.map((delta) => ({ type: `${prefix}_text.delta`, ...place, delta })),
      { type: `${prefix}_text.done`, ...place, text: words },
      { type: `${prefix}_part.done`, ...place, part: part(words) },
    ],
    done: {
      ...item,
      summary: [part(words)],
      ...(sealed === undefined ? {} : { encrypted_content: sealed }),
    },
  };
}

function messageItem(pieces: string[]): Item {
  const item = { id: "msg_1", type: "message", role: "assistant" };
  const place = { content_index: 0 };
  const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const text = pieces.join("");
  return {
    added: { ...item, status: "in_progress", content: [] },
    between: [
      { type: "response.content_part.added", ...place, part: part("") },
      ...pieces.map((delta) => ({
        type: "response.output_text.delta",
        ...place,
        delta,
        logprobs: [],
      })),
      { type: "response.output_text.done", ...place, text, logprobs: [] },
      { type: "response.content_part.done", ...place, part: part(text) },
    ],
    done: { ...item, status: "completed", content: [part(text)] },
  };
}

function callItem({ id, name, arguments: pieces }: NonNullable<Reply["calls"]>[number]): Item {
  const item = { id: `fc_${id}`, type: "function_call", call_id: id, name };
  const whole = pieces.join("");
  const type = "response.function_call_arguments";
  return {
    added: { ...item, status: "in_progress", arguments: "" },
    between: [
      ...pieces.map((delta) => ({ type: `${type}.delta`, delta })),
      { type: `${type}.done`, arguments: whole },
    ],
    done: { ...item, status: "completed", arguments: whole },
  };
}
