import { useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Button } from "../parts/button.tsx";
import { TextArea } from "../parts/field.tsx";
import { useWords } from "../words/use-words.ts";
import { elementId, useThread } from "./thread.ts";
import { useEdit } from "./use-edit.ts";
import { chatWords } from "./words.ts";

type Save = (text: string) => Promise<boolean>;

interface InPlaceEditorProps {
  nodeId: string;
  label: string;
  text: string;
  mayBeEmpty?: boolean;
  onSend: Save;
  sendLabel: string;
  sendHint?: string | undefined;
  beside?: ReactNode;
  /** More buttons; `run` saves as they want it. */
  renderOthers?: (run: (save: Save) => void, isBusy: boolean) => ReactNode;
}

const leastRows = 3;
const mostRows = 20;

/** Where the words were: Escape leaves them as they are, mod+Enter sends. */
export function InPlaceEditor(props: InPlaceEditorProps) {
  const {
    nodeId,
    label,
    mayBeEmpty = false,
    onSend,
    sendLabel,
    sendHint,
    beside,
    renderOthers,
  } = props;
  const words = useWords(chatWords);
  const thread = useThread();
  const { edit, keep } = useEdit(nodeId);
  const { text } = edit ?? props;
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    // A message that comes near again is drawn anew, while somebody may write elsewhere.
    if (!thread.hasJustOpened(nodeId)) return;
    const area = field.current;
    area?.focus({ preventScroll: true });
    area?.setSelectionRange(area.value.length, area.value.length);
    area?.scrollIntoView({ block: "nearest" });
  }, [thread, nodeId]);

  const close = () => {
    keep(undefined);
    thread.endEdit();
    document.getElementById(elementId(nodeId))?.focus({ preventScroll: true });
  };
  const saveBy = async (save: Save) => {
    if (isBusy || (text.trim() === "" && !mayBeEmpty)) return;
    setBusy(true);
    const isSaved = await save(text);
    setBusy(false);
    if (isSaved) close();
  };
  const run = (save: Save) => void saveBy(save);
  const onKeyDown = (event: KeyboardEvent) => {
    // An Escape or an Enter that belongs to an input method is not ours.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(onSend);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const rows = Math.min(mostRows, Math.max(leastRows, text.split("\n").length));
  return (
    <div className="chat-editor">
      <TextArea
        ref={field}
        aria-label={label}
        dir="auto"
        rows={rows}
        value={text}
        onKeyDown={onKeyDown}
        onChange={({ currentTarget }) => keep({ ...edit, text: currentTarget.value })}
      />
      {beside}
      <div className="chat-editor-foot">
        <Button small kind="ghost" onClick={close}>
          {words.cancel}
        </Button>
        {renderOthers?.(run, isBusy)}
        <Button small kind="primary" busy={isBusy} title={sendHint} onClick={() => run(onSend)}>
          {sendLabel}
        </Button>
      </div>
    </div>
  );
}
