import { isObject, nonEmptyString } from "../json.ts";
import { reportsError } from "../mapping/upstream-error.ts";
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

/** The error that a chunk reports, in whichever form; undefined if it reports none. */
export function errorIn(chunk: ChatChunk): unknown {
  const { error } = chunk;
  if (error !== undefined && error !== null && reportsError(error)) return error;
  if (Array.isArray(chunk.choices)) return undefined;
  // Nothing but an empty error object: there is no reply that it could stand beside.
  if (typeof error === "object" && error !== null && isAlone(chunk)) return error;
  // vLLM, SGLang and Mistral send the error itself instead of a chunk that has one, FastAPI only a `detail`.
  const coded = chunk["code"] !== undefined || chunk["type"] !== undefined;
  const isMessage = nonEmptyString(chunk["message"]) !== undefined && coded;
  const isDetail = chunk["detail"] !== undefined && reportsError(chunk["detail"]);
  return chunk.object === "error" || isMessage || isDetail ? chunk : undefined;
}

function isAlone(chunk: ChatChunk): boolean {
  for (const field in chunk) if (field !== "error" && chunk[field] !== null) return false;
  return true;
}
