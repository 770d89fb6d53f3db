import { assertNever } from "@deltawire/tasks";
import { useEffect, useLayoutEffect, useState } from "react";
import { getChosenVersion, type ChatNode } from "@deltawire/tasks/chats";
import { formatHashRoute } from "../browser/hash-router.ts";
import { useCell } from "../hooks/use-cell.ts";
import { useOpenChat, useAppStore } from "../hooks/use-app-store.ts";
import { loadMarkdown } from "../markdown/lazy-markdown.tsx";
import { Button } from "../ui/button.tsx";
import { isCharacterKey, isTypingTarget } from "../ui/keyboard-shortcut.tsx";
import { EmptyState, Spinner } from "../ui/indicators.tsx";
import type { OpenChat, OpenChatState } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { toAnswerState, type AnswerState } from "./answer-summary.ts";
import { ChatViewHeader } from "./chat-view-header.tsx";
import "./chat.css";
import { Composer } from "./composer.tsx";
import { FindBar } from "./find-bar.tsx";
import { MissingChat } from "./missing-chat.tsx";
import { RetryDialog } from "./retry-dialog.tsx";
import { ThreadList } from "./thread-list.tsx";
import { createThread, getVisiblePath, ThreadContext, type Thread } from "./thread.ts";
import { useChatCommands } from "./use-chat-commands.ts";
import { chatViewMessages } from "./messages.ts";

/** A chat with header, messages and composer. */
export function ChatView({ chatId, nodeId }: { chatId: string; nodeId?: string | undefined }) {
  const chat = useOpenChat(chatId);
  useEffect(() => void loadMarkdown(), []);
  return <ChatStateView key={chatId} chat={chat} nodeId={nodeId} />;
}

function ChatStateView({ chat, nodeId }: { chat: OpenChat; nodeId: string | undefined }) {
  const t = useMessages(chatViewMessages);
  const state = useCell(chat.state);
  switch (state.status) {
    case "loading":
      return <LoadingChat chat={chat} />;
    case "missing":
      return <MissingChat />;
    case "failed":
      return (
        <EmptyState title={t.failedTitle} text={state.message}>
          <Button icon="redo" onClick={() => void chat.reload()}>
            {t.tryAgain}
          </Button>
        </EmptyState>
      );
    case "ready":
      return <LoadedChatView chat={chat} state={state} nodeId={nodeId} />;
    default:
      return assertNever(state);
  }
}

function LoadingChat({ chat }: { chat: OpenChat }) {
  const t = useMessages(chatViewMessages);
  useEarlyTyping(chat);
  return (
    <div className="chat-loading">
      <Spinner label={t.loading} />
    </div>
  );
}

interface LoadedChatViewProps {
  chat: OpenChat;
  state: Extract<OpenChatState, { status: "ready" }>;
  nodeId: string | undefined;
}

function LoadedChatView({ chat, state, nodeId }: LoadedChatViewProps) {
  const t = useMessages(chatViewMessages);
  const restore = useRestoreChat(chat);
  const app = useAppStore();
  const [thread] = useState(() => {
    const { edits = {} } = app.getDraft(chat.chatId).get();
    return createThread(chat, Object.keys(edits).at(-1));
  });
  const branching = useCell(thread.branching);
  const isFinding = useCell(thread.findRequests) > 0;
  const { path, parentId, isBranching } = getVisiblePath(state.chat, branching);
  useLayoutEffect(() => thread.endBranchingOnSwitch(), [thread]);
  useShowNode(thread, nodeId);
  useChatCommands(thread, path);
  return (
    <ThreadContext value={thread}>
      <div className={isFinding ? "chat chat-searching" : "chat"}>
        <ChatViewHeader thread={thread} state={state} />
        {isFinding && <FindBar thread={thread} path={path} />}
        {path.length === 0 && !isBranching ? (
          <div className="chat-scroller">
            <EmptyState title={t.emptyTitle} text={t.emptyText} />
          </div>
        ) : (
          <ThreadList
            thread={thread}
            chat={state.chat}
            path={path}
            isBranching={isBranching}
            targetNodeId={nodeId}
          />
        )}
        <AnswerAnnouncer path={path} />
        <div className="chat-composer-area">
          {state.deletedAt === undefined ? (
            <Composer
              chat={thread.chat}
              parentId={parentId}
              runningTaskId={findRunningTaskId(path)}
              onEditLast={() => {
                const lastMessage = path.findLast(({ kind }) => kind === "user");
                if (lastMessage !== undefined) thread.edit(lastMessage.node_id);
              }}
            />
          ) : (
            <p className="chat-deleted">
              {t.deleted}
              <Button icon="undo" onClick={() => void restore()}>
                {t.restore}
              </Button>
            </p>
          )}
        </div>
        <RetryDialog thread={thread} />
      </div>
    </ThreadContext>
  );
}

