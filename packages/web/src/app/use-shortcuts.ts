import { useEffect } from "react";
import { usePage } from "../hooks/use-page.ts";
import { findComposer } from "../parts/composer-focus.ts";
import { isCharacter, isPressed, writes } from "./key-press.ts";

/**
 * Keys run commands, except those that belong to a field or an open dialog. Characters are typed into the composer, wherever
 * there is one; they run commands only where somebody walks through the page by the keyboard, which has a visible focus then.
 */
export function useShortcuts(): void {
  const { commands } = usePage();
  useEffect(() => {
    const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      if (writes(event) && isWriting(event)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const composer = isCharacter(event) ? findComposer() : null;
      if (composer !== null && !hasVisibleFocus()) {
        // The browser types the character into what has the focus after this.
        composer.focus();
        return;
      }
      // The last one offered is the nearest to what is looked at.
      const command = commands.all
        .get()
        .findLast(
          ({ keys, heardInPlace }) =>
            keys !== undefined && heardInPlace !== true && isPressed(keys, event, isMac),
        );
      if (command === undefined) {
        composer?.focus();
        return;
      }
      event.preventDefault();
      command.run();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [commands]);
}

function hasVisibleFocus(): boolean {
  const { activeElement, body } = document;
  return (
    activeElement !== null && activeElement !== body && activeElement.matches(":focus-visible")
  );
}

const fields = "input:not([type=checkbox], [type=radio]), textarea, [role=menu] *";

function isWriting({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches(fields)) return true;
  // An open one has the key for itself.
  return target.matches("select") && key !== "Escape";
}
