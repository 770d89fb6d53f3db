import type { ChatChunk, ChatCompletion, ChatDelta, ChatReplyToolCall } from "@deltawire/wire";
import type { DemoAnswer, AnswerPart } from "./answer.ts";

/** Fields that all chunks of a reply share. */
export interface ChunkEnvelope {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  newId: (prefix: string) => string;
}

const textDeltaLength = 6;
/** Longer text has longer deltas, so that it takes at most half a minute at the gateway's pace of 15 ms. */
const maxTextDeltas = 2000;
const argumentsDeltaLength = 8;

/** Builds the stream of a standard server, including usage. */
export function buildChunks(
  { parts: answerParts, finishReason, usage, choiceCount }: DemoAnswer,
  envelope: ChunkEnvelope,
): ChatChunk[] {
  const { id, created, model } = envelope;
  const chunkFields = { id, object: "chat.completion.chunk", created, model };
  const indexes = Array.from({ length: choiceCount }, (_, index) => index);
  const toChunks = (delta: ChatDelta, reason: string | null = null): ChatChunk[] =>
    indexes.map((index) => ({
      ...chunkFields,
      choices: [{ index, delta, logprobs: null, finish_reason: reason }],
    }));
  return [
    ...toChunks({ role: "assistant", content: "" }),
    ...buildDeltas(answerParts, envelope).flatMap((delta) => toChunks(delta)),
    ...toChunks({}, finishReason),
    { ...chunkFields, choices: [], usage },
  ];
}

/** Builds the reply that is not streamed. */
export function buildCompletion(
  { parts: answerParts, finishReason, usage, choiceCount }: DemoAnswer,
  { id, created, model, newId }: ChunkEnvelope,
): ChatCompletion {
  const text = answerParts
    .flatMap((answerPart) => (answerPart.type === "text" ? [answerPart.text] : []))
    .join("");
  const reasoning = answerParts
    .flatMap((answerPart) => (answerPart.type === "reasoning" ? [answerPart.text] : []))
    .join("");
  const calls = answerParts.flatMap((answerPart) =>
    answerPart.type === "call" ? [buildToolCall(answerPart, newId)] : [],
  );
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: Array.from({ length: choiceCount }, (_, index) => ({
      index,
      message: {
        role: "assistant",
        content: text === "" ? null : text,
        refusal: null,
        ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
      logprobs: null,
      finish_reason: finishReason,
    })),
    usage,
  };
}

function buildDeltas(answerParts: readonly AnswerPart[], { newId }: ChunkEnvelope): ChatDelta[] {
  let callCount = 0;
  return answerParts.flatMap((answerPart): ChatDelta[] => {
    switch (answerPart.type) {
      case "reasoning":
        return splitText(answerPart.text, textDeltaLength).map((text) => ({
          reasoning_content: text,
        }));
      case "text":
        return splitText(
          answerPart.text,
          Math.max(textDeltaLength, Math.ceil(answerPart.text.length / maxTextDeltas)),
        ).map((text) => ({ content: text }));
      case "call":
        return buildCallDeltas(answerPart, callCount++, newId("call"));
      default:
        return answerPart;
    }
  });
}

function buildCallDeltas(
  answerPart: AnswerPart & { type: "call" },
  index: number,
  id: string,
): ChatDelta[] {
  const { kind, name, input } = answerPart;
  const parts = splitText(input, argumentsDeltaLength);
  if (kind === "custom")
    return [
      { tool_calls: [{ index, id, type: kind, custom: { name, input: "" } }] },
      ...parts.map((part) => ({ tool_calls: [{ index, custom: { input: part } }] })),
    ];
  return [
    { tool_calls: [{ index, id, type: kind, function: { name, arguments: "" } }] },
    ...parts.map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
  ];
}

function buildToolCall(
  answerPart: AnswerPart & { type: "call" },
  newId: ChunkEnvelope["newId"],
): ChatReplyToolCall {
  const { kind, name, input } = answerPart;
  return kind === "custom"
    ? { id: newId("call"), type: kind, custom: { name, input } }
    : { id: newId("call"), type: kind, function: { name, arguments: input } };
}

/** Never splits a surrogate pair: a lone surrogate cannot be encoded in UTF-8. */
function splitText(text: string, length: number): string[] {
  const slices: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + length, text.length);
    const lastCode = text.charCodeAt(end - 1);
    if (lastCode >= 0xd800 && lastCode < 0xdc00 && end < text.length) end += 1;
    slices.push(text.slice(start, end));
    start = end;
  }
  return slices;
}
