import { useId, useLayoutEffect, useRef, type KeyboardEvent, type ReactNode } from "react";
import type { Attachment, UserNode, UserVersion } from "@deltawire/tasks/chats";
import { useCell, useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { TextArea } from "../ui/field.tsx";
import { focusComposer, hasNoFocusedElement } from "../ui/focus.ts";
import { Tag } from "../ui/indicators.tsx";
import type { ChatDraft, EditMode, EditContent, MessageEdit } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { toComposerAction, toComposerKeyEvent, type ComposerKeyContext } from "./composer-keys.ts";
import { composerMessages } from "./composer-messages.ts";
import { getNodeElementId, useThread, type Thread } from "./thread.ts";
import { chatViewMessages } from "./messages.ts";

type SaveEdit = (edit: MessageEdit) => Promise<boolean>;

interface InlineEditorProps {
  nodeId: string;
  label: string;
  text: string;
  allowEmpty?: boolean;
  onSend: SaveEdit;
  sendKey: ComposerKeyContext["sendKey"];
  /** Describes the shortcuts. */
  keysHint: string;
  sendLabel: string;
  sendHint?: string | undefined;
  extraContent?: ReactNode;
  /** More buttons. They call `submit` with a function that replaces `onSend`. */
  renderActions?: (submit: (save: SaveEdit) => void) => ReactNode;
}

const minRows = 3;
const maxRows = 20;

/** Edits a message in place. Escape cancels. */
export function InlineEditor(props: InlineEditorProps) {
  const {
    nodeId,
    label,
    allowEmpty = false,
    onSend,
    sendKey,
    keysHint,
    sendLabel,
    sendHint,
    extraContent,
    renderActions,
  } = props;
  const t = useMessages(chatViewMessages);
  const thread = useThread();
  const { edit, setEdit, isBusy, isDelivered, draft } = useEditSession(nodeId);
  const { text } = edit ?? props;
  const container = useRef<HTMLDivElement>(null);
  const textArea = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  useLayoutEffect(() => {
    // A message that scrolls back into view mounts again and must not take the focus.
    if (!thread.consumeJustOpened(nodeId)) return;
    // A delivery while the editor was closed belongs to an earlier edit.
    draft.closeEdit(nodeId);
    const { current } = textArea;
    current?.focus({ preventScroll: true });
    current?.setSelectionRange(current.value.length, current.value.length);
    current?.scrollIntoView({ block: "nearest" });
  }, [thread, draft, nodeId]);

  useLayoutEffect(() => {
    // The effect above may have cleared the delivery since `isDelivered` was read.
    if (!isDelivered || draft.editDeliveries.get().get(nodeId) !== "delivered") return;
    draft.closeEdit(nodeId);
    closeEditor(thread, nodeId, container.current);
  }, [isDelivered, thread, draft, nodeId]);

  const cancel = () => {
    // An edit that is being sent stays in the draft, for another attempt if sending fails.
    if (!isBusy) setEdit(undefined);
    closeEditor(thread, nodeId, container.current);
  };
  const submit = (save: SaveEdit) => {
    if (text.trim() === "" && !allowEmpty) return;
    void draft.sendEdit(nodeId, { text, attachments: edit?.attachments }, save);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const action = toComposerAction(toComposerKeyEvent(event), {
      sendKey,
      isRunning: false,
      isEmpty: false,
    });
    if (action === "blur") cancel();
    else if (action === "send") submit(onSend);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const rows = Math.min(maxRows, Math.max(minRows, text.split("\n").length));
  return (
    <div ref={container} className="chat-editor">
      <TextArea
        ref={textArea}
        aria-label={label}
        aria-describedby={hintId}
        enterKeyHint={sendKey === "enter" ? "send" : "enter"}
        dir="auto"
        rows={rows}
        value={text}
        readOnly={isBusy}
        onKeyDown={onKeyDown}
        onChange={({ currentTarget }) => setEdit({ ...edit, text: currentTarget.value })}
      />
      {extraContent}
      <div className="chat-editor-footer">
        <small id={hintId} className="chat-editor-hint">
          {keysHint}
        </small>
        <Button small kind="ghost" onClick={cancel}>
          {isBusy ? t.close : t.cancel}
        </Button>
        {renderActions?.(submit)}
        <Button small kind="primary" busy={isBusy} title={sendHint} onClick={() => submit(onSend)}>
          {sendLabel}
        </Button>
      </div>
    </div>
  );
}

function closeEditor(thread: Thread, nodeId: string, editor: Element | null): void {
  const { activeElement: focusedElement } = document;
  thread.endEdit();
  // The user may have moved the focus elsewhere while the edit was being sent.
  if (focusedElement === document.body || editor?.contains(focusedElement) === true)
    document.getElementById(getNodeElementId(nodeId))?.focus({ preventScroll: true });
  // The message is no longer shown if the edit has created a branch.
  if (hasNoFocusedElement()) focusComposer();
}

interface EditSession {
  /** Undefined until the user changes something. */
  readonly edit: MessageEdit | undefined;
  /** Undefined discards the edit. */
  readonly setEdit: (edit: EditContent | undefined) => void;
  /** True while the edit is being sent, even if the chat was closed and opened again. */
  readonly isBusy: boolean;
  readonly isDelivered: boolean;
  readonly draft: ChatDraft;
}

/** The unsaved edit of a node. Outlives the editor and the chat view. */
function useEditSession(nodeId: string): EditSession {
  const draft = useAppStore().getDraft(useThread().chat.chatId);
  const edit = useCellSelector(draft, ({ edits }) => edits?.[nodeId]);
  const delivery = useCell(draft.editDeliveries).get(nodeId);
  return {
    edit,
    setEdit: (next) => draft.edit(nodeId, next),
    isBusy: delivery === "sending",
    isDelivered: delivery === "delivered",
    draft,
  };
}

/** Editor of a user message. Sends it as a branch or a new version, or saves it without sending. */
export function MessageEditor({ node, version }: { node: UserNode; version: UserVersion }) {
  const t = useMessages(chatViewMessages);
  const { hintEnter, hintMod } = useMessages(composerMessages);
  const sendKey = useCellSelector(useAppStore().preferences, (preferences) => preferences.sendKey);
  const { chat } = useThread();
  const { edit, setEdit, isBusy } = useEditSession(node.node_id);
  const attachments = edit?.attachments ?? version.attachments;
  const saveAs = (mode: EditMode) => (messageEdit: MessageEdit) =>
    chat.editMessage(node.node_id, messageEdit, mode);
  return (
    <InlineEditor
      nodeId={node.node_id}
      label={t.editMessageLabel}
      text={version.text}
      allowEmpty={attachments.length > 0}
      onSend={saveAs({ as: "branch", send: true })}
      sendKey={sendKey}
      keysHint={sendKey === "enter" ? hintEnter : hintMod}
      sendLabel={t.sendBranch}
      sendHint={t.sendBranchHint}
      extraContent={
        <EditedAttachments
          attachments={attachments}
          isBusy={isBusy}
          onChange={(remainingAttachments) =>
            setEdit({ text: edit?.text ?? version.text, attachments: remainingAttachments })
          }
        />
      }
      renderActions={(submit) => (
        <>
          <Button
            small
            disabled={isBusy}
            title={t.sendVersionHint}
            onClick={() => submit(saveAs({ as: "version", send: true }))}
          >
            {t.sendVersion}
          </Button>
          <Button
            small
            disabled={isBusy}
            title={t.saveOnlyHint}
            onClick={() => submit(saveAs({ as: "version", send: false }))}
          >
            {t.saveOnly}
          </Button>
        </>
      )}
    />
  );
}

function EditedAttachments({
  attachments,
  isBusy,
  onChange,
}: {
  attachments: readonly Attachment[];
  isBusy: boolean;
  onChange: (attachments: readonly Attachment[]) => void;
}) {
  const t = useMessages(chatViewMessages);
  if (attachments.length === 0) return null;
  return (
    <div className="chat-edited-attachments">
      {attachments.map((attachment) => {
        const name = attachment.filename ?? t[attachment.kind];
        return (
          <Tag key={attachment.url}>
            <span dir="auto">{name}</span>
            <IconButton
              icon="close"
              small
              label={t.removeAttachment(name)}
              disabled={isBusy}
              onClick={() => onChange(attachments.filter((other) => other !== attachment))}
            />
          </Tag>
        );
      })}
    </div>
  );
}
