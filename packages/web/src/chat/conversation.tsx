import { useLayoutEffect, useState } from "react";
import { chosenVersion, type ChatNode } from "@deltawire/tasks/chats";
import { Button } from "../parts/button.tsx";
import { Empty, Spinner } from "../parts/signs.tsx";
import { useCell } from "../state/cell.ts";
import { usePage, type OpenChat, type OpenChatState } from "../state/page.ts";
import { useOpenChat } from "../state/use-open-chat.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/words.ts";
import { Announcer } from "./announcer.tsx";
import { ChatHeader } from "./chat-header.tsx";
import { Composer } from "./composer.tsx";
import { RetryDialog } from "./retry-dialog.tsx";
import { createThread, shownPath, ThreadContext, type Thread } from "./thread.ts";
import { ThreadList } from "./thread-list.tsx";
import { useChatCommands } from "./use-chat-commands.ts";
import { chatWords } from "./words.ts";
import "./chat.css";

/** One chat: who answers, what was said, and where to say more. */
export function Conversation({ chatId, nodeId }: { chatId: string; nodeId?: string | undefined }) {
  const chat = useOpenChat(chatId);
  return <AnyState key={chatId} chat={chat} nodeId={nodeId} />;
}

function AnyState({ chat, nodeId }: { chat: OpenChat; nodeId: string | undefined }) {
  const page = usePage();
  const words = useWords(chatWords);
  const state = useCell(chat.state);
  const restore = async () => {
    if (await page.list.restore(chat.chatId)) await chat.readAnew();
  };
  switch (state.is) {
    case "loading":
      return (
        <div className="chat-waiting">
          <Spinner label={words.loading} />
        </div>
      );
    case "missing":
      return (
        <Empty title={words.missingTitle} text={words.missingText}>
          <div className="chat-choices">
            <Button icon="undo" onClick={() => void restore()}>
              {words.restore}
            </Button>
            <Button icon="add" kind="primary" onClick={() => page.router.go({ is: "new" })}>
              {words.newChat}
            </Button>
          </div>
        </Empty>
      );
    case "failed":
      return (
        <Empty title={words.failedTitle} text={state.message}>
          <Button icon="redo" onClick={() => void chat.readAnew()}>
            {words.tryAgain}
          </Button>
        </Empty>
      );
    case "ready":
      return <Ready chat={chat} state={state} nodeId={nodeId} onRestore={() => void restore()} />;
    default:
      return unreachable(state);
  }
}

interface ReadyProps {
  chat: OpenChat;
  state: Extract<OpenChatState, { is: "ready" }>;
  nodeId: string | undefined;
  onRestore: () => void;
}

function Ready({ chat, state, nodeId, onRestore }: ReadyProps) {
  const words = useWords(chatWords);
  const [thread] = useState(() => createThread(chat));
  const branching = useCell(thread.branching);
  const { path, parent, isBranching } = shownPath(state.chat, branching);
  useShowing(thread, nodeId);
  useChatCommands(thread, path);
  return (
    <ThreadContext value={thread}>
      <div className="chat">
        <ChatHeader thread={thread} state={state} />
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
                if (last !== undefined) thread.editing.set(last.node_id);
              }}
            />
          ) : (
            <p className="chat-deleted">
              {words.deleted}
              <Button icon="undo" onClick={onRestore}>
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

/** The node that was come for: when it is another one, and when somebody asks for the same once more. */
function useShowing(thread: Thread, nodeId: string | undefined): void {
  const { route } = usePage().router;
  useLayoutEffect(() => {
    if (nodeId === undefined) return undefined;
    void thread.show(nodeId);
    return route.subscribe(() => {
      const now = route.get();
      if (now.is === "chat" && now.nodeId === nodeId) void thread.show(nodeId);
    });
  }, [thread, nodeId, route]);
}

function runningAtEnd(path: readonly ChatNode[]): string | undefined {
  const last = path.at(-1);
  if (last?.kind !== "answer") return undefined;
  const { status, task_id } = chosenVersion(last);
  return status === "running" ? task_id : undefined;
}
