import { assertNever } from "@deltawire/tasks";
import { memo, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import {
  getChosenVersion,
  type Chat,
  type ChatNode,
  type SeparatorNode,
} from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { chunk } from "../chunk.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import {
  createLazyMountScope,
  LazyMount,
  LazyMountContext,
  useLazyMountScope,
} from "../ui/lazy-mount.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { AnswerMessageView } from "./answer-message-view.tsx";
import { createScrollFollower, type ScrollFollower } from "./scroll-follower.ts";
import {
  nodesPerGroup,
  estimateNodesHeight,
  containsNode,
  toThreadNodes,
  nodesPerSection,
  type ThreadNodeProps,
  type ThreadNode,
} from "./thread-nodes.ts";
import { getNodeElementId, useThread, type Thread } from "./thread.ts";
import { UserMessageView } from "./user-message-view.tsx";
import { chatViewMessages } from "./messages.ts";

interface ThreadListProps {
  thread: Thread;
  chat: Chat;
  path: readonly ChatNode[];
  isBranching: boolean;
  /** The node to scroll to when the chat is opened. Undefined: the end. */
  targetNodeId: string | undefined;
}

/** The messages on the path. Only those near the viewport are mounted. */
export function ThreadList({ thread, chat, path, isBranching, targetNodeId }: ThreadListProps) {
  const t = useMessages(chatViewMessages);
  const [opensAtTarget] = useState(targetNodeId !== undefined);
  const [follower] = useState(createScrollFollower);
  const [scope] = useState(createLazyMountScope);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const scrollTarget = useCell(thread.scrollTarget);
  const sections = chunk(toThreadNodes(chat, path), nodesPerSection);

  useEffect(() => scope.markRendered(), [scope]);
  useScrollFollowing(follower, thread, path, opensAtTarget);
  useLayoutEffect(() => {
    if (scroller.current === null || content.current === null) return undefined;
    thread.setScrollToEnd(() => follower.follow("end"));
    return follower.attach(scroller.current, content.current);
  }, [follower, thread]);
  useLayoutEffect(() => {
    if (isBranching) follower.follow("end");
  }, [follower, isBranching]);
  useLayoutEffect(() => {
    if (scrollTarget === undefined) return;
    const element = document.getElementById(getNodeElementId(scrollTarget.nodeId));
    if (element === null) return;
    follower.holdAtTop(element);
    if (scrollTarget.by === "focus") element.focus({ preventScroll: true });
  }, [scrollTarget, follower]);

  return (
    <div className="chat-thread">
      <div
        ref={scroller}
        className="chat-scroller"
        role="log"
        aria-live="off"
        aria-label={t.conversation}
        // Focusable, so that it can be scrolled by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <div ref={content} className="chat-content">
          <LazyMountContext value={scope}>
            {sections.map(({ start, items }) => (
              <NodeSection
                // Keyed by position, because an inserted node shifts all nodes after it to other sections.
                key={start}
                threadNodes={items}
                targetNodeId={scrollTarget?.nodeId}
                highlightedNodeId={
                  scrollTarget?.by === "highlight" ? scrollTarget.nodeId : undefined
                }
                isLast={start + nodesPerSection >= path.length}
                bookmarks={chat.bookmarks}
              />
            ))}
          </LazyMountContext>
          {isBranching && (
            <p className="chat-branching">
              <Icon name="branch" />
              <span>{t.branchingText}</span>
              <Button small onClick={() => thread.branching.set(undefined)}>
                {t.cancel}
              </Button>
            </p>
          )}
        </div>
      </div>
      <ScrollToEndButton follower={follower} />
    </div>
  );
}

function useScrollFollowing(
  follower: ScrollFollower,
  thread: Thread,
  path: readonly ChatNode[],
  opensAtTarget: boolean,
): void {
  const { preferences } = useAppStore();
  const lastNode = path.at(-1);
  const answer = lastNode?.kind === "answer" ? getChosenVersion(lastNode) : undefined;
  const runningVersionId = answer?.status === "running" ? answer.version_id : undefined;
  const lastNodeId = lastNode?.node_id;
  const isFirstRun = useRef(true);
  useLayoutEffect(() => {
    follower.setStreamingElement(() =>
      runningVersionId === undefined || lastNodeId === undefined
        ? null
        : document.getElementById(getNodeElementId(lastNodeId)),
    );
  }, [follower, runningVersionId, lastNodeId]);
  useLayoutEffect(() => {
    const isOpening = isFirstRun.current;
    isFirstRun.current = false;
    if (isOpening && opensAtTarget) return follower.detach();
    // Answers requested in another window do not scroll this one.
    if (runningVersionId !== undefined && (isOpening || thread.isRequestingAnswer()))
      follower.follow(preferences.get().follow);
    return undefined;
  }, [follower, thread, runningVersionId, opensAtTarget, preferences]);
}

