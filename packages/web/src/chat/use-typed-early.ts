import { useLayoutEffect } from "react";
import { usePage } from "../hooks/use-page.ts";
import { isCharacter, isWriting } from "../parts/key-press.ts";
import type { OpenChat } from "../state/page.ts";
import { hashOf } from "../browser/route.ts";

/** While a chat is loading there is no composer yet: what is typed or pasted meanwhile is added to its draft. */
export function useTypedEarly(chat: OpenChat): void {
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
