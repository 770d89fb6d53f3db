import { isObject, nonEmptyString } from "../json.ts";
import type { ChatChunk, ChatChunkChoice } from "../shapes/chat-reply.ts";

/** A choice whose index is known: where the server sent none it is the position. */
export type IndexedChoice = ChatChunkChoice & { index: number };

const none: IndexedChoice[] = [];

/** The choices of a chunk; none for a chunk that is only about usage, filters or keeping the line open. */
export function choicesOf(chunk: ChatChunk): IndexedChoice[] {
  const { choices } = chunk;
  if (!Array.isArray(choices)) return none;
  for (let nth = 0; nth < choices.length; nth += 1)
    if (!isObject(choices[nth]) || typeof choices[nth]?.index !== "number")
      return choices.flatMap((choice, position) =>
        isObject(choice) ? [{ ...choice, index: indexOf(choice, position) }] : [],
      );
  return choices as IndexedChoice[];
}

function indexOf(choice: { index?: unknown }, position: number): number {
  return typeof choice.index === "number" ? choice.index : position;
}

/** The error that a chunk tells of, in whichever way; undefined if it is none. */
export function errorIn(chunk: ChatChunk): unknown {
  const { error } = chunk;
  if (isObject(error) || nonEmptyString(error) !== undefined || error === true) return error;
  if (Array.isArray(chunk.choices)) return undefined;
  // vLLM, SGLang and Mistral send the error itself instead of a chunk that has one.
  const told = nonEmptyString(chunk["message"]) !== undefined;
  const coded = chunk["code"] !== undefined || chunk["type"] !== undefined;
  return chunk.object === "error" || (told && coded) ? chunk : undefined;
}
