import { trimSplitSurrogates } from "@deltawire/tasks";
import {
  findOutdatedNodes,
  getVersionText,
  type Chat,
  type ChatNode,
} from "@deltawire/tasks/chats";
import { estimateLines, charactersPerLine, lineHeight } from "../ui/lazy-mount.tsx";

/** Nodes that mount and unmount together: a question and its answer. */
export const nodesPerGroup = 2;
/** Distant nodes share one empty box per section, so that a thousand nodes need only fifty boxes. */
export const nodesPerSection = 20;

/** A node of the path with its neighbors and siblings. */
export interface ThreadNode {
  readonly node: ChatNode;
  readonly previousNode: ChatNode | undefined;
  readonly nextNode: ChatNode | undefined;
  /** Ids of all children of the parent in order, including this node. */
  readonly siblingIds: readonly string[];
  /** True if the node responds to a version of its parent other than the chosen one. */
  readonly isOutdated: boolean;
}

/** Props of the view of one kind of node. */
export interface ThreadNodeProps<Node extends ChatNode> extends ThreadNode {
  readonly node: Node;
  /** True for the target of a link or a search. */
  readonly isHighlighted: boolean;
  readonly isBookmarked: boolean;
}

export function toThreadNodes(chat: Chat, path: readonly ChatNode[]): ThreadNode[] {
  const outdated = findOutdatedNodes(chat, path);
  return path.map((node, index) => {
    const previousNode = path[index - 1];
    return {
      node,
      previousNode,
      nextNode: path[index + 1],
      siblingIds: previousNode?.children ?? chat.roots,
      isOutdated: outdated.has(node.node_id),
    };
  });
}

export function containsNode(
  threadNodes: readonly ThreadNode[],
  nodeId: string | undefined,
): boolean {
  return threadNodes.some(({ node }) => node.node_id === nodeId);
}

const separatorHeight = 56;
/** Height of a message or an answer without its text. */
const messageChromeHeight = 96;
const answerChromeHeight = 120;

/** Estimates the height in px of nodes that were never mounted, accurately enough for the scrollbar. */
export function estimateNodesHeight(nodes: readonly ChatNode[]): number {
  return nodes.reduce((sum, node) => sum + estimateNodeHeight(node), 0);
}

function estimateNodeHeight(node: ChatNode): number {
  if (node.kind === "separator") return separatorHeight;
  const version = node.versions.find(({ version_id }) => version_id === node.version);
  const lines = version === undefined ? 1 : estimateLines(getVersionText(version));
  return node.kind === "user"
    ? messageChromeHeight + Math.min(lines, maxMessageLines) * lineHeight
    : answerChromeHeight + lines * lineHeight;
}

/** Longer user messages are collapsed. */
const maxMessageLines = 20;
const maxMessageCharacters = maxMessageLines * charactersPerLine;

/** Returns the beginning of long text. Undefined if the text is short enough to be shown completely. */
export function truncateLongText(text: string): string | undefined {
  let end = -1;
  for (let line = 0; line < maxMessageLines; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end === -1) break;
  }
  const linesEnd = end === -1 ? text.length : end;
  // A button that reveals only a little more text is not worth it.
  if (
    linesEnd === text.length
      ? text.length <= maxMessageCharacters * 1.25
      : linesEnd > text.length - 120
  )
    return undefined;
  return trimSplitSurrogates(text.slice(0, Math.min(linesEnd, maxMessageCharacters)));
}
