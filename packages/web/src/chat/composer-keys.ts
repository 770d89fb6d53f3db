import type { KeyboardEvent } from "react";

/** What of a key press counts here. */
export interface ComposerPress {
  readonly key: string;
  /** The legacy code: 229 while an input method has the key, also where `isComposing` is false already (Safari). */
  readonly keyCode: number;
  readonly isComposing: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

export interface ComposerSituation {
  readonly sendKey: "enter" | "mod+enter";
  readonly isRunning: boolean;
  readonly isEmpty: boolean;
}

/** `type`: the key is the text's own. */
export type KeyMeaning = "send" | "steer" | "queue" | "edit last" | "leave" | "type";

export function meaningOf(press: ComposerPress, situation: ComposerSituation): KeyMeaning {
  const { sendKey, isRunning, isEmpty } = situation;
  const { shiftKey, altKey } = press;
  const mod = press.ctrlKey || press.metaKey;
  if (press.isComposing || press.keyCode === 229) return "type";
  if (press.key === "Escape" && !mod && !shiftKey && !altKey) return "leave";
  if (press.key === "ArrowUp" && isEmpty && !mod && !shiftKey && !altKey) return "edit last";
  if (press.key !== "Enter" || altKey) return "type";
  if (sendKey === "enter") {
    if (shiftKey) return "type";
    if (!isRunning) return "send";
    return mod ? "queue" : "steer";
  }
  if (!mod) return "type";
  if (!isRunning) return "send";
  return shiftKey ? "queue" : "steer";
}

export function pressOf(event: KeyboardEvent): ComposerPress {
  const { key, keyCode, shiftKey, altKey, ctrlKey, metaKey } = event;
  const { isComposing } = event.nativeEvent;
  return { key, keyCode, isComposing, shiftKey, altKey, ctrlKey, metaKey };
}

/** The keys of the two ways to speak while an answer runs, as they are shown. */
export function tellingKeys(sendKey: ComposerSituation["sendKey"]) {
  return sendKey === "enter"
    ? { steer: "enter", queue: "mod+enter" }
    : { steer: "mod+enter", queue: "mod+shift+enter" };
}

/* A single character never asks a model and never changes a chat: those keys have a modifier. */
export const editKeys = "mod+shift+e";
export const retryKeys = "mod+shift+enter";

/** Of the answer that runs, also while somebody writes. */
export const stopKeys = "mod+.";
