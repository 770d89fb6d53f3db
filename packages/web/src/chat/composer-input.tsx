import { useLayoutEffect, type ClipboardEvent, type KeyboardEvent, type RefObject } from "react";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { toComposerAction, toComposerKeyEvent, type ComposerAction } from "./composer-keys.ts";

interface ComposerInputProps {
  inputRef: RefObject<HTMLTextAreaElement | null>;
  label: string;
  placeholder: string;
  describedBy: string;
  text: string;
  isRunning: boolean;
  disabled: boolean;
  readOnly: boolean;
  onTextChange: (text: string) => void;
  onAction: (action: Exclude<ComposerAction, "type">) => void;
  onFiles: (files: readonly File[]) => void;
  onLongPaste: (text: string) => void;
}

/** The text field of the composer. Grows with its text, up to a third of the window. */
export function ComposerInput(props: ComposerInputProps) {
  const {
    inputRef: input,
    label,
    placeholder,
    describedBy,
    text,
    isRunning,
    disabled,
    readOnly,
  } = props;
  const { onTextChange, onAction, onFiles, onLongPaste } = props;
  const sendKey = useCellSelector(useAppStore().preferences, (preferences) => preferences.sendKey);
  useLayoutEffect(() => {
    if (input.current !== null) autoResize(input.current, text);
  }, [input, text]);
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const action = toComposerAction(toComposerKeyEvent(event), {
      sendKey,
      isRunning,
      isEmpty: text === "",
    });
    if (action === "type") return;
    event.preventDefault();
    onAction(action);
  };
  const onPaste = (event: ClipboardEvent<HTMLTextAreaElement>) => {
    const { types, files } = event.clipboardData;
    const pastedText = event.clipboardData.getData("text/plain");
    const action = classifyPaste({ types, fileCount: files.length, text: pastedText });
    if (action === "long text") onLongPaste(pastedText);
    if (action !== "files") return;
    event.preventDefault();
    onFiles([...files]);
  };
  return (
    <textarea
      ref={input}
      className="chat-composer-input"
      data-composer=""
      rows={1}
      dir="auto"
      aria-label={label}
      aria-describedby={describedBy}
      placeholder={placeholder}
      value={text}
      disabled={disabled}
      readOnly={readOnly}
      enterKeyHint={sendKey === "enter" ? "send" : "enter"}
      onChange={(event) => onTextChange(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
    />
  );
}

/** Resizes the field to fit its text in browsers without `field-sizing`. In others, the CSS does. */
function autoResize(input: HTMLTextAreaElement, text: string): void {
  if (CSS.supports("field-sizing", "content")) return;
  input.style.height = "auto";
  if (text !== "") input.style.height = `${input.scrollHeight}px`;
}

export interface PasteData {
  readonly types: readonly string[];
  readonly fileCount: number;
  readonly text: string;
}

/** For pasted text of at least this length, the composer offers to attach it as a file. */
const longPasteLength = 5000;

/** Returns what to do with a paste. If a program has copied formatted text together with an image of it, the text is pasted. */
export function classifyPaste({
  types,
  fileCount,
  text,
}: PasteData): "files" | "long text" | "text" {
  const isRichText = types.includes("text/rtf") || (types.includes("text/html") && text !== "");
  if (fileCount > 0 && !isRichText) return "files";
  return text.length >= longPasteLength ? "long text" : "text";
}

/** Removes pasted text from the draft. Returns undefined if it has been edited since. */
export function removePastedText(draftText: string, pastedText: string): string | undefined {
  const text = normalizeLineBreaks(pastedText);
  const index = draftText.lastIndexOf(text);
  if (index === -1) return undefined;
  return draftText.slice(0, index) + draftText.slice(index + text.length);
}

/** Converts line breaks the way a textarea does. */
function normalizeLineBreaks(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n");
}
