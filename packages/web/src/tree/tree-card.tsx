import { memo } from "react";
import type { TaskTree } from "@deltawire/tasks";
import { chatViewMessages } from "../chat/messages.ts";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import type { PositionedNode } from "./tree-layout.ts";
import { cardWidth } from "./chat-tree-layout.ts";
import { wrapLines, excerptMarkdown, isRightToLeft, type ChatTreeItem } from "./chat-tree.ts";
import { treeMessages, type TreeMessages } from "./messages.ts";

interface TreeCardProps {
  item: ChatTreeItem;
  position: PositionedNode;
  /** True for the one card that Tab reaches (roving tabindex). */
  isActive: boolean;
  isSelected: boolean;
  /** "A" or "B" if the node is selected for comparison. */
  sideLabel: string | undefined;
  /** True if text would be illegible at this scale and is not rendered. */
  isSimplified: boolean;
}

/** One node of the tree. */
export const TreeCard = memo(function TreeCard(props: TreeCardProps) {
  const { taskId } = props.item;
  return taskId === undefined ? (
    <CardShape {...props} excerpt={props.item.excerpt} />
  ) : (
    <RunningCard {...props} taskId={taskId} />
  );
});

function RunningCard({ taskId, ...props }: TreeCardProps & { taskId: string }) {
  return <CardShape {...props} excerpt={useLiveExcerpt(taskId) || props.item.excerpt} />;
}

function CardShape({
  item,
  position,
  isActive,
  isSelected,
  sideLabel,
  isSimplified,
  excerpt,
}: TreeCardProps & { excerpt: string }) {
  const t = useMessages(treeMessages);
  const chatMessages = useMessages(chatViewMessages);
  const status = item.state === undefined ? undefined : chatMessages[item.state];
  return (
    <g
      className="tree-card"
      role="treeitem"
      data-node={item.id}
      data-kind={item.kind}
      data-state={item.state}
      data-path={item.isOnPath || undefined}
      data-selected={isSelected || undefined}
      data-hidden={item.isHidden || undefined}
      data-outdated={item.isOutdated || undefined}
      aria-level={item.level}
      aria-posinset={item.position}
      aria-setsize={item.siblingCount}
      aria-selected={isSelected}
      tabIndex={isActive ? 0 : -1}
      transform={`translate(${position.x} ${position.y})`}
    >
      <title>{formatAccessibleName(item, excerpt, status, sideLabel, t)}</title>
      <g aria-hidden="true">
        {item.kind === "separator" ? (
          <SeparatorBar height={position.height} label={isSimplified ? "" : t.separator} />
        ) : (
          <>
            <rect className="tree-card-face" width={cardWidth} height={position.height} rx={10} />
            {item.state !== undefined && item.state !== "done" && (
              <rect
                className="tree-status"
                x={0}
                y={12}
                width={4}
                height={position.height - 24}
                rx={2}
              />
            )}
            {!isSimplified && (
              <CardText item={item} excerpt={excerpt} status={status} messages={t} />
            )}
          </>
        )}
        {sideLabel !== undefined && (
          <g className="tree-side-label" transform={`translate(${cardWidth} 0)`}>
            <circle r={12} />
            {!isSimplified && <text y={4.5}>{sideLabel}</text>}
          </g>
        )}
      </g>
    </g>
  );
}

const paddingPx = 14;
/** In em, at a font size of 13 px. */
const textWidth = (cardWidth - 2 * paddingPx) / 13;

interface CardTextProps {
  item: ChatTreeItem;
  excerpt: string;
  status: string | undefined;
  messages: TreeMessages;
}

