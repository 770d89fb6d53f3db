import type { ServerResponse } from "node:http";
import { buildRequestEcho, type JsonObject } from "@deltawire/wire";
import type { ApiName } from "../src/config/config.ts";
import { beginStream, chatChunk, formatEvent } from "./scripted-upstream.ts";

/*
 * A reply in every form in which an upstream may send it: in every API, streamed or not.
 */

export interface ScriptedReply {
  /** Part of the ids of the reply and its items, which must differ within a conversation. Default: 1. */
  id?: string;
  reasoning?: string[];
  /** The encrypted reasoning of a Responses upstream, or the signature of a Messages upstream. */
  sealed?: string;
  text?: string[];
  calls?: { id: string; name: string; arguments: string[] }[];
  /** Undefined: the upstream does not report it. */
  usage?: { input: number; output: number };
}

/** Replies to a request, streamed or not as requested. */
export function sendReply(
  speaks: ApiName,
  response: ServerResponse,
  body: JsonObject,
  reply: ScriptedReply,
): void {
  if (body["stream"] !== true) return sendJson(response, buildReply(speaks, reply));
  beginStream(response);
  for (const event of formatStream(speaks, reply)) response.write(event);
  response.end();
}

export function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Returns the events of a streamed reply, as they are sent. */
export function formatStream(speaks: ApiName, reply: ScriptedReply): string[] {
  if (speaks === "chat") return [...chatChunks(reply).map(formatEvent), formatEvent("[DONE]")];
  if (speaks === "messages") return messageEvents(reply).map(formatNamedEvent);
  return responseEvents(reply).map((each, index) =>
    formatNamedEvent({ ...each, sequence_number: index }),
  );
}

export function formatNamedEvent(data: JsonObject): string {
  return `event: ${JSON.stringify(data["type"]).slice(1, -1)}\n${formatEvent(data)}`;
}

export function buildReply(speaks: ApiName, reply: ScriptedReply): JsonObject {
  if (speaks === "messages") return buildMessage(reply);
  return speaks === "chat" ? chatCompletion(reply) : responseObject(reply, "completed");
}

function chatChunks({ reasoning = [], text = [], calls = [], usage }: ScriptedReply): JsonObject[] {
  const head = (position: number) => ({
    index: position,
    id: calls[position]?.id ?? "",
    type: "function",
  });
  return [
    ...reasoning.map((fragment) => chatChunk({ reasoning_content: fragment })),
    ...text.map((fragment) => chatChunk({ content: fragment })),
    ...calls.flatMap(({ name, arguments: deltas }, position) => [
      chatChunk({ tool_calls: [{ ...head(position), function: { name, arguments: "" } }] }),
      ...deltas.map((piece) =>
        chatChunk({ tool_calls: [{ index: position, function: { arguments: piece } }] }),
      ),
    ]),
    chatChunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    ...(usage === undefined ? [] : [{ ...chatChunk({}), choices: [], usage: chatUsage(usage) }]),
  ];
}

