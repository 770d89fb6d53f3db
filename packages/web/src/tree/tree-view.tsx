import { assertNever } from "@deltawire/tasks";
import { useEffect, useMemo, useRef, useState, type Ref } from "react";
import { flushSync } from "react-dom";
import { findNode, type Chat } from "@deltawire/tasks/chats";
import { MissingChat } from "../chat/missing-chat.tsx";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, useOpenChat, useAppStore } from "../hooks/use-app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { EmptyState, Spinner } from "../ui/indicators.tsx";
import type { OpenChat } from "../state/app-store.ts";
import { formatHashRoute } from "../browser/hash-router.ts";
import { useMessages } from "../messages/use-messages.ts";
import {
  filterExistingVersions,
  sideLabels,
  findMessageNode,
  toggleComparedVersion,
  getAdjacentVersions,
  type ComparedVersions,
} from "./compared-versions.ts";
import { CompareView } from "./compare-view.tsx";
import { TreeCanvas, type TreeCanvasHandle } from "./tree-canvas.tsx";
import { SidePanel } from "./side-panel.tsx";
import { layoutChatTree } from "./chat-tree-layout.ts";
import { buildChatTree, type ChatTree } from "./chat-tree.ts";
import { findLastItemOnPath } from "./keyboard-navigation.ts";
import { treeMessages } from "./messages.ts";
import "./tree.css";

/** The chat with all its branches as a tree, to navigate and to compare messages. */
export function TreeView({ chatId }: { chatId: string }) {
  const t = useMessages(treeMessages);
  const openChat = useOpenChat(chatId);
  const state = useCell(openChat.state);
  switch (state.status) {
    case "loading":
      return (
        <div className="tree-loading">
          <Spinner label={t.loading} />
        </div>
      );
    case "missing":
      return <MissingChat />;
    case "failed":
      return (
        <EmptyState title={t.failed} text={state.message}>
          <Button icon="redo" onClick={() => void openChat.reload()}>
            {t.retry}
          </Button>
        </EmptyState>
      );
    case "ready":
      return <LoadedTree openChat={openChat} chat={state.chat} />;
    default:
      return assertNever(state);
  }
}

/** The button that opened the comparison, which receives the focus when it closes. */
type ComparisonSource = "versions" | "selection";

