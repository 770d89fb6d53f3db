import { useEffect, useLayoutEffect, useState } from "react";
import { chosenVersion, type ChatNode } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useOpenChat } from "../hooks/use-open-chat.ts";
import { usePage } from "../hooks/use-page.ts";
import { loadMarkdown } from "../markdown/lazy-markdown.tsx";
import { Button } from "../parts/button.tsx";
import { Empty, Spinner } from "../parts/signs.tsx";
import type { OpenChat, OpenChatState } from "../state/page.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { Announcer } from "./announcer.tsx";
import { ChatHeader } from "./chat-header.tsx";
import { Composer } from "./composer.tsx";
import { FindBar } from "./find-bar.tsx";
import { MissingChat } from "./missing-chat.tsx";
import { RetryDialog } from "./retry-dialog.tsx";
import { createThread, shownPath, ThreadContext, type Thread } from "./thread.ts";
import { ThreadList } from "./thread-list.tsx";
import { useChatCommands } from "./use-chat-commands.ts";
import { useTypedEarly } from "./use-typed-early.ts";
import { useRestore } from "./use-restore.ts";
import { chatWords } from "./words.ts";
import "./chat.css";

/** One chat: who answers, what was said, and where to say more. */
export function Conversation({ chatId, nodeId }: { chatId: string; nodeId?: string | undefined }) {
  const chat = useOpenChat(chatId);
  useEffect(() => void loadMarkdown(), []);
  return <AnyState key={chatId} chat={chat} nodeId={nodeId} />;
}

function AnyState({ chat, nodeId }: { chat: OpenChat; nodeId: string | undefined }) {
  const words = useWords(chatWords);
  const state = useCell(chat.state);
  switch (state.is) {
    case "loading":
      return <Loading chat={chat} />;
    case "missing":
      return <MissingChat />;
    case "failed":
      return (
        <Empty title={words.failedTitle} text={state.message}>
          <Button icon="redo" onClick={() => void chat.readAnew()}>
            {words.tryAgain}
          </Button>
        </Empty>
      );
    case "ready":
      return <Ready chat={chat} state={state} nodeId={nodeId} />;
    default:
      return unreachable(state);
  }
}

function Loading({ chat }: { chat: OpenChat }) {
  const words = useWords(chatWords);
  useTypedEarly(chat);
  return (
    <div className="chat-waiting">
      <Spinner label={words.loading} />
    </div>
  );
}

interface ReadyProps {
  chat: OpenChat;
  state: Extract<OpenChatState, { is: "ready" }>;
  nodeId: string | undefined;
}

function Ready({ chat, state, nodeId }: ReadyProps) {
  const words = useWords(chatWords);
  const restore = useRestore(chat);
  const page = usePage();
  const [thread] = useState(() => {
    const { edits = {} } = page.draft(chat.chatId).get();
    return createThread(chat, Object.keys(edits).at(-1));
  });
  const branching = useCell(thread.branching);
  const isFinding = useCell(thread.finding) > 0;
  const { path, parent, isBranching } = shownPath(state.chat, branching);
  useLayoutEffect(() => thread.watch(), [thread]);
  useShowing(thread, nodeId);
  useChatCommands(thread, path);
  return (
    <ThreadContext value={thread}>
      <div className={isFinding ? "chat chat-finding" : "chat"}>
        <ChatHeader thread={thread} state={state} />
        {isFinding && <FindBar thread={thread} path={path} />}
        {path.length === 0 && !isBranching ? (
          <div className="chat-scroller">
            <Empty title={words.emptyTitle} text={words.emptyText} />
          </div>
        ) : (
          <ThreadList
            thread={thread}
            chat={state.chat}
            path={path}
            isBranching={isBranching}
            comesFor={nodeId}
          />
        )}
        <Announcer path={path} />
        <div className="chat-below">
          {state.deletedAt === undefined ? (
            <Composer
              chat={thread.chat}
              parent={parent}
              running={runningAtEnd(path)}
              onEditLast={() => {
                const last = path.findLast(({ kind }) => kind === "user");
                if (last !== undefined) thread.edit(last.node_id);
              }}
            />
          ) : (
            <p className="chat-deleted">
              {words.deleted}
              <Button icon="undo" onClick={() => void restore()}>
                {words.restore}
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
 * The node that was come for. Once it is shown the address is that of the chat: a reload is not to go back to a branch that
 * was left since, and who asks for the same node once more gets it.
 */
function useShowing(thread: Thread, nodeId: string | undefined): void {
  const { router } = usePage();
  const { chatId } = thread.chat;
  useLayoutEffect(() => {
    if (nodeId === undefined) return;
    const show = async () => {
      if (!(await thread.show(nodeId))) return;
      const now = router.route.get();
      const isStillThere = now.is === "chat" && now.chatId === chatId && now.nodeId === nodeId;
      if (isStillThere) router.replace({ is: "chat", chatId });
    };
    void show();
  }, [thread, nodeId, router, chatId]);
}

function runningAtEnd(path: readonly ChatNode[]): string | undefined {
  const last = path.at(-1);
  if (last?.kind !== "answer") return undefined;
  const { status, task_id } = chosenVersion(last);
  return status === "running" ? task_id : undefined;
}
