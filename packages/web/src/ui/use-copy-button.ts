import { useEffect, useRef, useState } from "react";

/** Message key of the button's label: the action, or for 2 s after a press the result. */
type CopyState = "copy" | "copied" | "cannotCopy";

const resetAfterMs = 2000;

/** `getText` is called when the button is pressed. */
export function useCopyButton(getText: () => string): { state: CopyState; copy: () => void } {
  const [state, setState] = useState<CopyState>("copy");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const isCopied = await writeToClipboard(getText());
    setState(isCopied ? "copied" : "cannotCopy");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState("copy"), resetAfterMs);
  };
  return { state, copy: () => void copy() };
}

/** Resolves to false if the browser does not allow writing to the clipboard. */
export async function writeToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyWithSelection(text);
  }
}

/** For pages served over plain HTTP from another machine, where there is no Clipboard API. */
function copyWithSelection(text: string): boolean {
  const previousFocus = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  // Text outside of an open dialog cannot be selected.
  (previousFocus?.closest("dialog") ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (previousFocus instanceof HTMLElement) previousFocus.focus({ preventScroll: true });
  return isCopied;
}
