import { answerChain, nodeOf } from "./path.ts";
import type { AnswerNode, AnswerVersion, Chat } from "./shapes.ts";

export interface CitedAnswer {
  readonly node: AnswerNode;
  readonly version: AnswerVersion;
}

/**
 * Finds the versions that have the references which a version can cite by numbers that are not its own, by number: those that
 * it continues, and the nearest answers above it. References are numbered through a conversation.
 */
export function citedAnswers(
  chat: Chat,
  { node, version }: CitedAnswer,
): ReadonlyMap<number, CitedAnswer> {
  const found = new Map<number, CitedAnswer>();
  const add = (of: AnswerNode, chain: readonly AnswerVersion[]): void => {
    for (const each of chain.toReversed())
      for (const { reference_id: number } of each.references)
        if (!found.has(number)) found.set(number, { node: of, version: each });
  };
  add(node, answerChain(node, version.version_id).slice(0, -1));
  for (let { parent } = node; parent !== null;) {
    const above = nodeOf(chat, parent);
    if (above === undefined) break;
    if (above.kind === "answer") add(above, answerChain(above, above.version));
    ({ parent } = above);
  }
  return found;
}
