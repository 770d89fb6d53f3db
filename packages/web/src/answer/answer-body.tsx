import { memo, useMemo, useState, type ReactNode } from "react";
import { emptyTree, reuseItems, type TaskTree } from "@deltawire/tasks";
import { toAnswerTree, type AnswerNode, type AnswerVersion } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { createCell, type Cell } from "../cell.ts";
import { LazyMountContext, useLazyMountScopeOrNew } from "../ui/lazy-mount.tsx";
import type { OpenChat } from "../state/app-store.ts";
import { getLoadedChat } from "../state/open-chat.ts";
import { buildAnswerViewModel, type AnswerViewModel } from "./answer-view-model.ts";
import { EarlierSourcesContext, createEarlierSources } from "./earlier-sources.ts";
import { AnswerEndingNotice } from "./answer-ending.tsx";
import { AnswerNotices } from "./answer-notices.tsx";
import { AnswerContext } from "./answer-context.ts";
import { SourceList } from "./source-list.tsx";
import { Timeline } from "./timeline.tsx";
import "./answer.css";

interface AnswerBodyProps {
  chat: OpenChat;
  node: AnswerNode;
  version: AnswerVersion;
  /** True if a later version continues this one. The ending is then not shown. */
  isContinued?: boolean;
  /** Scrolls another answer of the chat into view. */
  showNode?: ((nodeId: string) => Promise<boolean>) | undefined;
  /** Buttons below an error message. */
  failureActions?: ReactNode;
}

/** One version of an answer, rendered from its live task while it runs and from the stored chat afterwards. */
export const AnswerBody = memo(function AnswerBody({
  chat,
  node,
  version,
  isContinued = false,
  showNode,
  failureActions,
}: AnswerBodyProps) {
  const view = useAnswerViewModel(version);
  const scope = useLazyMountScopeOrNew();
  const { task_id: rootTaskId, version_id: versionId } = version;
  const { node_id: nodeId } = node;
  const context = useMemo(
    () => ({ chat, rootTaskId, nodeId, versionId, isContinued }),
    [chat, rootTaskId, nodeId, versionId, isContinued],
  );
  const earlierSources = useMemo(
    () => createEarlierSources(() => getLoadedChat(chat), { node, version }, showNode),
    [chat, node, version, showNode],
  );
  return (
    <AnswerContext value={context}>
      <EarlierSourcesContext value={earlierSources}>
        <div className="answer" dir="auto">
          <LazyMountContext value={scope}>
            <Timeline timeline={view.timeline} depth={0} />
          </LazyMountContext>
          {!isContinued && (
            <AnswerEndingNotice
              status={view.status}
              error={view.error}
              isTruncated={isTruncated(view)}
              actions={failureActions}
            />
          )}
          {!view.timeline.isRunning && (
            <SourceList
              sources={view.timeline.sources}
              earlierSources={earlierSources}
              citedNumbers={view.citedNumbers}
              versionId={versionId}
            />
          )}
          <AnswerNotices notices={view.notices} warnings={view.warnings} versionId={versionId} />
        </div>
      </EarlierSourcesContext>
    </AnswerContext>
  );
});

function useAnswerViewModel(version: AnswerVersion): AnswerViewModel {
  const app = useAppStore();
  const isLive = version.status === "running" && version.task_id !== undefined;
  const tree = useCell(isLive ? app.taskTree(version.task_id ?? "") : emptyTreeCell);
  const [readViewModel] = useState(createAnswerViewModelReader);
  return readViewModel(isLive ? tree : undefined, version);
}

function isTruncated({ timeline }: AnswerViewModel): boolean {
  const lastStep = timeline.stepChunks.at(-1)?.at(-1);
  return lastStep?.type === "message" && lastStep.item.status === "incomplete";
}

const emptyTreeCell: Cell<TaskTree | undefined> = createCell<TaskTree | undefined>(undefined);

/** Returns a function that builds view models. Parts that have not changed since the last call are reused. */
function createAnswerViewModelReader(): (
  tree: TaskTree | undefined,
  version: AnswerVersion,
) => AnswerViewModel {
  let previous:
    | {
        liveTree: TaskTree | undefined;
        version: AnswerVersion;
        tree: TaskTree;
        view: AnswerViewModel;
      }
    | undefined;
  return (liveTree, version) => {
    if (previous?.liveTree === liveTree && previous?.version === version) return previous.view;
    // When an answer ends, its stored items equal the live ones: reusing those objects avoids rerendering.
    const storedTree = () => reuseItems(toAnswerTree(version), previous?.tree ?? emptyTree);
    const tree = liveTree !== undefined && liveTree.head >= 0 ? liveTree : storedTree();
    const view = buildAnswerViewModel(version, tree, previous?.view);
    previous = { liveTree, version, tree, view };
    return view;
  };
}