function LoadedTree({ openChat, chat }: { openChat: OpenChat; chat: Chat }) {
  const app = useAppStore();
  const t = useMessages(treeMessages);
  const tree = useMemo(() => buildChatTree(chat), [chat]);
  const layout = useMemo(() => layoutChatTree(chat.roots, tree), [chat.roots, tree]);
  const canvas = useRef<TreeCanvasHandle>(null);
  const [selectedId, setSelectedId] = useState<string>();
  const [comparedVersions, setComparedVersions] = useState<ComparedVersions>([]);
  const [comparisonSource, setComparisonSource] = useState<ComparisonSource>();
  const compareVersionsButton = useRef<HTMLButtonElement>(null);
  const compareSelectionButton = useRef<HTMLButtonElement>(null);
  const versions = filterExistingVersions(chat, comparedVersions);
  const sideLabelByNode = useMemo(
    () => new Map(comparedVersions.map(({ nodeId }, index) => [nodeId, sideLabels[index] ?? ""])),
    [comparedVersions],
  );

  const showInChat = async (nodeId: string) => {
    if (tree.get(nodeId)?.isOnPath !== true)
      await openChat.change({ type: "choose_branch", node_id: nodeId });
    app.router.navigate({ type: "chat", chatId: chat.chat_id, nodeId });
  };
  const toggleCompared = (nodeId: string) => {
    const node = findMessageNode(chat, nodeId);
    if (node === undefined) return;
    setComparedVersions(toggleComparedVersion(versions, { nodeId, versionId: node.version }));
    setComparisonSource(undefined);
  };
  const compareVersions = (nodeId: string) => {
    const node = findMessageNode(chat, nodeId);
    const adjacentVersions = node === undefined ? undefined : getAdjacentVersions(node);
    if (adjacentVersions === undefined) return;
    setComparedVersions(adjacentVersions);
    setComparisonSource("versions");
  };
  // A compared version may be deleted in another tab.
  const isDeleted = comparisonSource !== undefined && versions.length < sideLabels.length;
  useEffect(() => {
    if (!isDeleted) return;
    canvas.current?.focus();
    app.toasts.show({ kind: "info", text: t.compareMissing });
  }, [isDeleted, app, t]);
  const backToTree = () => {
    flushSync(() => setComparisonSource(undefined));
    const button = comparisonSource === "versions" ? compareVersionsButton : compareSelectionButton;
    button.current?.focus();
  };
  const goToPathEnd = () => {
    const end = findLastItemOnPath(tree);
    if (end !== undefined) canvas.current?.centerOnNode(end);
  };
  useCommands([
    {
      id: "tree.in",
      title: t.zoomIn,
      group: t.group,
      keys: "+",
      run: () => canvas.current?.zoom(1.25),
    },
    {
      id: "tree.out",
      title: t.zoomOut,
      group: t.group,
      keys: "-",
      run: () => canvas.current?.zoom(0.8),
    },
    {
      id: "tree.fit",
      title: t.fit,
      group: t.group,
      keys: "0",
      run: () => canvas.current?.fit(),
    },
    { id: "tree.path", title: t.toPath, group: t.group, run: goToPathEnd },
  ]);

  if (comparisonSource !== undefined && !isDeleted)
    return (
      <CompareView
        openChat={openChat}
        chat={chat}
        versions={versions}
        onChange={setComparedVersions}
        onShowInChat={(nodeId) => void showInChat(nodeId)}
        onBack={backToTree}
      />
    );
  const node = selectedId === undefined ? undefined : findNode(chat, selectedId);
  return (
    <section className="tree" aria-label={t.tree} data-panel={node !== undefined || undefined}>
      <header className="tree-toolbar">
        <a
          className="icon-button"
          href={formatHashRoute({ type: "chat", chatId: chat.chat_id })}
          aria-label={t.backToChat}
          title={t.backToChat}
        >
          <Icon name="back" />
        </a>
        <h1 className="single-line" dir="auto">
          {chat.title === "" ? t.untitled : chat.title}
        </h1>
        <span className="muted">{formatTreeCounts(tree, t.count)}</span>
      </header>
      <div className="tree-area">
        {tree.size === 0 ? (
          <EmptyState title={t.empty} text={t.emptyText} />
        ) : (
          <TreeCanvas
            tree={tree}
            layout={layout}
            selectedId={selectedId}
            sideLabels={sideLabelByNode}
            onSelect={setSelectedId}
            onOpen={(nodeId) => void showInChat(nodeId)}
            onToggleCompared={toggleCompared}
            handle={canvas}
          />
        )}
        <div className="tree-tools" role="group" aria-label={t.group}>
          <IconButton icon="add" label={t.zoomIn} onClick={() => canvas.current?.zoom(1.25)} />
          <IconButton icon="minus" label={t.zoomOut} onClick={() => canvas.current?.zoom(0.8)} />
          <IconButton icon="fit" label={t.fit} onClick={() => canvas.current?.fit()} />
          <IconButton icon="target" label={t.toPath} onClick={goToPathEnd} />
        </div>
        {versions.length > 0 && (
          <ComparisonBar
            count={versions.length}
            compareButton={compareSelectionButton}
            onCompare={() => setComparisonSource("selection")}
            onClear={() => setComparedVersions([])}
          />
        )}
      </div>
      {selectedId !== undefined && node !== undefined && (
        <SidePanel
          chat={openChat}
          node={node.kind === "separator" ? undefined : node}
          isSeparator={node.kind === "separator"}
          isCompared={sideLabelByNode.has(selectedId)}
          onShowInChat={() => void showInChat(selectedId)}
          compareButton={compareVersionsButton}
          onCompareVersions={() => compareVersions(selectedId)}
          onToggleCompared={() => toggleCompared(selectedId)}
          onClose={() => setSelectedId(undefined)}
        />
      )}
    </section>
  );
}

function formatTreeCounts(
  tree: ChatTree,
  formatCount: (messages: number, branches: number) => string,
): string {
  const items = [...tree.values()];
  const messageCount = items.filter(({ kind }) => kind !== "separator").length;
  return formatCount(messageCount, items.filter(({ children }) => children.length === 0).length);
}

interface ComparisonBarProps {
  count: number;
  compareButton: Ref<HTMLButtonElement>;
  onCompare: () => void;
  onClear: () => void;
}

function ComparisonBar({ count, compareButton, onCompare, onClear }: ComparisonBarProps) {
  const t = useMessages(treeMessages);
  const isReady = count === sideLabels.length;
  return (
    <div className="tree-comparison-bar" role="status">
      <span>{isReady ? t.twoSelected : t.oneSelected}</span>
      {isReady && (
        <Button ref={compareButton} kind="primary" small onClick={onCompare}>
          {t.compare}
        </Button>
      )}
      <Button kind="ghost" small onClick={onClear}>
        {t.clear}
      </Button>
    </div>
  );
}