/**
 * Shows the node in the URL, then removes it from the URL. Otherwise a reload would return to the node even if the user has
 * switched to another branch since, and following the same link again would have no effect.
 */
function useShowNode(thread: Thread, nodeId: string | undefined): void {
  const { router } = useAppStore();
  const { chatId } = thread.chat;
  useLayoutEffect(() => {
    if (nodeId === undefined) return;
    const show = async () => {
      if (!(await thread.showNode(nodeId))) return;
      const route = router.route.get();
      if (route.type === "chat" && route.chatId === chatId && route.nodeId === nodeId)
        router.replace({ type: "chat", chatId });
    };
    void show();
  }, [thread, nodeId, router, chatId]);
}

function findRunningTaskId(path: readonly ChatNode[]): string | undefined {
  const lastNode = path.at(-1);
  if (lastNode?.kind !== "answer") return undefined;
  const { status, task_id } = getChosenVersion(lastNode);
  return status === "running" ? task_id : undefined;
}

/** Adds text that is typed or pasted while the chat is loading to its draft, because there is no composer yet. */
function useEarlyTyping(chat: OpenChat): void {
  const app = useAppStore();
  useLayoutEffect(() => {
    const { chatId } = chat;
    let text = "";
    const isForOtherElement = (event: Event) => {
      if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return true;
      if (isTypingTarget({ target: event.target, key: "" })) return true;
      // The user may have moved on to another row of the chat list by keyboard.
      const row = document.activeElement?.closest("a[data-row]")?.getAttribute("href");
      return row?.startsWith(formatHashRoute({ type: "chat", chatId })) === false;
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.isComposing || isForOtherElement(event)) return;
      const newText = applyKey(text, event);
      if (newText === undefined) return;
      // The key must not trigger a command or follow a link.
      event.preventDefault();
      text = newText;
    };
    const onPaste = (event: ClipboardEvent) => {
      if (isForOtherElement(event)) return;
      text += event.clipboardData?.getData("text/plain") ?? "";
    };
    document.addEventListener("keydown", onKeyDown, { capture: true });
    document.addEventListener("paste", onPaste);
    return () => {
      document.removeEventListener("keydown", onKeyDown, { capture: true });
      document.removeEventListener("paste", onPaste);
      if (text === "" || chat.state.get().status !== "ready") return;
      const draft = app.getDraft(chatId);
      draft.change({ text: draft.get().text + text });
    };
  }, [app, chat]);
}

/** Returns the new text, or undefined if the key does not change it. Space and Backspace have no effect if the text is empty. */
function applyKey(text: string, event: KeyboardEvent): string | undefined {
  if (isCharacterKey(event)) return text + event.key;
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (text === "" || hasModifier) return undefined;
  if (event.key === " ") return `${text} `;
  return event.key === "Backspace" ? text.replace(/.$/su, "") : undefined;
}

/** Returns a function that restores the deleted chat. */
function useRestoreChat(chat: OpenChat): () => Promise<void> {
  const { chatList } = useAppStore();
  return async () => {
    if (await chatList.restore(chat.chatId)) await chat.reload();
  };
}

/** Announces state changes of the answer to screen readers, but not its text. */
function AnswerAnnouncer({ path }: { path: readonly ChatNode[] }) {
  const t = useMessages(chatViewMessages);
  const current = toAnswerAnnouncement(path);
  const [{ previous, announcement }, setState] = useState<{
    previous: AnswerAnnouncement | undefined;
    announcement: AnswerAnnouncement | undefined;
  }>({
    previous: current,
    announcement: undefined,
  });
  if (previous?.versionId !== current?.versionId || previous?.state !== current?.state)
    setState({ previous: current, announcement: nextAnswerAnnouncement(previous, current) });
  return (
    <div role="status" className="visually-hidden">
      {announcement !== undefined && t[announcement.state]}
      {announcement?.message !== undefined && `: ${announcement.message}`}
    </div>
  );
}

/** State of the answer at the end of the path, for an announcement. */
export interface AnswerAnnouncement {
  readonly versionId: string;
  readonly state: AnswerState;
  readonly message: string | undefined;
}

export function toAnswerAnnouncement(path: readonly ChatNode[]): AnswerAnnouncement | undefined {
  const lastNode = path.at(-1);
  if (lastNode?.kind !== "answer") return undefined;
  const version = getChosenVersion(lastNode);
  return {
    versionId: version.version_id,
    state: toAnswerState(version),
    message: version.error?.message,
  };
}

/** Returns undefined if the state is unchanged, or if `current` is another answer that has already ended. */
export function nextAnswerAnnouncement(
  previous: AnswerAnnouncement | undefined,
  current: AnswerAnnouncement | undefined,
): AnswerAnnouncement | undefined {
  if (current === undefined) return undefined;
  if (previous?.versionId === current.versionId)
    return previous.state === current.state ? undefined : current;
  return current.state === "answering" || current.state === "waiting" ? current : undefined;
}
