import type { KeyboardEvent } from "react";

/** The relevant part of a `KeyboardEvent`. */
export interface ComposerKeyEvent {
  readonly key: string;
  /** Legacy code; 229 if the key belongs to an input method, even if `isComposing` is already false (Safari). */
  readonly keyCode: number;
  readonly isComposing: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

export interface ComposerKeyContext {
  readonly sendKey: "enter" | "mod+enter";
  readonly isRunning: boolean;
  readonly isEmpty: boolean;
}

/** What a key does in the composer. `type`: the text field handles the key. */
export type ComposerAction = "send" | "steer" | "queue" | "edit last" | "blur" | "type";

export function toComposerAction(
  keyEvent: ComposerKeyEvent,
  context: ComposerKeyContext,
): ComposerAction {
  const { sendKey, isRunning, isEmpty } = context;
  const { shiftKey, altKey } = keyEvent;
  const hasMod = keyEvent.ctrlKey || keyEvent.metaKey;
  if (keyEvent.isComposing || keyEvent.keyCode === 229) return "type";
  if (keyEvent.key === "Escape" && !hasMod && !shiftKey && !altKey) return "blur";
  if (keyEvent.key === "ArrowUp" && isEmpty && !hasMod && !shiftKey && !altKey) return "edit last";
  if (keyEvent.key !== "Enter" || altKey) return "type";
  if (sendKey === "enter") {
    if (shiftKey) return "type";
    if (!isRunning) return "send";
    return hasMod ? "queue" : "steer";
  }
  if (!hasMod) return "type";
  if (!isRunning) return "send";
  return shiftKey ? "queue" : "steer";
}

export function toComposerKeyEvent(event: KeyboardEvent): ComposerKeyEvent {
  const { key, keyCode, shiftKey, altKey, ctrlKey, metaKey } = event;
  const { isComposing } = event.nativeEvent;
  return { key, keyCode, isComposing, shiftKey, altKey, ctrlKey, metaKey };
}

/** Returns the shortcuts to steer and to queue a message while an answer runs. */
export function getInputShortcuts(sendKey: ComposerKeyContext["sendKey"]) {
  return sendKey === "enter"
    ? { steer: "enter", queue: "mod+enter" }
    : { steer: "mod+enter", queue: "mod+shift+enter" };
}

/* These have modifier keys, so that typing outside of a text field does not edit, retry or stop anything. */
export const editShortcut = "mod+shift+e";
export const retryShortcut = "mod+shift+enter";

/** Stops the running answer, even while a text field has the focus. */
export const stopShortcut = "mod+.";
