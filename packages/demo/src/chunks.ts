import type { ChatChunk, ChatCompletion, ChatDelta, ChatToolCall } from "@deltawire/wire";
import type { Answer, Move } from "./answer.ts";

/** What all chunks of a reply have in common. */
export interface Envelope {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  newId: (prefix: string) => string;
}

const textPiece = 6;
/** A longer text comes in longer pieces: at the pace of the demo that a person sees, within half a minute. */
const mostPieces = 2000;
const argumentsPiece = 8;

/** The answer as a well-behaved server streams it, the usage included. */
export function chunksOf(
  { moves, finish, usage, choices }: Answer,
  envelope: Envelope,
): ChatChunk[] {
  const { id, created, model } = envelope;
  const common = { id, object: "chat.completion.chunk", created, model };
  const indexes = Array.from({ length: choices }, (_, index) => index);
  const chunks = (delta: ChatDelta, reason: string | null = null): ChatChunk[] =>
    indexes.map((index) => ({
      ...common,
      choices: [{ index, delta, logprobs: null, finish_reason: reason }],
    }));
  return [
    ...chunks({ role: "assistant", content: "" }),
    ...deltas(moves, envelope).flatMap((delta) => chunks(delta)),
    ...chunks({}, finish),
    { ...common, choices: [], usage },
  ];
}

/** The same answer in one piece. */
export function completionOf(
  { moves, finish, usage, choices }: Answer,
  { id, created, model, newId }: Envelope,
): ChatCompletion {
  const text = moves.flatMap((move) => (move.type === "text" ? [move.text] : [])).join("");
  const reasoning = moves
    .flatMap((move) => (move.type === "reasoning" ? [move.text] : []))
    .join("");
  const calls = moves.flatMap((move) => (move.type === "call" ? [toolCall(move, newId)] : []));
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: Array.from({ length: choices }, (_, index) => ({
      index,
      message: {
        role: "assistant",
        content: text === "" ? null : text,
        refusal: null,
        ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
      logprobs: null,
      finish_reason: finish,
    })),
    usage,
  };
}

function deltas(moves: readonly Move[], { newId }: Envelope): ChatDelta[] {
  let calls = 0;
  return moves.flatMap((move): ChatDelta[] => {
    switch (move.type) {
      case "reasoning":
        return pieces(move.text, textPiece).map((text) => ({ reasoning_content: text }));
      case "text":
        return pieces(move.text, Math.max(textPiece, Math.ceil(move.text.length / mostPieces))).map(
          (text) => ({ content: text }),
        );
      case "call":
        return callDeltas(move, calls++, newId("call"));
      default:
        return move;
    }
  });
}

function callDeltas(move: Move & { type: "call" }, index: number, id: string): ChatDelta[] {
  const { kind, name, input } = move;
  const parts = pieces(input, argumentsPiece);
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

function toolCall(move: Move & { type: "call" }, newId: Envelope["newId"]): ChatToolCall {
  const { kind, name, input } = move;
  return kind === "custom"
    ? { id: newId("call"), type: kind, custom: { name, input } }
    : { id: newId("call"), type: kind, function: { name, arguments: input } };
}

/** Whole characters only: half of an emoji is not valid in UTF-8. */
function pieces(text: string, length: number): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + length, text.length);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last < 0xdc00 && end < text.length) end += 1;
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}
