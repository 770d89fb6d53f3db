import { answerChain, chosenVersion, pathTo } from "./path.ts";
import type { AnswerNode, AnswerVersion, Chat, ChatNode, UserNode, UserVersion } from "./shapes.ts";

/** Something that a model is told. Of an answer, the versions that it is made of. */
export type ContextEntry =
  | { readonly kind: "user"; readonly node: UserNode; readonly version: UserVersion }
  | {
      readonly kind: "answer";
      readonly node: AnswerNode;
      readonly versions: readonly AnswerVersion[];
    };

/**
 * What a model is told of the path to a node, itself included: the last turns since the last separator, and all that is
 * pinned. A turn begins at a user's message; 0 turns are all. Nothing that is hidden or runs, and no answer that failed.
 */
export function contextOf(
  chat: Chat,
  { upTo, turns }: { upTo: string | null; turns: number },
): readonly ContextEntry[] {
  const path = upTo === null ? [] : pathTo(chat, upTo);
  const start = windowStart(path, turns);
  return path.flatMap((node, index) =>
    node.hidden || (index < start && !node.pinned) ? [] : entryOf(node),
  );
}

/** The messages that nobody is told make no turns. */
function windowStart(path: readonly ChatNode[], turns: number): number {
  const open = path.findLastIndex(({ kind }) => kind === "separator") + 1;
  if (turns <= 0) return open;
  const begins = path.flatMap(({ kind, hidden }, index) =>
    index >= open && kind === "user" && !hidden ? [index] : [],
  );
  return begins.at(-turns) ?? open;
}

function entryOf(node: ChatNode): ContextEntry[] {
  if (node.kind === "separator") return [];
  if (node.kind === "user") return [{ kind: "user", node, version: chosenVersion(node) }];
  const versions = toldVersions(answerChain(node, node.version));
  return versions.length === 0 ? [] : [{ kind: "answer", node, versions }];
}

/**
 * One that was stopped or ran out of time is told as far as it came; one that failed only if another has gone on from
 * it: without its beginning that would make no sense.
 */
export function toldVersions(chain: readonly AnswerVersion[]): AnswerVersion[] {
  const last = chain.findLastIndex(
    (version) => version.status !== "running" && version.status !== "error" && hasItems(version),
  );
  return chain.slice(0, last + 1).filter(hasItems);
}

function hasItems({ output }: AnswerVersion): boolean {
  return output.some(({ type }) => type !== "retracted");
}
