import { memo } from "react";
import type { TaskTree } from "@deltawire/tasks";
import { chatWords } from "../chat/words.ts";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { useWords } from "../words/use-words.ts";
import type { Placed } from "./layout.ts";
import { cardWidth } from "./sizes.ts";
import { cutLines, firstWordsIn, isRightToLeft, type TreeItem } from "./tree-of.ts";
import { treeWords, type TreeWords } from "./words.ts";

interface CardProps {
  item: TreeItem;
  place: Placed;
  /** Reached by Tab. */
  isActive: boolean;
  isSelected: boolean;
  /** Chosen for comparison, as A or B. */
  letter: string | undefined;
  /** Too small to be read: only its shape is drawn. */
  isFar: boolean;
}

/** One node of the picture. */
export const Card = memo(function Card(props: CardProps) {
  const { taskId } = props.item;
  return taskId === undefined ? (
    <DrawnCard {...props} said={props.item.words} />
  ) : (
    <RunningCard {...props} taskId={taskId} />
  );
});

function RunningCard({ taskId, ...props }: CardProps & { taskId: string }) {
  return <DrawnCard {...props} said={useLiveWords(taskId) || props.item.words} />;
}

function DrawnCard({
  item,
  place,
  isActive,
  isSelected,
  letter,
  isFar,
  said,
}: CardProps & { said: string }) {
  const words = useWords(treeWords);
  const chat = useWords(chatWords);
  const status = item.says === undefined ? undefined : chat[item.says];
  return (
    <g
      className="tree-card"
      role="treeitem"
      data-node={item.id}
      data-kind={item.kind}
      data-says={item.says}
      data-path={item.isOnPath || undefined}
      data-selected={isSelected || undefined}
      data-hidden={item.isHidden || undefined}
      data-outdated={item.isOutdated || undefined}
      aria-level={item.level}
      aria-posinset={item.place}
      aria-setsize={item.beside}
      aria-selected={isSelected}
      tabIndex={isActive ? 0 : -1}
      transform={`translate(${place.x} ${place.y})`}
    >
      <title>{nameOf(item, said, status, letter, words)}</title>
      <g aria-hidden="true">
        {item.kind === "separator" ? (
          <SeparatorBar height={place.height} label={isFar ? "" : words.separator} />
        ) : (
          <>
            <rect className="tree-face" width={cardWidth} height={place.height} rx={10} />
            {item.says !== undefined && item.says !== "done" && (
              <rect
                className="tree-status"
                x={0}
                y={12}
                width={4}
                height={place.height - 24}
                rx={2}
              />
            )}
            {!isFar && <Said item={item} said={said} status={status} words={words} />}
          </>
        )}
        {letter !== undefined && (
          <g className="tree-letter" transform={`translate(${cardWidth} 0)`}>
            <circle r={12} />
            {!isFar && <text y={4.5}>{letter}</text>}
          </g>
        )}
      </g>
    </g>
  );
}

const left = 14;
const textWidth = (cardWidth - 2 * left) / 13;

interface SaidProps {
  item: TreeItem;
  said: string;
  status: string | undefined;
  words: TreeWords;
}

function Said({ item, said, status, words }: SaidProps) {
  const text = said === "" ? (status ?? words.saysNothing) : said;
  const isRtl = isRightToLeft(text);
  const marks = marksOf(item);
  const who = cutLines(whoOf(item, words), 15 - marks.length * 1.5, 1)[0] ?? "";
  return (
    <>
      <text className="tree-who" x={left} y={22}>
        {who}
      </text>
      {marks.map((shape, index) => (
        <path
          key={shape}
          className="tree-mark"
          d={shape}
          transform={`translate(${cardWidth - left - 9 - index * 16 - (item.versions > 1 ? 38 : 0)} 12)`}
        />
      ))}
      {item.versions > 1 && (
        <g transform={`translate(${cardWidth - left - 32} 8)`}>
          <rect className="tree-versions" width={36} height={19} rx={9.5} />
          <text className="tree-count" x={18} y={13.5}>
            {item.version}/{item.versions}
          </text>
        </g>
      )}
      {cutLines(text, textWidth, 2).map((line, index) => (
        <text
          key={index}
          className="tree-said"
          data-empty={said === "" || undefined}
          direction={isRtl ? "rtl" : "ltr"}
          x={isRtl ? cardWidth - left : left}
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
      <rect className="tree-bar" width={cardWidth} height={height} rx={height / 2} />
      <text className="tree-bar-name" x={cardWidth / 2} y={height / 2 + 4}>
        {label}
      </text>
    </>
  );
}

const bookmark = "M0 0h9v12l-4.5-3.5L0 12z";
const pin = "M2 0h5v5l2 2v1H0V7l2-2zM4 8h1v4H4z";

const warning = "M4.5 0 9 12H0zM4 4v4h1V4zM4 9v1h1V9z";

function marksOf({ isBookmarked, isPinned, isOutdated }: TreeItem): string[] {
  return [
    ...(isOutdated ? [warning] : []),
    ...(isBookmarked ? [bookmark] : []),
    ...(isPinned ? [pin] : []),
  ];
}

function whoOf({ kind, by }: TreeItem, words: TreeWords): string {
  return kind === "user" ? words.you : (by ?? words.byHand);
}

function nameOf(
  item: TreeItem,
  said: string,
  status: string | undefined,
  letter: string | undefined,
  words: TreeWords,
): string {
  const facts = [
    status !== undefined && item.says !== "done" ? status : "",
    item.versions > 1 ? words.versionOf(item.version, item.versions) : "",
    item.beside > 1 ? words.branchOf(item.place, item.beside) : "",
    item.isOnPath ? words.onPath : "",
    item.isOutdated ? words.isOutdated : "",
    item.isBookmarked ? words.isBookmarked : "",
    item.isPinned ? words.isPinned : "",
    item.isHidden ? words.isHidden : "",
    letter === undefined ? "" : words.chosenFor(letter),
  ].filter((fact) => fact !== "");
  const who = item.kind === "separator" ? words.separator : whoOf(item, words);
  return `${who}: ${said.slice(0, 100)}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}

/** The first words of an answer that runs. They are drawn again while there are few, and not with every word after that. */
function useLiveWords(taskId: string): string {
  const page = usePage();
  return usePicked(page.taskTree(taskId), firstSaid);
}

export function firstSaid(tree: TaskTree | undefined): string {
  if (tree === undefined || !Object.hasOwn(tree.tasks, tree.root_task_id)) return "";
  for (const item of tree.tasks[tree.root_task_id]?.output ?? []) {
    if (item.type !== "message") continue;
    for (const block of item.block_list) {
      const words = block.type === "text" ? firstWordsIn(block.text) : "";
      if (words !== "") return words;
    }
  }
  return "";
}
