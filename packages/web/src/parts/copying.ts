import { useEffect, useRef, useState } from "react";

/** What a button that copies says: what it does, or for a moment what has come of it. */
type Copying = "copy" | "copied" | "cannotCopy";

const shownMs = 2000;

/** `read`: what there is to copy when it is pressed. */
export function useCopying(read: () => string): { state: Copying; copy: () => void } {
  const [state, setState] = useState<Copying>("copy");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const isCopied = await writeToClipboard(read());
    setState(isCopied ? "copied" : "cannotCopy");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState("copy"), shownMs);
  };
  return { state, copy: () => void copy() };
}

/** Whether it is there now. */
export async function writeToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByHand(text);
  }
}

/** On a page that came by plain HTTP from another machine there is no clipboard but this one. */
function copyByHand(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "for-readers";
  // In a dialog nothing outside of it can be selected.
  (before?.closest("dialog") ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return isCopied;
}
