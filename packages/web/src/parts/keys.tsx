const isMac = typeof navigator === "object" && /mac|iphone|ipad/i.test(navigator.userAgent);

const names: Readonly<Record<string, string>> = {
  mod: isMac ? "⌘" : "Ctrl",
  shift: isMac ? "⇧" : "Shift",
  alt: isMac ? "⌥" : "Alt",
  enter: "Enter",
  backspace: isMac ? "⌫" : "Backspace",
  escape: "Esc",
  arrowup: "↑",
  arrowdown: "↓",
  end: "End",
};

/** `mod+shift+o` as keys that a person knows from the own keyboard. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className="keys">
      {namesOf(keys).map((name) => (
        <kbd key={name}>{name}</kbd>
      ))}
    </span>
  );
}

/** The same for a tooltip. */
export function keysAsText(keys: string): string {
  return namesOf(keys).join("+");
}

/** The same for `aria-keyshortcuts`. */
export function keysForAria(keys: string): string {
  return keys
    .split("+")
    .map((key) => (key === "mod" ? (isMac ? "Meta" : "Control") : capitalized(key)))
    .join("+");
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function namesOf(keys: string): string[] {
  return keys
    .split(/(?<=[^+])[+ ]/)
    .map((key) => names[key.toLowerCase()] ?? (key.length === 1 ? key.toUpperCase() : key));
}

/** What of a key press says which command is meant. */
export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}

/** Whether a press is `mod+k`, `shift+j`, `alt+arrowup`, `?`. A character that needs Shift is named by itself. */
export function isPressed(keys: string, press: KeyPress, isMac: boolean): boolean {
  const parts = keys.toLowerCase().split("+");
  const key = keys.endsWith("+") ? "+" : (parts.at(-1) ?? "");
  const mod = isMac ? press.metaKey : press.ctrlKey;
  const other = isMac ? press.ctrlKey : press.metaKey;
  const isLetter = /^[a-z]$|^.{2,}$/.test(key);
  return (
    press.key.toLowerCase() === key &&
    mod === parts.includes("mod") &&
    !other &&
    press.altKey === parts.includes("alt") &&
    (!isLetter || press.shiftKey === parts.includes("shift"))
  );
}

/** True for a key that a text field needs itself: all without a modifier, and those that edit (a word is deleted by Ctrl+Backspace). */
export function writes({ key, ctrlKey, metaKey, altKey }: KeyPress): boolean {
  if (key === "Enter" || key === "Backspace") return true;
  return !ctrlKey && !metaKey && !(altKey && key.startsWith("Arrow"));
}

/** True for a key that types a character. The space bar is not one of them: outside of fields it scrolls and presses buttons. */
export function isCharacter({ key, ctrlKey, metaKey, altKey }: KeyPress): boolean {
  return /^.$/su.test(key) && key !== " " && !ctrlKey && !metaKey && !altKey;
}

const fields = "input:not([type=checkbox], [type=radio]), textarea, [role=menu] *";

/** Whether a key was pressed in something that takes characters itself. */
export function isWriting({ target, key }: Pick<KeyboardEvent, "target" | "key">): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches(fields)) return true;
  // An open one has the key for itself.
  return target.matches("select") && key !== "Escape";
}
