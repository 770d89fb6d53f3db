import { getAnswerChain, getChosenVersion, pathTo } from "./chat-path.ts";
import type {
  AnswerNode,
  AnswerVersion,
  Chat,
  ChatNode,
  UserNode,
  UserVersion,
} from "./chat-types.ts";

/** A message for the model. `versions`: the chosen version of an answer and the versions that it continues, oldest first. */
export type ContextEntry =
  | { readonly kind: "user"; readonly node: UserNode; readonly version: UserVersion }
  | {
      readonly kind: "answer";
      readonly node: AnswerNode;
      readonly versions: readonly AnswerVersion[];
    };

/**
 * Selects what a model receives from the path up to and including a node: the last turns since the last separator, and all pinned
 * nodes. A turn starts at a user message; `turns: 0` selects all of them. Hidden nodes, running answers and failed answers are
 * omitted.
 */
export function selectContext(
  chat: Chat,
  { upTo, turns }: { upTo: string | null; turns: number },
): readonly ContextEntry[] {
  const path = upTo === null ? [] : pathTo(chat, upTo);
  const start = findWindowStart(path, turns);
  return path.flatMap((node, index) =>
    node.hidden || (index < start && !node.pinned) ? [] : toContextEntries(node),
  );
}

/** Returns the index of the first node of the last turns. Hidden messages do not count as turns. */
function findWindowStart(path: readonly ChatNode[], turns: number): number {
  const separatorEnd = path.findLastIndex(({ kind }) => kind === "separator") + 1;
  if (turns <= 0) return separatorEnd;
  const turnStarts = path.flatMap(({ kind, hidden }, index) =>
    index >= separatorEnd && kind === "user" && !hidden ? [index] : [],
  );
  return turnStarts.at(-turns) ?? separatorEnd;
}

function toContextEntries(node: ChatNode): ContextEntry[] {
  if (node.kind === "separator") return [];
  if (node.kind === "user") return [{ kind: "user", node, version: getChosenVersion(node) }];
  const versions = selectContextVersions(getAnswerChain(node, node.version));
  return versions.length === 0 ? [] : [{ kind: "answer", node, versions }];
}

/**
 * Selects the versions of an answer that are sent to a model. Stopped and timed-out versions are included with their partial
 * output; failed ones only if another version continues them, because the continuation would make no sense without its beginning.
 */
export function selectContextVersions(chain: readonly AnswerVersion[]): AnswerVersion[] {
  const lastIndex = chain.findLastIndex(
    (version) => version.status !== "running" && version.status !== "error" && hasItems(version),
  );
  return chain.slice(0, lastIndex + 1).filter(hasItems);
}

function hasItems({ output }: AnswerVersion): boolean {
  return output.some(({ type }) => type !== "retracted");
}
