import { useEffect, useId, useRef, useState } from "react";
import { runningAnswers, type ContextSnippet, type InputDelivery } from "@deltawire/tasks/chats";
import { useCell, usePicked } from "../hooks/use-cell.ts";
import { useCommands, usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { focusComposer } from "../parts/focus.ts";
import type { OpenChat } from "../state/page.ts";
import { hashOf } from "../browser/route.ts";
import { useWords } from "../words/use-words.ts";
import { AttachedList, TextBesideDialog } from "./attached-list.tsx";
import { ComposerBar } from "./composer-bar.tsx";
import type { KeyMeaning } from "./composer-keys.ts";
import { ComposerNotices } from "./composer-notices.tsx";
import { composerWords } from "./composer-words.ts";
import { DropFiles } from "./drop-files.tsx";
import { MessageBox, withoutPasted } from "./message-box.tsx";
import { SendButtons } from "./send-buttons.tsx";
import { ChatSettingsDialog } from "./lazy-settings-dialog.tsx";
import { startChat } from "./start-chat.ts";
import { obstacleTo, uploadsOf } from "./uploads.ts";
import { useChatSettings, useIsDeleted, useWhoAnswersNow } from "./use-chat-settings.ts";
import { AnswererCommands, answererIn, patchFor, type Who } from "./who-answers.tsx";
import "./composer.css";

export interface ComposerProps {
  /** Undefined: the chat is made when the first message is sent. */
  chat: OpenChat | undefined;
  /** The last node that is shown; null: there is none. */
  parent: string | null;
  /** The task of the answer that runs at the end of what is shown. */
  running: string | undefined;
  onEditLast?: (() => void) | undefined;
}

/** Where messages are written. What is written stays until the gateway has it. */
export function Composer({ chat, parent, running, onEditLast }: ComposerProps) {
  const page = usePage();
  const words = useWords(composerWords);
  const chatId = chat?.chatId ?? "";
  const draft = page.draft(chatId);
  const written = useCell(draft);
  const uploads = uploadsOf(page, chatId);
  const pending = useCell(uploads);
  const choices = useCell(page.choices);
  const sendKey = usePicked(page.preferences, (preferences) => preferences.sendKey);
  const shown = useChatSettings(chat);
  const isDeleted = useIsDeleted(chat);
  const isSending = useCell(draft.isSending);
  const isUnreached = useCell(draft.unreached) === written.key && !isSending;
  const answering = useWhoAnswersNow(chat, running);
  const isRetrying = usePicked(page.retrying, (ids) => ids.has(chatId));
  const [isStopping, setStopping] = useState(false);
  const [isPrivacyOpen, setPrivacyOpen] = useState(false);
  const [editedText, setEditedText] = useState<number | undefined>(undefined);
  const [pasted, setPasted] = useState<string | undefined>(undefined);
  const frame = useRef<HTMLFormElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();

  const isRunning = chat !== undefined && running !== undefined;
  const { text, attachments, contexts } = written;
  const hasAnswerer = choices === undefined || answererIn(shown.settings, choices) !== undefined;
  const obstacle = obstacleTo({
    draft: written,
    uploads: pending,
    isDeleted,
    isSending,
    hasAnswerer,
  });
  const focus = () => box.current?.focus();
  useFocusWhenOpened();
  useCommands([
    { id: "write", title: words.focus, group: words.group, keys: "i", run: focus },
    {
      id: "write-mod",
      title: words.focus,
      group: words.group,
      keys: "mod+/",
      hidden: true,
      run: focus,
    },
    {
      id: "write-leave",
      title: words.leave,
      group: words.group,
      keys: "escape",
      hidden: true,
      heardInPlace: true,
      run: leaveBox,
    },
  ]);

  const send = () => {
    if (obstacle !== undefined) return undefined;
    setPasted(undefined);
    if (chat !== undefined) return void draft.whileSending(() => chat.send(written, parent));
    return void draft.whileSending(async () => {
      const unreached = () => draft.setUnreached(written.key);
      const made = await startChat(page, shown.settings, written, unreached);
      if (made === undefined) return;
      // What was attached on its way is for the next message.
      const later = draft.get().attachments.filter((each) => !attachments.includes(each));
      draft.clear();
      if (later.length > 0) page.draft(made).change({ attachments: later });
      page.newChatSettings.clear();
    });
  };
  const tell = (delivery: InputDelivery) => {
    if (chat === undefined || running === undefined || isSending || text.trim() === "") return;
    void draft.whileSending(async () => {
      if (await chat.tell(running, { text: text.trim(), delivery, key: written.key }))
        draft.told({ text, key: written.key });
    });
  };
  const stop = async () => {
    if (chat === undefined || running === undefined) return;
    setStopping(true);
    await stopAnswer(chat, running);
    setStopping(false);
    focusComposer();
  };
  const onKey = (meaning: Exclude<KeyMeaning, "type">) => {
    if (meaning === "send") send();
    else if (meaning === "edit last") onEditLast?.();
    else if (meaning === "leave") leaveBox();
    else tell(meaning);
  };
  const choose = (who: Who) => {
    shown.change(patchFor(who));
    focus();
  };
  const attach = (files: readonly File[]) => {
    if (isDeleted || files.length === 0) return;
    for (const { name } of files.filter(({ size }) => size === 0))
      page.toasts.show({ kind: "error", text: words.emptyFile(name) });
    uploads.add(files.filter(({ size }) => size > 0));
    focus();
  };
  const makeFile = () => {
    const rest = pasted === undefined ? undefined : withoutPasted(text, pasted);
    setPasted(undefined);
    if (pasted === undefined || rest === undefined) return;
    draft.change({ text: rest });
    attach([new File([pasted], words.pastedName, { type: "text/plain" })]);
  };
  const addText = () => {
    const added: ContextSnippet = {
      kind: "text",
      title: words.textDefault(contexts.length + 1),
      text: "",
    };
    draft.change({ contexts: [...contexts, added] });
    setEditedText(contexts.length);
  };
  const closeText = () => {
    setEditedText(undefined);
    draft.change({ contexts: draft.get().contexts.filter((each) => each.text.trim() !== "") });
    focus();
  };
  const edited = editedText === undefined ? undefined : contexts[editedText];

  return (
    <>
      <form
        ref={frame}
        className="chat-composer"
        aria-label={words.composer}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <ComposerNotices
          attachments={attachments}
          contexts={contexts}
          settings={shown.settings}
          choices={choices}
          obstacle={obstacle}
          isUnreached={isUnreached}
          isRunning={isRunning}
          answering={answering}
          isRetrying={isRetrying}
          hasWords={text.trim() !== ""}
          mayHavePictures={parent !== null}
          pasted={
            pasted !== undefined && withoutPasted(text, pasted) !== undefined ? pasted : undefined
          }
          onMakeFile={makeFile}
          onDismiss={() => setPasted(undefined)}
        />
        <div className="chat-composer-frame" data-disabled={isDeleted || undefined}>
          <AttachedList
            attachments={attachments}
            contexts={contexts}
            pending={pending}
            uploads={uploads}
            onRemove={(gone) => {
              draft.change({ attachments: attachments.filter((each) => each !== gone) });
              focus();
            }}
            onEditText={setEditedText}
            onRemoveText={(gone) => {
              draft.change({ contexts: contexts.filter((_, index) => index !== gone) });
              focus();
            }}
          />
          <MessageBox
            box={box}
            label={words.composer}
            placeholder={placeholder(words, { isDeleted, isRunning, isRetrying, answering })}
            describedBy={hintId}
            text={text}
            isRunning={isRunning}
            disabled={isDeleted}
            readOnly={isSending}
            onText={(next) => draft.change({ text: next })}
            onKey={onKey}
            onFiles={attach}
            onLongPaste={setPasted}
          />
          <div className="chat-composer-bar">
            <ComposerBar
              shown={shown}
              choices={choices}
              isRunning={isRunning}
              onChoose={choose}
              onPrivacy={chat === undefined ? undefined : () => setPrivacyOpen(true)}
              onFiles={attach}
              onText={addText}
              disabled={isDeleted}
            />
            {isDeleted && chat !== undefined ? (
              <Button kind="primary" onClick={() => void page.list.restore(chat.chatId)}>
                {words.restore}
              </Button>
            ) : (
              <SendButtons
                isRunning={isRunning}
                isSending={isSending}
                isStopping={isStopping}
                canSend={obstacle === undefined}
                hasWords={text.trim() !== ""}
                onSend={send}
                onStop={() => void stop()}
                onTell={tell}
              />
            )}
          </div>
        </div>
        <p id={hintId} className="for-readers">
          {sendKey === "enter" ? words.hintEnter : words.hintMod}
        </p>
        {choices !== undefined && !isDeleted && (
          <AnswererCommands choices={choices} onChoose={choose} />
        )}
        <DropFiles within={frame} onFiles={attach} />
        {edited !== undefined && editedText !== undefined && (
          <TextBesideDialog
            context={edited}
            onChange={(next) => draft.change({ contexts: contexts.with(editedText, next) })}
            onClose={closeText}
          />
        )}
      </form>
      {chat !== undefined && isPrivacyOpen && (
        <ChatSettingsDialog chat={chat} section="privacy" onClose={() => setPrivacyOpen(false)} />
      )}
    </>
  );
}

/** Who opens a chat, or asks for a new one where there is one already, can type at once. */
function useFocusWhenOpened(): void {
  const route = useCell(usePage().router.route);
  useEffect(() => {
    const row = document.activeElement?.closest("a[data-row]")?.getAttribute("href");
    const opened = hashOf(route.is === "chat" ? { is: "chat", chatId: route.chatId } : route);
    // Somebody who walks through the list may have gone on to another row while the chat was read.
    if (row?.startsWith(opened) === false) return;
    focusComposer();
  }, [route]);
}

function placeholder(
  words: (typeof composerWords)["en"],
  {
    isDeleted,
    isRunning,
    isRetrying,
    answering,
  }: {
    isDeleted: boolean;
    isRunning: boolean;
    isRetrying: boolean;
    answering: string | undefined;
  },
): string {
  if (isDeleted) return words.deleted;
  if (!isRunning) return words.ask;
  if (answering === undefined) return words.tellMore;
  return isRetrying ? words.toldWhenBack(answering) : words.toldTo(answering);
}

/** Keys go on from the last message; nothing is scrolled for that. */
function leaveBox(): void {
  const last = [...document.querySelectorAll<HTMLElement>("[data-node]")].at(-1);
  const place = last ?? document.querySelector<HTMLElement>("#content");
  place?.focus({ preventScroll: true });
}

/** The answer that is shown, and none that runs in another branch. */
async function stopAnswer(chat: OpenChat, taskId: string): Promise<boolean> {
  const state = chat.state.get();
  const running = state.is === "ready" ? runningAnswers(state.chat) : [];
  const answer = running.find((each) => each.task_id === taskId);
  return answer === undefined ? chat.cancelTask(taskId) : chat.stop(answer.node_id);
}
