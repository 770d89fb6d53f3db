import type { JsonObject } from "@deltawire/wire";
import { formatNamedEvent, type ScriptedReply } from "../../test/wire-replies.ts";

/** Returns the events of a streamed reply of the Messages API. */
export function formatMessageStream(reply: ScriptedReply): string[] {
  const { content, ...message } = buildMessage(reply);
  const { stop_reason: reason, usage } = message;
  const start = { ...message, content: [], stop_reason: null };
  return [
    { type: "message_start", message: start },
    { type: "ping" },
    ...content.flatMap(({ start: block, deltas }, index) => [
      { type: "content_block_start", index, content_block: block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ].map((event) => formatNamedEvent(event as JsonObject));
}

/** Returns a complete reply of the Messages API. */
export function buildMessageReply(reply: ScriptedReply): JsonObject {
  const { content, ...message } = buildMessage(reply);
  return { ...message, content: content.map(({ complete }) => complete) };
}

interface ScriptedBlock {
  start: JsonObject;
  deltas: JsonObject[];
  complete: JsonObject;
}

function buildMessage({ id = "1", reasoning, sealed, text, calls = [], usage }: ScriptedReply) {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: "scripted",
    content: [
      ...(reasoning === undefined ? [] : [buildThinking(reasoning, sealed ?? "")]),
      ...(text === undefined ? [] : [buildText(text)]),
      ...calls.map(buildToolUse),
    ],
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: usage?.input ?? 1, output_tokens: usage?.output ?? 1 },
  };
}

function buildThinking(deltas: string[], signature: string): ScriptedBlock {
  return {
    start: { type: "thinking", thinking: "", signature: "" },
    deltas: [
      ...deltas.map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature },
    ],
    complete: { type: "thinking", thinking: deltas.join(""), signature },
  };
}

function buildText(deltas: string[]): ScriptedBlock {
  return {
    start: { type: "text", text: "" },
    deltas: deltas.map((text) => ({ type: "text_delta", text })),
    complete: { type: "text", text: deltas.join("") },
  };
}

function buildToolUse({
  id,
  name,
  arguments: deltas,
}: NonNullable<ScriptedReply["calls"]>[number]): ScriptedBlock {
  return {
    start: { type: "tool_use", id, name, input: {} },
    deltas: deltas.map((json) => ({ type: "input_json_delta", partial_json: json })),
    complete: { type: "tool_use", id, name, input: JSON.parse(deltas.join("")) as JsonObject },
  };
}
