import { useEffect } from "react";
import { usePage } from "../hooks/use-page.ts";
import { isPressed, writes } from "./key-press.ts";

/** Keys run commands, from wherever the focus is, except what belongs to a field or an open dialog. */
export function useShortcuts(): void {
  const { commands } = usePage();
  useEffect(() => {
    const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      if (writes(event) && isWriting(event)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      // The last one offered is the nearest to what is looked at.
      const command = commands.all
        .get()
        .findLast(
          ({ keys, heardInPlace }) =>
            keys !== undefined && heardInPlace !== true && isPressed(keys, event, isMac),
        );
      if (command === undefined) return;
      event.preventDefault();
      command.run();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [commands]);
}

const fields = "input:not([type=checkbox], [type=radio]), textarea, [role=menu] *";

function isWriting({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches(fields)) return true;
  // An open one has the key for itself.
  return target.matches("select") && key !== "Escape";
}