function chatCompletion({ reasoning, text, calls, usage }: ScriptedReply): JsonObject {
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
                tool_calls: calls.map(({ id, name, arguments: deltas }) => ({
                  id,
                  type: "function",
                  function: { name, arguments: deltas.join("") },
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

function responseObject(reply: ScriptedReply, status: "in_progress" | "completed"): JsonObject {
  const { id = "1", usage } = reply;
  const isDone = status === "completed";
  return {
    ...buildRequestEcho({}),
    id: `resp_${id}`,
    object: "response",
    created_at: 1,
    completed_at: isDone ? 2 : null,
    status,
    model: "some-model",
    error: null,
    incomplete_details: null,
    output: isDone ? buildItems(reply).map(({ done }) => done) : [],
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

function responseEvents(reply: ScriptedReply): JsonObject[] {
  const begun = responseObject(reply, "in_progress");
  return [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...buildItems(reply).flatMap(({ added, between, done }, index) => [
      { type: "response.output_item.added", output_index: index, item: added },
      ...between.map((each) => ({ output_index: index, item_id: done["id"], ...each })),
      { type: "response.output_item.done", output_index: index, item: done },
    ]),
    { type: "response.completed", response: responseObject(reply, "completed") },
  ];
}

interface ScriptedItem {
  added: JsonObject;
  between: JsonObject[];
  done: JsonObject;
}

function buildItems({
  id = "1",
  reasoning,
  sealed,
  text,
  calls = [],
}: ScriptedReply): ScriptedItem[] {
  return [
    ...(reasoning === undefined ? [] : [reasoningItem(id, reasoning, sealed)]),
    ...(text === undefined ? [] : [messageItem(id, text)]),
    ...calls.map(callItem),
  ];
}

function reasoningItem(id: string, deltas: string[], sealed: string | undefined): ScriptedItem {
  const item = { id: `rs_${id}`, type: "reasoning" };
  const place = { summary_index: 0 };
  const part = (fragment: string) => ({ type: "summary_text", text: fragment });
  const fragment = deltas.join("");
  const prefix = "response.reasoning_summary";
  return {
    added: { ...item, summary: [] },
    between: [
      { type: `${prefix}_part.added`, ...place, part: part("") },
      ...deltas.map((delta) => ({ type: `${prefix}_text.delta`, ...place, delta })),
      { type: `${prefix}_text.done`, ...place, text: fragment },
      { type: `${prefix}_part.done`, ...place, part: part(fragment) },
    ],
    done: {
      ...item,
      summary: [part(fragment)],
      ...(sealed === undefined ? {} : { encrypted_content: sealed }),
    },
  };
}

function messageItem(id: string, deltas: string[]): ScriptedItem {
  const item = { id: `msg_${id}`, type: "message", role: "assistant" };
  const place = { content_index: 0 };
  const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const text = deltas.join("");
  return {
    added: { ...item, status: "in_progress", content: [] },
    between: [
      { type: "response.content_part.added", ...place, part: part("") },
      ...deltas.map((delta) => ({
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

function callItem({
  id,
  name,
  arguments: deltas,
}: NonNullable<ScriptedReply["calls"]>[number]): ScriptedItem {
  const item = { id: `fc_${id}`, type: "function_call", call_id: id, name };
  const complete = deltas.join("");
  const type = "response.function_call_arguments";
  return {
    added: { ...item, status: "in_progress", arguments: "" },
    between: [
      ...deltas.map((delta) => ({ type: `${type}.delta`, delta })),
      { type: `${type}.done`, arguments: complete },
    ],
    done: { ...item, status: "completed", arguments: complete },
  };
}

/** A block of a reply of the Messages API: as it starts, its deltas, and as it is in a complete reply. */
interface ScriptedBlock {
  start: JsonObject;
  deltas: JsonObject[];
  complete: JsonObject;
}

function buildBlocks({
  reasoning,
  sealed = "c2lnbmF0dXJl",
  text,
  calls = [],
}: ScriptedReply): ScriptedBlock[] {
  const blocks: ScriptedBlock[] = [];
  if (reasoning !== undefined)
    blocks.push({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...reasoning.map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: sealed },
      ],
      complete: { type: "thinking", thinking: reasoning.join(""), signature: sealed },
    });
  if (text !== undefined)
    blocks.push({
      start: { type: "text", text: "" },
      deltas: text.map((fragment) => ({ type: "text_delta", text: fragment })),
      complete: { type: "text", text: text.join("") },
    });
  for (const { id, name, arguments: deltas } of calls) {
    const block = { type: "tool_use", id, name };
    blocks.push({
      start: { ...block, input: {} },
      deltas: deltas.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      complete: { ...block, input: parseInput(deltas.join("")) },
    });
  }
  return blocks;
}

/** A complete reply cannot hold arguments that are not JSON. */
function parseInput(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return {};
  }
}

function buildMessage(reply: ScriptedReply): JsonObject {
  const { id = "1", calls, usage } = reply;
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: "some-model",
    content: buildBlocks(reply).map(({ complete }) => complete),
    stop_reason: calls === undefined ? "end_turn" : "tool_use",
    stop_sequence: null,
    ...(usage === undefined ? {} : { usage: messageUsage(usage) }),
  };
}

function messageUsage({ input, output }: { input: number; output: number }): JsonObject {
  return { input_tokens: input, output_tokens: output };
}

function messageEvents(reply: ScriptedReply): JsonObject[] {
  const { stop_reason, ...message } = buildMessage(reply);
  const { usage } = reply;
  const startUsage = usage === undefined ? {} : { usage: messageUsage({ ...usage, output: 1 }) };
  return [
    {
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, ...startUsage },
    },
    ...buildBlocks(reply).flatMap(({ start, deltas }, index) => [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: stop_reason ?? null, stop_sequence: null },
      ...(usage === undefined ? {} : { usage: { output_tokens: usage.output } }),
    },
    { type: "message_stop" },
  ];
}
