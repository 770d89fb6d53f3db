import { useEffect } from "react";
import { useAppStore } from "../hooks/use-app-store.ts";
import { findComposer } from "../ui/focus.ts";
import {
  isCharacterKey,
  matchesShortcut,
  isTypingTarget,
  isTextInputKey,
} from "../ui/keyboard-shortcut.tsx";

/**
 * Runs the command of a pressed shortcut, unless a field or an open dialog handles the key. Character keys type into the
 * composer if there is one, and run commands only while the keyboard is used to navigate, with a visible focus ring.
 */
export function useShortcuts(): void {
  const { commands } = useAppStore();
  useEffect(() => {
    const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
    // Tracked here because, after any key press, :focus-visible also matches an element that was focused by a click.
    let navigationMode: "pointer" | "keyboard" = "keyboard";
    const onPointerDown = () => {
      navigationMode = "pointer";
    };
    const onWindowKeyDown = (event: KeyboardEvent) => {
      if (isFocusMovingKey(event)) navigationMode = "keyboard";
    };
    const onDocumentKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      if (isTextInputKey(event) && isTypingTarget(event)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (matchesShortcut("mod+v", event, isMac)) {
        // The browser then pastes into the focused element.
        if (!isTypingTarget(event)) findComposer()?.focus();
        return;
      }
      const composer = isCharacterKey(event) ? findComposer() : null;
      if (composer !== null && (navigationMode === "pointer" || !hasVisibleFocus())) {
        // The browser then types the character into the focused element.
        composer.focus();
        return;
      }
      // The command that was registered last belongs to the innermost component.
      const command = commands.all
        .get()
        .findLast(
          ({ keys, isHandledLocally }) =>
            keys !== undefined && isHandledLocally !== true && matchesShortcut(keys, event, isMac),
        );
      if (command === undefined) {
        composer?.focus();
        return;
      }
      event.preventDefault();
      command.run();
    };
    document.addEventListener("keydown", onDocumentKeyDown);
    // On the window, so that it runs after all other handlers.
    window.addEventListener("keydown", onWindowKeyDown);
    window.addEventListener("pointerdown", onPointerDown, { capture: true });
    return () => {
      document.removeEventListener("keydown", onDocumentKeyDown);
      window.removeEventListener("keydown", onWindowKeyDown);
      window.removeEventListener("pointerdown", onPointerDown, { capture: true });
    };
  }, [commands]);
}

/** True for Tab, for an arrow key that the page has handled (others scroll), and for Escape in the composer. */
function isFocusMovingKey({ key, target, defaultPrevented }: KeyboardEvent): boolean {
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