function CardText({ item, excerpt, status, messages: t }: CardTextProps) {
  const text = excerpt === "" ? (status ?? t.noText) : excerpt;
  const isRtl = isRightToLeft(text);
  const badges = getBadgePaths(item);
  const author = wrapLines(formatAuthor(item, t), 15 - badges.length * 1.5, 1)[0] ?? "";
  return (
    <>
      <text className="tree-author" x={paddingPx} y={22}>
        {author}
      </text>
      {badges.map((path, index) => (
        <path
          key={path}
          className="tree-badge"
          d={path}
          transform={`translate(${cardWidth - paddingPx - 9 - index * 16 - (item.versionCount > 1 ? 38 : 0)} 12)`}
        />
      ))}
      {item.versionCount > 1 && (
        <g transform={`translate(${cardWidth - paddingPx - 32} 8)`}>
          <rect className="tree-versions" width={36} height={19} rx={9.5} />
          <text className="tree-count" x={18} y={13.5}>
            {item.version}/{item.versionCount}
          </text>
        </g>
      )}
      {wrapLines(text, textWidth, 2).map((line, index) => (
        <text
          key={index}
          className="tree-excerpt"
          data-empty={excerpt === "" || undefined}
          direction={isRtl ? "rtl" : "ltr"}
          x={isRtl ? cardWidth - paddingPx : paddingPx}
          y={43 + index * 18}
        >
          {line}
        </text>
      ))}
    </>
  );
}

function SeparatorBar({ height, label }: { height: number; label: string }) {
  return (
    <>
      <rect className="tree-separator" width={cardWidth} height={height} rx={height / 2} />
      <text className="tree-separator-label" x={cardWidth / 2} y={height / 2 + 4}>
        {label}
      </text>
    </>
  );
}

const bookmarkPath = "M0 0h9v12l-4.5-3.5L0 12z";
const pinPath = "M2 0h5v5l2 2v1H0V7l2-2zM4 8h1v4H4z";
const warningPath = "M4.5 0 9 12H0zM4 4v4h1V4zM4 9v1h1V9z";

function getBadgePaths({ isBookmarked, isPinned, isOutdated }: ChatTreeItem): string[] {
  return [
    ...(isOutdated ? [warningPath] : []),
    ...(isBookmarked ? [bookmarkPath] : []),
    ...(isPinned ? [pinPath] : []),
  ];
}

function formatAuthor({ kind, author }: ChatTreeItem, t: TreeMessages): string {
  return kind === "user" ? t.you : (author ?? t.manual);
}

function formatAccessibleName(
  item: ChatTreeItem,
  excerpt: string,
  status: string | undefined,
  sideLabel: string | undefined,
  t: TreeMessages,
): string {
  const facts = [
    status !== undefined && item.state !== "done" ? status : "",
    item.versionCount > 1 ? t.versionOf(item.version, item.versionCount) : "",
    item.siblingCount > 1 ? t.branchOf(item.position, item.siblingCount) : "",
    item.isOnPath ? t.onPath : "",
    item.isOutdated ? t.isOutdated : "",
    item.isBookmarked ? t.isBookmarked : "",
    item.isPinned ? t.isPinned : "",
    item.isHidden ? t.isHidden : "",
    sideLabel === undefined ? "" : t.selectedAs(sideLabel),
  ].filter((fact) => fact !== "");
  const author = item.kind === "separator" ? t.separator : formatAuthor(item, t);
  return `${author}: ${excerpt.slice(0, 100)}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}

/**
 * Returns the beginning of a running answer. Once the excerpt has its full length it no longer changes, so the card is not
 * rerendered.
 */
function useLiveExcerpt(taskId: string): string {
  const app = useAppStore();
  return useCellSelector(app.taskTree(taskId), getFirstMessageExcerpt);
}

export function getFirstMessageExcerpt(tree: TaskTree | undefined): string {
  if (tree === undefined || !Object.hasOwn(tree.tasks, tree.root_task_id)) return "";
  for (const item of tree.tasks[tree.root_task_id]?.output ?? []) {
    if (item.type !== "message") continue;
    for (const block of item.block_list) {
      const excerpt = block.type === "text" ? excerptMarkdown(block.text) : "";
      if (excerpt !== "") return excerpt;
    }
  }
  return "";
}
