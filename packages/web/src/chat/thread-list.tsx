import { memo, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import {
  chosenVersion,
  type Chat,
  type ChatNode,
  type SeparatorNode,
} from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { partsOf } from "../parts-of.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import {
  createLazyMountScope,
  LazyMount,
  LazyMountContext,
  useLazyMountScope,
} from "../parts/lazy-mount.tsx";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { AnswerFrame } from "./answer-frame.tsx";
import { createFollower, type Follower } from "./follow.ts";
import {
  groupSize,
  guessedHeight,
  hasNode,
  placedOn,
  stretchSize,
  type NodeProps,
  type Placed,
} from "./groups.ts";
import { elementId, useThread, type Thread } from "./thread.ts";
import { UserMessage } from "./user-message.tsx";
import { chatWords } from "./words.ts";

interface ThreadListProps {
  thread: Thread;
  chat: Chat;
  path: readonly ChatNode[];
  isBranching: boolean;
  /** The message that somebody wants to see: then it does not open at the end. */
  comesFor: string | undefined;
}

/** All that stands on the path; what is far from the view is not drawn. */
export function ThreadList({ thread, chat, path, isBranching, comesFor }: ThreadListProps) {
  const words = useWords(chatWords);
  const [opensElsewhere] = useState(comesFor !== undefined);
  const [follower] = useState(createFollower);
  const [scope] = useState(createLazyMountScope);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const shown = useCell(thread.shown);
  const stretches = partsOf(placedOn(chat, path), stretchSize);

  useEffect(() => scope.open(), [scope]);
  useFollowing(follower, thread, path, opensElsewhere);
  useLayoutEffect(() => {
    if (scroller.current === null || content.current === null) return undefined;
    thread.setToEnd(() => follower.begin("end"));
    return follower.attach(scroller.current, content.current);
  }, [follower, thread]);
  useLayoutEffect(() => {
    if (isBranching) follower.begin("end");
  }, [follower, isBranching]);
  useLayoutEffect(() => {
    if (shown === undefined) return;
    const element = document.getElementById(elementId(shown.nodeId));
    if (element === null) return;
    follower.hold(element);
    if (shown.by === "focus") element.focus({ preventScroll: true });
  }, [shown, follower]);

  return (
    <div className="chat-middle">
      <div
        ref={scroller}
        className="chat-scroller"
        role="log"
        aria-live="off"
        aria-label={words.conversation}
        // Keys scroll it.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <div ref={content} className="chat-content">
          <LazyMountContext value={scope}>
            {stretches.map(({ from, part }) => (
              <Stretch
                // Where a node is inserted those behind it move on: only their place stays.
                key={from}
                stretch={part}
                wanted={shown?.nodeId}
                marked={shown?.by === "mark" ? shown.nodeId : undefined}
                isLast={from + stretchSize >= path.length}
                bookmarks={chat.bookmarks}
              />
            ))}
          </LazyMountContext>
          {isBranching && (
            <p className="chat-branching">
              <Icon name="branch" />
              <span>{words.branchingText}</span>
              <Button small onClick={() => thread.branching.set(undefined)}>
                {words.cancel}
              </Button>
            </p>
          )}
        </div>
      </div>
      <JumpToEnd follower={follower} />
    </div>
  );
}

function useFollowing(
  follower: Follower,
  thread: Thread,
  path: readonly ChatNode[],
  opensElsewhere: boolean,
): void {
  const { preferences } = usePage();
  const last = path.at(-1);
  const answer = last?.kind === "answer" ? chosenVersion(last) : undefined;
  const running = answer?.status === "running" ? answer.version_id : undefined;
  const lastId = last?.node_id;
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    follower.setWritten(() =>
      running === undefined || lastId === undefined
        ? null
        : document.getElementById(elementId(lastId)),
    );
  }, [follower, running, lastId]);
  useLayoutEffect(() => {
    const opened = isFirst.current;
    isFirst.current = false;
    if (opened && opensElsewhere) return follower.letGo();
    // What somebody asks in another window is not what is read in this one.
    if (running !== undefined && (opened || thread.isAsking()))
      follower.begin(preferences.get().follow);
    return undefined;
  }, [follower, thread, running, opensElsewhere, preferences]);
}

function JumpToEnd({ follower }: { follower: Follower }) {
  const words = useWords(chatWords);
  const { isSeen, news } = useCell(follower.end);
  if (isSeen) return null;
  return (
    <Button
      className="chat-to-end"
      icon="down"
      small
      onClick={() => follower.begin("end")}
      data-news={news || undefined}
    >
      {words.jumpToEnd}
      {news && <span className="chat-news">{words.newText}</span>}
    </Button>
  );
}

interface StretchProps {
  stretch: readonly Placed[];
  /** The node that somebody wants to see. */
  wanted: string | undefined;
  marked: string | undefined;
  /** Nothing comes after it. */
  isLast: boolean;
  bookmarks: readonly string[];
}

/** Many nodes in groups, each of which is drawn when it is near. Far away all are one empty box. */
function Stretch({ stretch, wanted, marked, isLast, bookmarks }: StretchProps) {
  return (
    <Nodes placed={stretch} isWanted={hasNode(stretch, wanted)} isLast={isLast}>
      {() =>
        partsOf(stretch, groupSize).map(({ from, part }) => (
          <Nodes
            key={from}
            placed={part}
            isWanted={hasNode(part, wanted)}
            isLast={isLast && from + groupSize >= stretch.length}
          >
            {() =>
              part.map(({ node, above, below, branches, isOutdated }) => (
                <NodeView
                  key={node.node_id}
                  node={node}
                  above={above}
                  below={below}
                  branches={branches}
                  isOutdated={isOutdated}
                  isMarked={node.node_id === marked}
                  isBookmarked={bookmarks.includes(node.node_id)}
                />
              ))
            }
          </Nodes>
        ))
      }
    </Nodes>
  );
}

interface NodesProps {
  placed: readonly Placed[];
  isWanted: boolean;
  isLast: boolean;
  children: () => ReactNode;
}

/** What is added at the end of a list that is open is drawn at once. */
function Nodes({ placed, isWanted, isLast, children }: NodesProps) {
  const scope = useLazyMountScope();
  return (
    <LazyMount
      name={`${placed.length} from ${placed[0]?.node.node_id}`}
      className="chat-lazy"
      guess={() => guessedHeight(placed.map(({ node }) => node))}
      isWanted={isWanted}
      isDrawnAtOnce={isLast && scope.isOpen()}
    >
      {children}
    </LazyMount>
  );
}

/** Drawn again only when something of it is another. */
const NodeView = memo(function NodeView({ node, ...rest }: NodeProps<ChatNode>) {
  switch (node.kind) {
    case "user":
      return <UserMessage node={node} {...rest} />;
    case "answer":
      return <AnswerFrame node={node} {...rest} />;
    case "separator":
      return <SeparatorLine node={node} isMarked={rest.isMarked} />;
    default:
      return unreachable(node);
  }
});

function SeparatorLine({ node, isMarked }: { node: SeparatorNode; isMarked: boolean }) {
  const words = useWords(chatWords);
  const { chat } = useThread();
  const remove = () => void chat.deleteNode(node.node_id, "keep");
  return (
    <div
      id={elementId(node.node_id)}
      className="chat-separator"
      data-marked={isMarked || undefined}
      data-node={node.node_id}
      tabIndex={-1}
    >
      <span>{words.separatorText}</span>
      <IconButton icon="close" small label={words.deleteSeparator} onClick={remove} />
    </div>
  );
}
