import { useEffect, useLayoutEffect, useState } from "react";
import { chosenVersion, type ChatNode } from "@deltawire/tasks/chats";
import { hashOf } from "../browser/route.ts";
import { useCell } from "../hooks/use-cell.ts";
import { useOpenChat, usePage } from "../hooks/use-page.ts";
import { loadMarkdown } from "../markdown/lazy-markdown.tsx";
import { Button } from "../parts/button.tsx";
import { isCharacter, isWriting } from "../parts/keys.tsx";
import { Empty, Spinner } from "../parts/signs.tsx";
import type { OpenChat, OpenChatState } from "../state/page.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { saysOf, type AnswerSays } from "./answer-facts.ts";
import { ChatHeader } from "./chat-header.tsx";
import "./chat.css";
import { Composer } from "./composer.tsx";
import { FindBar } from "./find-bar.tsx";
import { MissingChat } from "./missing-chat.tsx";
import { RetryDialog } from "./retry-dialog.tsx";
import { ThreadList } from "./thread-list.tsx";
import { createThread, shownPath, ThreadContext, type Thread } from "./thread.ts";
import { useChatCommands } from "./use-chat-commands.ts";
import { chatWords } from "./words.ts";

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

/** While a chat is loading there is no composer yet: what is typed or pasted meanwhile is added to its draft. */
function useTypedEarly(chat: OpenChat): void {
  const page = usePage();
  useLayoutEffect(() => {
    const { chatId } = chat;
    let text = "";
    const isElsewhere = (event: Event) => {
      if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return true;
      if (isWriting({ target: event.target, key: "" })) return true;
      // Somebody who moves through the list by keys may have gone on to another row.
      const row = document.activeElement?.closest("a[data-row]")?.getAttribute("href");
      return row?.startsWith(hashOf({ is: "chat", chatId })) === false;
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.isComposing || isElsewhere(event)) return;
      const next = textAfter(text, event);
      if (next === undefined) return;
      // Neither a command nor a link has it.
      event.preventDefault();
      text = next;
    };
    const onPaste = (event: ClipboardEvent) => {
      if (isElsewhere(event)) return;
      text += event.clipboardData?.getData("text/plain") ?? "";
    };
    document.addEventListener("keydown", onKey, { capture: true });
    document.addEventListener("paste", onPaste);
    return () => {
      document.removeEventListener("keydown", onKey, { capture: true });
      document.removeEventListener("paste", onPaste);
      if (text === "" || chat.state.get().is !== "ready") return;
      const draft = page.draft(chatId);
      draft.change({ text: draft.get().text + text });
    };
  }, [page, chat]);
}

/** Undefined: the key changes no text. A space or Backspace does only where there is some. */
function textAfter(text: string, event: KeyboardEvent): string | undefined {
  if (isCharacter(event)) return text + event.key;
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (text === "" || hasModifier) return undefined;
  if (event.key === " ") return `${text} `;
  return event.key === "Backspace" ? text.replace(/.$/su, "") : undefined;
}

/** Takes a deletion of the chat back. */
function useRestore(chat: OpenChat): () => Promise<void> {
  const { list } = usePage();
  return async () => {
    if (await list.restore(chat.chatId)) await chat.readAnew();
  };
}

/** Says what becomes of the answer, and not every word of it. */
function Announcer({ path }: { path: readonly ChatNode[] }) {
  const words = useWords(chatWords);
  const now = heardAtEnd(path);
  const [last, setLast] = useState<{ heard: Heard | undefined; said: Heard | undefined }>({
    heard: now,
    said: undefined,
  });
  if (last.heard?.versionId !== now?.versionId || last.heard?.says !== now?.says)
    setLast({ heard: now, said: toBeSaid(last.heard, now) });
  const { said } = last;
  return (
    <div role="status" className="for-readers">
      {said !== undefined && words[said.says]}
      {said?.message !== undefined && `: ${said.message}`}
    </div>
  );
}

/** The answer at the end of the path, as far as it is told to those who do not see it. */
export interface Heard {
  readonly versionId: string;
  readonly says: AnswerSays;
  readonly message: string | undefined;
}

export function heardAtEnd(path: readonly ChatNode[]): Heard | undefined {
  const last = path.at(-1);
  if (last?.kind !== "answer") return undefined;
  const version = chosenVersion(last);
  return {
    versionId: version.version_id,
    says: saysOf(version),
    message: version.error?.message,
  };
}

/** What has become of it since: nothing of what was there when the chat was opened, or is switched to. */
export function toBeSaid(before: Heard | undefined, now: Heard | undefined): Heard | undefined {
  if (now === undefined) return undefined;
  if (before?.versionId === now.versionId) return before.says === now.says ? undefined : now;
  return now.says === "answering" || now.says === "waiting" ? now : undefined;
}
