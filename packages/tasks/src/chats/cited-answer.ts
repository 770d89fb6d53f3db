import { answerChain, nodeOf } from "./path.ts";
import type { AnswerNode, AnswerVersion, Chat } from "./shapes.ts";

export interface CitedAnswer {
  readonly node: AnswerNode;
  readonly version: AnswerVersion;
}

/**
 * Finds the version that has the reference which a version cites by a number that is not its own: one that it continues,
 * or the nearest answer above it. References are numbered through a conversation.
 */
export function citedAnswer(
  chat: Chat,
  { node, version }: CitedAnswer,
  number: number,
): CitedAnswer | undefined {
  const has = ({ references }: AnswerVersion): boolean =>
    references.some(({ reference_id }) => reference_id === number);
  const continued = answerChain(node, version.version_id).slice(0, -1).findLast(has);
  if (continued !== undefined) return { node, version: continued };
  for (let { parent } = node; parent !== null;) {
    const above = nodeOf(chat, parent);
    if (above === undefined) break;
    const found =
      above.kind === "answer" ? answerChain(above, above.version).findLast(has) : undefined;
    if (above.kind === "answer" && found !== undefined) return { node: above, version: found };
    ({ parent } = above);
  }
  return undefined;
}
