import { useId, useLayoutEffect, useRef, type KeyboardEvent, type ReactNode } from "react";
import type { Attachment, UserNode, UserVersion } from "@deltawire/tasks/chats";
import { useCell, usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { TextArea } from "../parts/field.tsx";
import { focusComposer, nobodyHasFocus } from "../parts/focus.ts";
import { Tag } from "../parts/signs.tsx";
import type { Draft, EditHow, EditWords, MessageEdit } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { meaningOf, pressOf, type ComposerSituation } from "./composer-keys.ts";
import { composerWords } from "./composer-words.ts";
import { elementId, useThread, type Thread } from "./thread.ts";
import { chatWords } from "./words.ts";

type Save = (edit: MessageEdit) => Promise<boolean>;

interface InPlaceEditorProps {
  nodeId: string;
  label: string;
  text: string;
  mayBeEmpty?: boolean;
  onSend: Save;
  sendKey: ComposerSituation["sendKey"];
  /** What the keys do. */
  keysHint: string;
  sendLabel: string;
  sendHint?: string | undefined;
  beside?: ReactNode;
  /** More buttons; `run` saves as they want it. */
  renderOthers?: (run: (save: Save) => void) => ReactNode;
}

const leastRows = 3;
const mostRows = 20;

/** Where the words were: Escape leaves them as they are. */
export function InPlaceEditor(props: InPlaceEditorProps) {
  const {
    nodeId,
    label,
    mayBeEmpty = false,
    onSend,
    sendKey,
    keysHint,
    sendLabel,
    sendHint,
    beside,
    renderOthers,
  } = props;
  const words = useWords(chatWords);
  const thread = useThread();
  const { edit, keep, isBusy, hasArrived, draft } = useEdit(nodeId);
  const { text } = edit ?? props;
  const box = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  useLayoutEffect(() => {
    // A message that comes near again is drawn anew, while somebody may write elsewhere.
    if (!thread.hasJustOpened(nodeId)) return;
    // What arrived while no editor of it was drawn was another edit.
    draft.editClosed(nodeId);
    const area = field.current;
    area?.focus({ preventScroll: true });
    area?.setSelectionRange(area.value.length, area.value.length);
    area?.scrollIntoView({ block: "nearest" });
  }, [thread, draft, nodeId]);

  useLayoutEffect(() => {
    // Asked once more: the effect above may have taken it away.
    if (!hasArrived || draft.sentEdits.get().get(nodeId) !== "arrived") return;
    draft.editClosed(nodeId);
    close(thread, nodeId, box.current);
  }, [hasArrived, thread, draft, nodeId]);

  const cancel = () => {
    // If it does not arrive it is still there to be sent again.
    if (!isBusy) keep(undefined);
    close(thread, nodeId, box.current);
  };
  const run = (save: Save) => {
    if (text.trim() === "" && !mayBeEmpty) return;
    void draft.sendEdit(nodeId, { text, attachments: edit?.attachments }, save);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const meaning = meaningOf(pressOf(event), { sendKey, isRunning: false, isEmpty: false });
    if (meaning === "leave") cancel();
    else if (meaning === "send") run(onSend);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const rows = Math.min(mostRows, Math.max(leastRows, text.split("\n").length));
  return (
    <div ref={box} className="chat-editor">
      <TextArea
        ref={field}
        aria-label={label}
        aria-describedby={hintId}
        enterKeyHint={sendKey === "enter" ? "send" : "enter"}
        dir="auto"
        rows={rows}
        value={text}
        readOnly={isBusy}
        onKeyDown={onKeyDown}
        onChange={({ currentTarget }) => keep({ ...edit, text: currentTarget.value })}
      />
      {beside}
      <div className="chat-editor-foot">
        <small id={hintId} className="chat-editor-hint">
          {keysHint}
        </small>
        <Button small kind="ghost" onClick={cancel}>
          {isBusy ? words.close : words.cancel}
        </Button>
        {renderOthers?.(run)}
        <Button small kind="primary" busy={isBusy} title={sendHint} onClick={() => run(onSend)}>
          {sendLabel}
        </Button>
      </div>
    </div>
  );
}

function close(thread: Thread, nodeId: string, editor: Element | null): void {
  const { activeElement: focused } = document;
  thread.endEdit();
  // Somebody may have gone elsewhere while it was on its way.
  if (focused === document.body || editor?.contains(focused) === true)
    document.getElementById(elementId(nodeId))?.focus({ preventScroll: true });
  // A branch has taken its place.
  if (nobodyHasFocus()) focusComposer();
}

interface KeptEdit {
  /** Undefined: nothing is changed yet. */
  readonly edit: MessageEdit | undefined;
  /** Undefined: it is over. */
  readonly keep: (edit: EditWords | undefined) => void;
  /** It is on its way, perhaps since before the chat was left: nobody writes in it meanwhile. */
  readonly isBusy: boolean;
  readonly hasArrived: boolean;
  readonly draft: Draft;
}

/** What was typed into the editor of a node: it stays when the chat is left, or drawn again. */
function useEdit(nodeId: string): KeptEdit {
  const draft = usePage().draft(useThread().chat.chatId);
  const edit = usePicked(draft, ({ edits }) => edits?.[nodeId]);
  const sent = useCell(draft.sentEdits).get(nodeId);
  return {
    edit,
    keep: (next) => draft.edit(nodeId, next),
    isBusy: sent === "on its way",
    hasArrived: sent === "arrived",
    draft,
  };
}

/** A message in other words: sent as a branch, unless somebody wants it in place of the message, or only changed. */
export function MessageEditor({ node, version }: { node: UserNode; version: UserVersion }) {
  const words = useWords(chatWords);
  const { hintEnter, hintMod } = useWords(composerWords);
  const sendKey = usePicked(usePage().preferences, (preferences) => preferences.sendKey);
  const { chat } = useThread();
  const { edit, keep, isBusy } = useEdit(node.node_id);
  const attachments = edit?.attachments ?? version.attachments;
  const saveAs = (how: EditHow) => (written: MessageEdit) =>
    chat.editMessage(node.node_id, written, how);
  return (
    <InPlaceEditor
      nodeId={node.node_id}
      label={words.editMessageLabel}
      text={version.text}
      mayBeEmpty={attachments.length > 0}
      onSend={saveAs({ as: "branch", send: true })}
      sendKey={sendKey}
      keysHint={sendKey === "enter" ? hintEnter : hintMod}
      sendLabel={words.sendBranch}
      sendHint={words.sendBranchHint}
      beside={
        <Kept
          attachments={attachments}
          isBusy={isBusy}
          onChange={(left) => keep({ text: edit?.text ?? version.text, attachments: left })}
        />
      }
      renderOthers={(run) => (
        <>
          <Button
            small
            disabled={isBusy}
            title={words.sendVersionHint}
            onClick={() => run(saveAs({ as: "version", send: true }))}
          >
            {words.sendVersion}
          </Button>
          <Button
            small
            disabled={isBusy}
            title={words.onlyChangeHint}
            onClick={() => run(saveAs({ as: "version", send: false }))}
          >
            {words.onlyChange}
          </Button>
        </>
      )}
    />
  );
}

function Kept({
  attachments,
  isBusy,
  onChange,
}: {
  attachments: readonly Attachment[];
  isBusy: boolean;
  onChange: (attachments: readonly Attachment[]) => void;
}) {
  const words = useWords(chatWords);
  if (attachments.length === 0) return null;
  return (
    <div className="chat-kept">
      {attachments.map((attachment) => {
        const name = attachment.filename ?? words[attachment.kind];
        return (
          <Tag key={attachment.url}>
            <span dir="auto">{name}</span>
            <IconButton
              icon="close"
              small
              label={words.leaveOut(name)}
              disabled={isBusy}
              onClick={() => onChange(attachments.filter((each) => each !== attachment))}
            />
          </Tag>
        );
      })}
    </div>
  );
}
