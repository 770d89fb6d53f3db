import { wholeCharacters } from "@deltawire/tasks";
import { outdatedNodes, wordsOf, type Chat, type ChatNode } from "@deltawire/tasks/chats";
import { guessedLines, lettersInLine, lineHeight } from "../parts/lazy-mount.tsx";

/** How many nodes are mounted, and unmounted, at once: a question and its answer. */
export const groupSize = 2;
/** How many are one box as long as they are far away: a thousand nodes are fifty boxes. */
export const stretchSize = 20;

/** A node where it stands. */
export interface Placed {
  readonly node: ChatNode;
  readonly above: ChatNode | undefined;
  readonly below: ChatNode | undefined;
  /** All that stand under the same node, itself too, in their order. */
  readonly branches: readonly string[];
  /** Written for another version of what is above. */
  readonly isOutdated: boolean;
}

/** What a node of one kind is drawn from. */
export interface NodeProps<Node extends ChatNode> extends Placed {
  readonly node: Node;
  /** Somebody came to see it. */
  readonly isMarked: boolean;
  readonly isBookmarked: boolean;
}

export function placedOn(chat: Chat, path: readonly ChatNode[]): Placed[] {
  const outdated = outdatedNodes(chat, path);
  return path.map((node, at) => {
    const above = path[at - 1];
    return {
      node,
      above,
      below: path[at + 1],
      branches: above?.children ?? chat.roots,
      isOutdated: outdated.has(node.node_id),
    };
  });
}

export function hasNode(placed: readonly Placed[], nodeId: string | undefined): boolean {
  return placed.some(({ node }) => node.node_id === nodeId);
}

const aroundMessage = 96;
const aroundAnswer = 120;

/** How high nodes may be that were never drawn, in px: near enough that the scrollbar does not lie. */
export function guessedHeight(nodes: readonly ChatNode[]): number {
  return nodes.reduce((sum, node) => sum + guessedHeightOf(node), 0);
}

function guessedHeightOf(node: ChatNode): number {
  if (node.kind === "separator") return 56;
  const shown = node.versions.find(({ version_id }) => version_id === node.version);
  const lines = shown === undefined ? 1 : guessedLines(wordsOf(shown));
  return node.kind === "user"
    ? aroundMessage + Math.min(lines, foldAfter) * lineHeight
    : aroundAnswer + lines * lineHeight;
}

/** A message of the user is folded that has more lines. */
const foldAfter = 20;
const mostLetters = foldAfter * lettersInLine;

/** The beginning of a text that is too long to be shown whole; undefined of one that is not. */
export function foldedText(text: string): string | undefined {
  let end = -1;
  for (let line = 0; line < foldAfter; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end === -1) break;
  }
  const byLines = end === -1 ? text.length : end;
  // A little more than the most is not worth a button.
  if (byLines === text.length ? text.length <= mostLetters * 1.25 : byLines > text.length - 120)
    return undefined;
  return wholeCharacters(text.slice(0, Math.min(byLines, mostLetters)));
}
