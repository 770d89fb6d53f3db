import { historyRefusals } from "./history-refusals.ts";
import type { KnownRefusal, Lesson, Refusal, Tried } from "./lesson.ts";
import { parameterRefusals } from "./parameter-refusals.ts";
import { onceIf, quotesRequest } from "./own-content.ts";
import { wordsOf, type Words } from "./refusal-words.ts";
import { responsesRefusals } from "./responses-refusals.ts";
import { toolRefusals } from "./tool-refusals.ts";

export type { Lesson, LessonCode, Refusal, ResponsesLesson, Tried } from "./lesson.ts";

/**
 * What an upstream's refusal teaches: how to ask again so that it may answer. Undefined for an error that no other way
 * of asking mends (a wrong key, an unknown model, a quota, an overflow), and where everything is done already.
 */
export function lessonOf(refusal: Refusal, tried: Tried): Lesson | undefined {
  const { status, body } = refusal;
  if (!refusing.has(status) && !raising.has(status)) return undefined;
  const words = wordsOf(body);
  if (noRefusals.some((other) => other.test(words.text))) return undefined;
  for (const { about, ...row } of tables[tried.speaks]) {
    if (raising.has(status) && row.as500 !== true) continue;
    const sentences = sentencesOf(row, words);
    if (sentences === undefined || pointsElsewhere(about, words, tried)) continue;
    const change = row.change(tried, words);
    if (change === undefined) continue;
    const { flags = {}, what = row.what, ...rest } = change;
    const said = words.said.slice(0, saidLength);
    return {
      code: row.lesson,
      what,
      said,
      flags,
      ...rest,
      ...onceIf(rest.once === true || quotesRequest(sentences, tried.body)),
    };
  }
  return undefined;
}

/** The words in which the error complains of what a row is about; undefined if it does not. */
function sentencesOf({ says }: KnownRefusal, words: Words): readonly string[] | undefined {
  if (says === undefined) return words.sentences;
  const found = says.flatMap((form) => form.exec(words.text)?.[0] ?? []);
  return found.length === 0 ? undefined : found;
}

/** True if the error points at fields of the request, and at none that a row is about. */
function pointsElsewhere(
  about: readonly string[] | undefined,
  { pointsAt }: Words,
  { body }: Tried,
): boolean {
  if (about === undefined) return false;
  // An error about what a model can do may point at its name.
  const fields = pointsAt.filter((name) => name !== "model" && Object.hasOwn(body, name));
  return fields.length > 0 && !fields.some((name) => about.includes(name));
}

export const saidLength = 200;

const tables: Readonly<Record<Tried["speaks"], readonly KnownRefusal[]>> = {
  chat: [
    ...historyRefusals.map((row) => ({ about: ["messages"], ...row })),
    ...toolRefusals.map((row) => ({ about: ["tools", "tool_choice", "messages"], ...row })),
    ...parameterRefusals,
  ],
  responses: responsesRefusals,
};

/** OpenRouter answers 404 when no provider takes a parameter, vLLM 501 for what it has not built. */
const refusing = new Set([400, 404, 405, 415, 422, 501]);

/** llama.cpp, Ollama and vLLM answer these when a chat template raises an exception: rows that are met so say it. */
const raising = new Set([500, 502]);

/** Errors that may name a parameter, and are about something else. */
const noRefusals = [
  // The context is full: "maximum context length is 8192 tokens … reduce the length of the messages or max_tokens"
  /context[ _](?:length|window|size)|maximum context|prompt is too long|input is too long|reduce the length|too many (?:input )?tokens|exceeds?[^.\n]{0,60}tokens?\b/i,
  /api[ _]key|unauthori[sz]ed|authentication|quota|billing|insufficient (?:funds|balance|credits)|rate.?limit|too many requests|overloaded/i,
  /model_not_found|(?:model|engine|deployment)\b[^.\n]{0,60}(?:does not exist|not found|not exist)|unknown model|no such model/i,
  /content[ _]?(?:filter|policy|management)|data_inspection|responsible ?ai|moderation|usage polic/i,
  // The server has to be started otherwise (vLLM), or the model went astray (Groq)
  /requires --enable-auto-tool-choice|requires --tool-call-parser|tool choice is none, but model called/i,
];
