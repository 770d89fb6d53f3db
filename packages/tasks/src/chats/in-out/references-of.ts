import { annotate } from "../../markdown/annotator.ts";
import type { Reference } from "../../items.ts";
import { citedAnswers, type CitedAnswer } from "../cited-answer.ts";
import type { AnswerVersion, Chat } from "../shapes.ts";

/** A text cut at its markers of known references; those in code and of unknown numbers are text. */
export function cutAtMarkers(
  text: string,
  isKnown: (reference: number) => boolean,
): (string | { reference: number })[] {
  const pieces: (string | { reference: number })[] = [];
  let at = 0;
  for (const { reference_id, start_index, end_index } of annotate(text, isKnown)) {
    if (!isKnown(reference_id)) continue;
    pieces.push(text.slice(at, start_index), { reference: reference_id });
    at = end_index;
  }
  return [...pieces, text.slice(at)];
}

/** The answers of an export by the numbers that they have there, for what cites them. */
export class ExportedAnswers {
  readonly #chat: Chat;
  readonly #numbers = new Map<AnswerVersion, number>();

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** Numbers an answer, and returns who has the reference of a number that it cites: itself, or one before it. */
  add(answer: CitedAnswer): { number: number; ownerOf: (reference: number) => number | undefined } {
    const { version } = answer;
    const number = this.#numbers.size + 1;
    this.#numbers.set(version, number);
    const own = new Set(version.references.map(({ reference_id }) => reference_id));
    let earlier: ReturnType<typeof citedAnswers> | undefined;
    const ownerOf = (reference: number): number | undefined => {
      if (own.has(reference)) return number;
      // Once for an answer: a text may have thousands of markers.
      earlier ??= citedAnswers(this.#chat, answer);
      const cited = earlier.get(reference);
      return cited && this.#numbers.get(cited.version);
    };
    return { number, ownerOf };
  }
}

/** What a reference is called: its title, or that of what a sub-agent has cited, or the tool that found it. */
export function referenceTitle(reference: Reference, version: AnswerVersion): string {
  const titled = [reference, ...sourcesOf(reference, version)].find(
    ({ title = "" }) => title.trim() !== "",
  );
  if (titled?.title !== undefined) return titled.title;
  const { output } = version;
  const result = output.find(({ id }) => id === reference.item_id);
  const call =
    result?.type === "tool_result"
      ? output.find((item) => item.type === "tool_call" && item.call_id === result.call_id)
      : undefined;
  return call?.type === "tool_call" ? `Result of ${call.name}` : `Source ${reference.reference_id}`;
}

/** Where it comes from, from one sub-agent to the next below it. A file that was imported may lead round in a circle. */
function sourcesOf(reference: Reference, { child_references = [] }: AnswerVersion): Reference[] {
  const sources: Reference[] = [];
  for (let { source } = reference; source !== undefined;) {
    const { task_id, reference_id } = source;
    const next = child_references.find(
      (each) => each.task_id === task_id && each.reference_id === reference_id,
    );
    if (next === undefined || sources.includes(next)) break;
    sources.push(next);
    ({ source } = next);
  }
  return sources;
}
