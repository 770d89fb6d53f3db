import { annotateCitations } from "../../markdown/citation-annotator.ts";
import type { Reference } from "../../items.ts";
import { findCitableAnswers, type AnswerNodeVersion } from "../citable-answers.ts";
import type { AnswerVersion, Chat } from "../chat-types.ts";

/** Splits text at its citation markers. Markers in code and with unknown numbers remain text. */
export function splitAtMarkers(
  text: string,
  isKnown: (reference: number) => boolean,
): (string | { reference: number })[] {
  const pieces: (string | { reference: number })[] = [];
  let position = 0;
  for (const { reference_id, start_index, end_index } of annotateCitations(text, isKnown)) {
    if (!isKnown(reference_id)) continue;
    pieces.push(text.slice(position, start_index), { reference: reference_id });
    position = end_index;
  }
  return [...pieces, text.slice(position)];
}

/** Numbers the answers of an export, so that citations can refer to them. */
export class AnswerNumbering {
  readonly #chat: Chat;
  readonly #numbers = new Map<AnswerVersion, number>();

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** Numbers an answer. `findOwner` returns the number of the answer (this or an earlier one) that has a cited reference. */
  add(answer: AnswerNodeVersion): {
    number: number;
    findOwner: (reference: number) => number | undefined;
  } {
    const { version } = answer;
    const number = this.#numbers.size + 1;
    this.#numbers.set(version, number);
    const references = new Set(version.references.map(({ reference_id }) => reference_id));
    let earlierAnswers: ReturnType<typeof findCitableAnswers> | undefined;
    const findOwner = (reference: number): number | undefined => {
      if (references.has(reference)) return number;
      // Computed only once per answer: it may have thousands of markers.
      earlierAnswers ??= findCitableAnswers(this.#chat, answer);
      const citedAnswer = earlierAnswers.get(reference);
      return citedAnswer && this.#numbers.get(citedAnswer.version);
    };
    return { number, findOwner };
  }
}

/** Returns the title of a reference; if it has none, the title of the source that a sub-agent cited, or the name of the tool. */
export function findReferenceTitle(reference: Reference, version: AnswerVersion): string {
  const titledSource = [reference, ...collectSources(reference, version)].find(
    ({ title = "" }) => title.trim() !== "",
  );
  if (titledSource?.title !== undefined) return titledSource.title;
  const { output } = version;
  const result = output.find(({ id }) => id === reference.item_id);
  const call =
    result?.type === "tool_result"
      ? output.find((item) => item.type === "tool_call" && item.call_id === result.call_id)
      : undefined;
  return call?.type === "tool_call" ? `Result of ${call.name}` : `Source ${reference.reference_id}`;
}

/** Follows a reference through the sub-agents that it comes from. An imported file may contain cycles. */
function collectSources(
  reference: Reference,
  { child_references = [] }: AnswerVersion,
): Reference[] {
  const sources: Reference[] = [];
  for (let { source } = reference; source !== undefined;) {
    const { task_id, reference_id } = source;
    const next = child_references.find(
      (candidate) => candidate.task_id === task_id && candidate.reference_id === reference_id,
    );
    if (next === undefined || sources.includes(next)) break;
    sources.push(next);
    ({ source } = next);
  }
  return sources;
}