function ScrollToEndButton({ follower }: { follower: ScrollFollower }) {
  const t = useMessages(chatViewMessages);
  const { isVisible, hasNewContent } = useCell(follower.endVisibility);
  if (isVisible) return null;
  return (
    <Button
      className="chat-scroll-to-end"
      icon="down"
      small
      onClick={() => follower.follow("end")}
      data-new-content={hasNewContent || undefined}
    >
      {t.jumpToEnd}
      {hasNewContent && <span className="chat-new-content">{t.newText}</span>}
    </Button>
  );
}

interface NodeSectionProps {
  threadNodes: readonly ThreadNode[];
  /** This node is mounted even if it is far from the viewport. */
  targetNodeId: string | undefined;
  highlightedNodeId: string | undefined;
  isLast: boolean;
  bookmarks: readonly string[];
}

/** Mounts the groups of nodes that are near the viewport. A distant section is a single empty box. */
function NodeSection({
  threadNodes,
  targetNodeId,
  highlightedNodeId,
  isLast,
  bookmarks,
}: NodeSectionProps) {
  return (
    <LazyNodes
      threadNodes={threadNodes}
      forceMount={containsNode(threadNodes, targetNodeId)}
      isLast={isLast}
    >
      {() =>
        chunk(threadNodes, nodesPerGroup).map(({ start, items }) => (
          <LazyNodes
            key={start}
            threadNodes={items}
            forceMount={containsNode(items, targetNodeId)}
            isLast={isLast && start + nodesPerGroup >= threadNodes.length}
          >
            {() =>
              items.map(({ node, previousNode, nextNode, siblingIds, isOutdated }) => (
                <ThreadNodeView
                  key={node.node_id}
                  node={node}
                  previousNode={previousNode}
                  nextNode={nextNode}
                  siblingIds={siblingIds}
                  isOutdated={isOutdated}
                  isHighlighted={node.node_id === highlightedNodeId}
                  isBookmarked={bookmarks.includes(node.node_id)}
                />
              ))
            }
          </LazyNodes>
        ))
      }
    </LazyNodes>
  );
}

interface LazyNodesProps {
  threadNodes: readonly ThreadNode[];
  forceMount: boolean;
  isLast: boolean;
  children: () => ReactNode;
}

/** Mounts nodes near the viewport. New nodes at the end of a rendered list are mounted immediately. */
function LazyNodes({ threadNodes, forceMount, isLast, children }: LazyNodesProps) {
  const scope = useLazyMountScope();
  return (
    <LazyMount
      cacheKey={`${threadNodes.length} from ${threadNodes[0]?.node.node_id}`}
      className="chat-lazy"
      estimateHeight={() => estimateNodesHeight(threadNodes.map(({ node }) => node))}
      forceMount={forceMount}
      initiallyMounted={isLast && scope.isRendered()}
    >
      {children}
    </LazyMount>
  );
}

const ThreadNodeView = memo(function ThreadNodeView({ node, ...rest }: ThreadNodeProps<ChatNode>) {
  switch (node.kind) {
    case "user":
      return <UserMessageView node={node} {...rest} />;
    case "answer":
      return <AnswerMessageView node={node} {...rest} />;
    case "separator":
      return <SeparatorView node={node} isHighlighted={rest.isHighlighted} />;
    default:
      return assertNever(node);
  }
});

function SeparatorView({ node, isHighlighted }: { node: SeparatorNode; isHighlighted: boolean }) {
  const t = useMessages(chatViewMessages);
  const { chat } = useThread();
  const remove = () => void chat.deleteNode(node.node_id, "keep");
  return (
    <div
      id={getNodeElementId(node.node_id)}
      className="chat-separator"
      data-highlighted={isHighlighted || undefined}
      data-node={node.node_id}
      tabIndex={-1}
    >
      <span>{t.separatorText}</span>
      <IconButton icon="close" small label={t.deleteSeparator} onClick={remove} />
    </div>
  );
}
