import { isObject, nonEmptyString } from "../json.ts";
import { isErrorValue } from "../mapping/upstream-error.ts";
import type { ChatChunk, ChatChunkChoice } from "../shapes/chat-reply.ts";

/** A choice with an index. If the server sent none, its position in the chunk is used. */
export type IndexedChoice = ChatChunkChoice & { index: number };

const noChoices: IndexedChoice[] = [];

/** Returns the choices of a chunk; [] for a chunk with usage, filter results or a keep-alive. */
export function getIndexedChoices(chunk: ChatChunk): IndexedChoice[] {
  const { choices } = chunk;
  if (!Array.isArray(choices)) return noChoices;
  for (let index = 0; index < choices.length; index += 1)
    if (!isObject(choices[index]) || typeof choices[index]?.index !== "number")
      return choices.flatMap((choice, position) =>
        isObject(choice) ? [{ ...choice, index: getChoiceIndex(choice, position) }] : [],
      );
  return choices as IndexedChoice[];
}

function getChoiceIndex(choice: { index?: unknown }, position: number): number {
  return typeof choice.index === "number" ? choice.index : position;
}

/** Returns the error of a chunk in any of the known forms; undefined if it has none. */
export function findChunkError(chunk: ChatChunk): unknown {
  const { error } = chunk;
  if (error !== undefined && error !== null && isErrorValue(error)) return error;
  if (Array.isArray(chunk.choices)) return undefined;
  // An empty error object counts only if the chunk has no other fields.
  if (typeof error === "object" && error !== null && hasOnlyError(chunk)) return error;
  // vLLM, SGLang and Mistral send a bare error object, FastAPI only a `detail`.
  const hasCode = chunk["code"] !== undefined || chunk["type"] !== undefined;
  const isMessage = nonEmptyString(chunk["message"]) !== undefined && hasCode;
  const isDetail = chunk["detail"] !== undefined && isErrorValue(chunk["detail"]);
  return chunk.object === "error" || isMessage || isDetail ? chunk : undefined;
}

function hasOnlyError(chunk: ChatChunk): boolean {
  for (const field in chunk) if (field !== "error" && chunk[field] !== null) return false;
  return true;
}
