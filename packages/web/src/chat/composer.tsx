import { useEffect, useId, useRef, useState } from "react";
import {
  findRunningAnswers,
  type ContextSnippet,
  type InputDelivery,
} from "@deltawire/tasks/chats";
import { useCell, useCellSelector } from "../hooks/use-cell.ts";
import { useCommands, useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { focusComposer } from "../ui/focus.ts";
import type { OpenChat } from "../state/app-store.ts";
import { formatHashRoute } from "../browser/hash-router.ts";
import { useMessages } from "../messages/use-messages.ts";
import { ComposerAttachments, ContextDialog } from "./composer-attachments.tsx";
import { ComposerBar } from "./composer-bar.tsx";
import type { ComposerAction } from "./composer-keys.ts";
import { ComposerNotices } from "./composer-notices.tsx";
import { composerMessages, type ComposerMessages } from "./composer-messages.ts";
import { FileDropZone } from "./file-drop-zone.tsx";
import { ComposerInput, removePastedText } from "./composer-input.tsx";
import { SendButtons } from "./send-buttons.tsx";
import { LazyChatSettingsDialog } from "./lazy-chat-settings-dialog.tsx";
import { startChat } from "./start-chat.ts";
import { findSendBlocker, getUploadQueue } from "./upload-queue.ts";
import { useChatSettings, useIsChatDeleted, useRunningResponder } from "./use-chat-settings.ts";
import {
  ResponderCommands,
  resolveResponder,
  toResponderPatch,
  type ResponderSelection,
} from "./responder.tsx";
import "./composer.css";

export interface ComposerProps {
  /** Undefined for a new chat, which is created when the first message is sent. */
  chat: OpenChat | undefined;
  /** The last displayed node. Null if there is none. */
  parentId: string | null;
  /** The task of the last displayed answer, if it is running. */
  runningTaskId: string | undefined;
  onEditLast?: (() => void) | undefined;
}

/** The form for a new message. The draft is stored until the gateway has received the message. */
export function Composer({ chat, parentId, runningTaskId, onEditLast }: ComposerProps) {
  const app = useAppStore();
  const t = useMessages(composerMessages);
  const chatId = chat?.chatId ?? "";
  const draft = app.getDraft(chatId);
  const draftState = useCell(draft);
  const uploadQueue = getUploadQueue(app, chatId);
  const uploads = useCell(uploadQueue);
  const choices = useCell(app.choices);
  const sendKey = useCellSelector(app.preferences, (preferences) => preferences.sendKey);
  const chatSettings = useChatSettings(chat);
  const isDeleted = useIsChatDeleted(chat);
  const isSending = useCell(draft.isSending);
  const isUnreachable = useCell(draft.unreachableKey) === draftState.key && !isSending;
  const runningResponder = useRunningResponder(chat, runningTaskId);
  const isRetrying = useCellSelector(app.retryingChatIds, (ids) => ids.has(chatId));
  const [isStopping, setStopping] = useState(false);
  const [isPrivacyOpen, setPrivacyOpen] = useState(false);
  const [editedContextIndex, setEditedContextIndex] = useState<number | undefined>(undefined);
  const [pastedText, setPastedText] = useState<string | undefined>(undefined);
  const form = useRef<HTMLFormElement>(null);
  const inputRef = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();

  const isRunning = chat !== undefined && runningTaskId !== undefined;
  const { text, attachments, contexts } = draftState;
  const hasResponder =
    choices === undefined || resolveResponder(chatSettings.settings, choices) !== undefined;
  const blocker = findSendBlocker({
    draft: draftState,
    uploads,
    isDeleted,
    isSending,
    hasResponder,
  });
  const focusInput = () => inputRef.current?.focus();
  useFocusOnOpen();
  useCommands([
    { id: "write", title: t.focus, group: t.group, keys: "i", run: focusInput },
    {
      id: "write-mod",
      title: t.focus,
      group: t.group,
      keys: "mod+/",
      hidden: true,
      run: focusInput,
    },
    {
      id: "write-leave",
      title: t.leave,
      group: t.group,
      keys: "escape",
      hidden: true,
      isHandledLocally: true,
      run: blurComposer,
    },
  ]);

  const send = () => {
    if (blocker !== undefined) return undefined;
    setPastedText(undefined);
    if (chat !== undefined) return void draft.whileSending(() => chat.send(draftState, parentId));
    return void draft.whileSending(async () => {
      const onUnreachable = () => draft.setUnreachable(draftState.key);
      const newChatId = await startChat(app, chatSettings.settings, draftState, onUnreachable);
      if (newChatId === undefined) return;
      // Files attached while sending belong to the next message.
      const addedAttachments = draft
        .get()
        .attachments.filter((attachment) => !attachments.includes(attachment));
      draft.clear();
      if (addedAttachments.length > 0)
        app.getDraft(newChatId).change({ attachments: addedAttachments });
      app.newChatSettings.clear();
    });
  };
  const sendInput = (delivery: InputDelivery) => {
    if (chat === undefined || runningTaskId === undefined || isSending || text.trim() === "")
      return;
    void draft.whileSending(async () => {
      if (await chat.sendInput(runningTaskId, { text: text.trim(), delivery, key: draftState.key }))
        draft.clearSentText({ text, key: draftState.key });
    });
  };
  const stop = async () => {
    if (chat === undefined || runningTaskId === undefined) return;
    setStopping(true);
    await stopAnswer(chat, runningTaskId);
    setStopping(false);
    focusComposer();
  };
  const onAction = (action: Exclude<ComposerAction, "type">) => {
    if (action === "send") send();
    else if (action === "edit last") onEditLast?.();
    else if (action === "blur") blurComposer();
    else sendInput(action);
  };
  const selectResponder = (selection: ResponderSelection) => {
    chatSettings.change(toResponderPatch(selection));
    focusInput();
  };
  const attach = (files: readonly File[]) => {
    if (isDeleted || files.length === 0) return;
    for (const { name } of files.filter(({ size }) => size === 0))
      app.toasts.show({ kind: "error", text: t.emptyFile(name) });
    uploadQueue.add(files.filter(({ size }) => size > 0));
    focusInput();
  };
  const attachPasted = () => {
    const remainingText = pastedText === undefined ? undefined : removePastedText(text, pastedText);
    setPastedText(undefined);
    if (pastedText === undefined || remainingText === undefined) return;
    draft.change({ text: remainingText });
    attach([new File([pastedText], t.pastedName, { type: "text/plain" })]);
  };
  const addContext = () => {
    const snippet: ContextSnippet = {
      kind: "text",
      title: t.defaultContextName(contexts.length + 1),
      text: "",
    };
    draft.change({ contexts: [...contexts, snippet] });
    setEditedContextIndex(contexts.length);
  };
  const closeContext = () => {
    setEditedContextIndex(undefined);
    draft.change({
      contexts: draft.get().contexts.filter((snippet) => snippet.text.trim() !== ""),
    });
    focusInput();
  };
  const editedContext = editedContextIndex === undefined ? undefined : contexts[editedContextIndex];

  return (
    <>
      <form
        ref={form}
        className="chat-composer"
        aria-label={t.composer}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <ComposerNotices
          attachments={attachments}
          contexts={contexts}
          settings={chatSettings.settings}
          choices={choices}
          blocker={blocker}
          isUnreachable={isUnreachable}
          isRunning={isRunning}
          runningResponder={runningResponder}
          isRetrying={isRetrying}
          hasText={text.trim() !== ""}
          mayHaveImages={parentId !== null}
          pastedText={
            pastedText !== undefined && removePastedText(text, pastedText) !== undefined
              ? pastedText
              : undefined
          }
          onAttachPasted={attachPasted}
          onDismiss={() => setPastedText(undefined)}
        />
        <div className="chat-composer-frame" data-disabled={isDeleted || undefined}>
          <ComposerAttachments
            attachments={attachments}
            contexts={contexts}
            uploads={uploads}
            uploadQueue={uploadQueue}
            onRemove={(removedAttachment) => {
              draft.change({
                attachments: attachments.filter((attachment) => attachment !== removedAttachment),
              });
              focusInput();
            }}
            onEditContext={setEditedContextIndex}
            onRemoveContext={(removedIndex) => {
              draft.change({ contexts: contexts.filter((_, index) => index !== removedIndex) });
              focusInput();
            }}
          />
          <ComposerInput
            inputRef={inputRef}
            label={t.composer}
            placeholder={formatPlaceholder(t, {
              isDeleted,
              isRunning,
              isRetrying,
              runningResponder,
            })}
            describedBy={hintId}
            text={text}
            isRunning={isRunning}
            disabled={isDeleted}
            readOnly={isSending}
            onTextChange={(next) => draft.change({ text: next })}
            onAction={onAction}
            onFiles={attach}
            onLongPaste={setPastedText}
          />
          <div className="chat-composer-bar">
            <ComposerBar
              chatSettings={chatSettings}
              choices={choices}
              isRunning={isRunning}
              onSelectResponder={selectResponder}
              onOpenPrivacy={chat === undefined ? undefined : () => setPrivacyOpen(true)}
              onFiles={attach}
              onAddContext={addContext}
              disabled={isDeleted}
            />
            {isDeleted && chat !== undefined ? (
              <Button kind="primary" onClick={() => void app.chatList.restore(chat.chatId)}>
                {t.restore}
              </Button>
            ) : (
              <SendButtons
                isRunning={isRunning}
                isSending={isSending}
                isStopping={isStopping}
                canSend={blocker === undefined}
                hasText={text.trim() !== ""}
                onSend={send}
                onStop={() => void stop()}
                onSendInput={sendInput}
              />
            )}
          </div>
        </div>
        <p id={hintId} className="visually-hidden">
          {sendKey === "enter" ? t.hintEnter : t.hintMod}
        </p>
        {choices !== undefined && !isDeleted && (
          <ResponderCommands choices={choices} onSelect={selectResponder} />
        )}
        <FileDropZone anchor={form} onFiles={attach} />
        {editedContext !== undefined && editedContextIndex !== undefined && (
          <ContextDialog
            context={editedContext}
            onChange={(next) => draft.change({ contexts: contexts.with(editedContextIndex, next) })}
            onClose={closeContext}
          />
        )}
      </form>
      {chat !== undefined && isPrivacyOpen && (
        <LazyChatSettingsDialog
          chat={chat}
          section="privacy"
          onClose={() => setPrivacyOpen(false)}
        />
      )}
    </>
  );
}

/** Focuses the composer when a chat is opened, and again when "New chat" is chosen on the start page. */
function useFocusOnOpen(): void {
  const route = useCell(useAppStore().router.route);
  useEffect(() => {
    const row = document.activeElement?.closest("a[data-row]")?.getAttribute("href");
    const openedHash = formatHashRoute(
      route.type === "chat" ? { type: "chat", chatId: route.chatId } : route,
    );
    // The user may have moved on to another row of the chat list by keyboard while this chat was loading.
    if (row?.startsWith(openedHash) === false) return;
    focusComposer();
  }, [route]);
}

function formatPlaceholder(
  t: ComposerMessages,
  {
    isDeleted,
    isRunning,
    isRetrying,
    runningResponder,
  }: {
    isDeleted: boolean;
    isRunning: boolean;
    isRetrying: boolean;
    runningResponder: string | undefined;
  },
): string {
  if (isDeleted) return t.deleted;
  if (!isRunning) return t.placeholder;
  if (runningResponder === undefined) return t.inputPlaceholder;
  return isRetrying ? t.recipientWhenBack(runningResponder) : t.recipient(runningResponder);
}

/** Moves the focus to the last message, without scrolling. */
function blurComposer(): void {
  const lastNode = [...document.querySelectorAll<HTMLElement>("[data-node]")].at(-1);
  const target = lastNode ?? document.querySelector<HTMLElement>("#content");
  target?.focus({ preventScroll: true });
}

/** Stops the answer of a task. Answers in other branches continue. */
async function stopAnswer(chat: OpenChat, taskId: string): Promise<boolean> {
  const state = chat.state.get();
  const runningAnswers = state.status === "ready" ? findRunningAnswers(state.chat) : [];
  const answer = runningAnswers.find(({ task_id }) => task_id === taskId);
  return answer === undefined ? chat.cancelTask(taskId) : chat.stop(answer.node_id);
}
