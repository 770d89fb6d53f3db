import { useEffect } from "react";
import { usePage } from "../hooks/use-page.ts";
import { findComposer } from "../parts/focus.ts";
import { isCharacter, isPressed, isWriting, writes } from "../parts/keys.tsx";

/**
 * Keys run commands, except those that belong to a field or an open dialog. Characters are typed into the composer, wherever
 * there is one; they run commands only where somebody moves through the page by the keyboard, with a visible focus.
 */
export function useShortcuts(): void {
  const { commands } = usePage();
  useEffect(() => {
    const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
    // The browser shows the focus of what was clicked as soon as any key is pressed, so that alone does not tell them apart.
    let movesBy: "pointer" | "keyboard" = "keyboard";
    const onPointer = () => {
      movesBy = "pointer";
    };
    const onKeyDone = (event: KeyboardEvent) => {
      if (movesFocus(event)) movesBy = "keyboard";
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      if (writes(event) && isWriting(event)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (isPressed("mod+v", event, isMac)) {
        // The browser pastes into what has the focus after this.
        if (!isWriting(event)) findComposer()?.focus();
        return;
      }
      const composer = isCharacter(event) ? findComposer() : null;
      if (composer !== null && (movesBy === "pointer" || !hasVisibleFocus())) {
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
    window.addEventListener("keydown", onKeyDone);
    window.addEventListener("pointerdown", onPointer, { capture: true });
    return () => {
      document.removeEventListener("keydown", onKey);
      window.removeEventListener("keydown", onKeyDone);
      window.removeEventListener("pointerdown", onPointer, { capture: true });
    };
  }, [commands]);
}

/** True for Tab, for an arrow key that the page has used (others scroll), and for Escape in the composer. */
function movesFocus({ key, target, defaultPrevented }: KeyboardEvent): boolean {
  if (key === "Tab") return true;
  if (key.startsWith("Arrow")) return defaultPrevented;
  return key === "Escape" && target instanceof Element && target.matches("[data-composer]");
}

function hasVisibleFocus(): boolean {
  const { activeElement, body } = document;
  return (
    activeElement !== null && activeElement !== body && activeElement.matches(":focus-visible")
  );
}
