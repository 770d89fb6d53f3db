import { memo, useMemo, useState, type ReactNode } from "react";
import { emptyTree, withItemsOf, type TaskTree } from "@deltawire/tasks";
import { answerTree, type AnswerNode, type AnswerVersion, type Chat } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { cell, type Cell } from "../cell.ts";
import { LazyMountContext, useLazyMountScopeOrOwn } from "../parts/lazy-mount.tsx";
import type { OpenChat } from "../state/page.ts";
import { answerView, type AnswerView } from "./answer-view.ts";
import { EarlierSourcesContext, earlierSources } from "./earlier-sources.ts";
import { Ending } from "./ending.tsx";
import { Notes } from "./notes.tsx";
import { SceneContext } from "./scene.ts";
import { SourceList } from "./source-list.tsx";
import { Timeline } from "./timeline.tsx";
import "./answer.css";

interface AnswerProps {
  chat: OpenChat;
  node: AnswerNode;
  version: AnswerVersion;
  /** A later version goes on from it: how it ended no longer counts. */
  isContinued?: boolean;
  /** Brings another answer of the chat into view. */
  showNode?: ((nodeId: string) => Promise<boolean>) | undefined;
  /** Buttons below a failure. */
  failureActions?: ReactNode;
}

/** All that one version of an answer is, drawn from the state of its task: as it is followed, or as the chat has it. */
export const Answer = memo(function Answer({
  chat,
  node,
  version,
  isContinued = false,
  showNode,
  failureActions,
}: AnswerProps) {
  const view = useAnswerView(version);
  const scope = useLazyMountScopeOrOwn();
  const { task_id: rootTaskId, version_id: versionId } = version;
  const { node_id: nodeId } = node;
  const scene = useMemo(
    () => ({ chat, rootTaskId, nodeId, versionId, isContinued }),
    [chat, rootTaskId, nodeId, versionId, isContinued],
  );
  const earlier = useMemo(
    () => earlierSources(() => readyChat(chat), { node, version }, showNode),
    [chat, node, version, showNode],
  );
  return (
    <SceneContext value={scene}>
      <EarlierSourcesContext value={earlier}>
        <div className="answer" dir="auto">
          <LazyMountContext value={scope}>
            <Timeline timeline={view.timeline} depth={0} />
          </LazyMountContext>
          {!isContinued && (
            <Ending
              status={view.status}
              error={view.error}
              isCut={isCut(view)}
              actions={failureActions}
            />
          )}
          {!view.timeline.isRunning && (
            <SourceList
              sources={view.timeline.sources}
              earlier={earlier}
              cited={view.cited}
              versionId={versionId}
            />
          )}
          <Notes notices={view.notices} warnings={view.warnings} versionId={versionId} />
        </div>
      </EarlierSourcesContext>
    </SceneContext>
  );
});

function useAnswerView(version: AnswerVersion): AnswerView {
  const page = usePage();
  const isLive = version.status === "running" && version.task_id !== undefined;
  const tree = useCell(isLive ? page.taskTree(version.task_id ?? "") : noTree);
  const [read] = useState(answerReader);
  return read(isLive ? tree : undefined, version);
}

function readyChat({ state }: OpenChat): Chat | undefined {
  const now = state.get();
  return now.is === "ready" ? now.chat : undefined;
}

function isCut({ timeline }: AnswerView): boolean {
  const last = timeline.pieces.at(-1)?.at(-1);
  return last?.is === "message" && last.item.status === "incomplete";
}

const noTree: Cell<TaskTree | undefined> = cell<TaskTree | undefined>(undefined);

/** Remembers what it has drawn: what has not changed stays the same object. */
function answerReader(): (tree: TaskTree | undefined, version: AnswerVersion) => AnswerView {
  let last:
    | { followed: TaskTree | undefined; version: AnswerVersion; tree: TaskTree; view: AnswerView }
    | undefined;
  return (followed, version) => {
    if (last?.followed === followed && last?.version === version) return last.view;
    // The items of an answer that has just ended are those that were followed.
    const stored = () => withItemsOf(answerTree(version), last?.tree ?? emptyTree);
    const tree = followed !== undefined && followed.head >= 0 ? followed : stored();
    const view = answerView(version, tree, last?.view);
    last = { followed, version, tree, view };
    return view;
  };
}
