import { useLayoutEffect, type ClipboardEvent, type KeyboardEvent, type RefObject } from "react";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { meaningOf, pressOf, type KeyMeaning } from "./composer-keys.ts";

interface MessageBoxProps {
  box: RefObject<HTMLTextAreaElement | null>;
  label: string;
  placeholder: string;
  describedBy: string;
  text: string;
  isRunning: boolean;
  disabled: boolean;
  readOnly: boolean;
  onText: (text: string) => void;
  onKey: (meaning: Exclude<KeyMeaning, "type">) => void;
  onFiles: (files: readonly File[]) => void;
  onLongPaste: (text: string) => void;
}

/** The words: it grows with them, up to a third of the window. */
export function MessageBox(props: MessageBoxProps) {
  const { box, label, placeholder, describedBy, text, isRunning, disabled, readOnly } = props;
  const { onText, onKey, onFiles, onLongPaste } = props;
  const sendKey = usePicked(usePage().preferences, (preferences) => preferences.sendKey);
  useLayoutEffect(() => {
    if (box.current !== null) fitHeight(box.current, text);
  }, [box, text]);
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const meaning = meaningOf(pressOf(event), { sendKey, isRunning, isEmpty: text === "" });
    if (meaning === "type") return;
    event.preventDefault();
    onKey(meaning);
  };
  const onPaste = (event: ClipboardEvent<HTMLTextAreaElement>) => {
    const { types, files } = event.clipboardData;
    const pasted = event.clipboardData.getData("text/plain");
    const meaning = meaningOfPaste({ types, files: files.length, text: pasted });
    if (meaning === "long text") onLongPaste(pasted);
    if (meaning !== "files") return;
    event.preventDefault();
    onFiles([...files]);
  };
  return (
    <textarea
      ref={box}
      className="chat-composer-box"
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
      onChange={(event) => onText(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
    />
  );
}

/** By the browser itself where it can: `field-sizing` is in the style. */
function fitHeight(box: HTMLTextAreaElement, text: string): void {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.height = "auto";
  if (text !== "") box.style.height = `${box.scrollHeight}px`;
}

export interface Paste {
  readonly types: readonly string[];
  readonly files: number;
  readonly text: string;
}

/** From here on a pasted text reads better as a file beside the words. */
const long = 5000;

/** Office programs and browsers put a picture of the text beside it: then the text is meant. */
export function meaningOfPaste({ types, files, text }: Paste): "files" | "long text" | "text" {
  const isRich = types.includes("text/rtf") || (types.includes("text/html") && text !== "");
  if (files > 0 && !isRich) return "files";
  return text.length >= long ? "long text" : "text";
}

/** The words without what was pasted; undefined where it no longer stands there as it came. */
export function withoutPasted(words: string, pasted: string): string | undefined {
  const text = inTextArea(pasted);
  const at = words.lastIndexOf(text);
  return at === -1 ? undefined : words.slice(0, at) + words.slice(at + text.length);
}

/** Where lines end in one character. */
function inTextArea(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n");
}
