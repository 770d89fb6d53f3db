import { getAnswerChain, findNode } from "./chat-path.ts";
import type { AnswerNode, AnswerVersion, Chat } from "./chat-types.ts";

export interface AnswerNodeVersion {
  readonly node: AnswerNode;
  readonly version: AnswerVersion;
}

/**
 * Returns, for each reference number that a version can cite from other answers, the answer that has it: a version that it
 * continues, or an answer above it. If several have the number, the nearest wins.
 */
export function findCitableAnswers(
  chat: Chat,
  { node, version }: AnswerNodeVersion,
): ReadonlyMap<number, AnswerNodeVersion> {
  const answersByReference = new Map<number, AnswerNodeVersion>();
  const add = (owner: AnswerNode, chain: readonly AnswerVersion[]): void => {
    for (const owningVersion of chain.toReversed())
      for (const { reference_id: number } of owningVersion.references)
        if (!answersByReference.has(number))
          answersByReference.set(number, { node: owner, version: owningVersion });
  };
  add(node, getAnswerChain(node, version.version_id).slice(0, -1));
  for (let { parent } = node; parent !== null;) {
    const above = findNode(chat, parent);
    if (above === undefined) break;
    if (above.kind === "answer") add(above, getAnswerChain(above, above.version));
    ({ parent } = above);
  }
  return answersByReference;
}
