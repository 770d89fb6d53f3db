const isMac = typeof navigator === "object" && /mac|iphone|ipad/i.test(navigator.userAgent);

const keyNames: Readonly<Record<string, string>> = {
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

/** Renders `mod+shift+o` with the key names of the user's platform. */
export function ShortcutKeys({ keys: shortcut }: { keys: string }) {
  return (
    <span className="shortcut-keys">
      {getKeyNames(shortcut).map((name) => (
        <kbd key={name}>{name}</kbd>
      ))}
    </span>
  );
}

/** Formats a shortcut for a tooltip: `Ctrl+Shift+O`. */
export function formatShortcut(shortcut: string): string {
  return getKeyNames(shortcut).join("+");
}

/** Formats a shortcut for `aria-keyshortcuts`: `Control+Shift+O`. */
export function toAriaShortcut(shortcut: string): string {
  return shortcut
    .split("+")
    .map((key) => (key === "mod" ? (isMac ? "Meta" : "Control") : capitalize(key)))
    .join("+");
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function getKeyNames(shortcut: string): string[] {
  return shortcut
    .split(/(?<=[^+])[+ ]/)
    .map((key) => keyNames[key.toLowerCase()] ?? (key.length === 1 ? key.toUpperCase() : key));
}

/** The properties of a `KeyboardEvent` that identify a shortcut. */
export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}

/**
 * True if a key press matches a shortcut such as `mod+k`, `shift+j`, `alt+arrowup` or `?`. A shortcut for a character that is
 * typed with Shift, such as `?`, does not contain `shift`.
 */
export function matchesShortcut(shortcut: string, press: KeyPress, isMac: boolean): boolean {
  const parts = shortcut.toLowerCase().split("+");
  const key = shortcut.endsWith("+") ? "+" : (parts.at(-1) ?? "");
  const isModPressed = isMac ? press.metaKey : press.ctrlKey;
  const isOtherPressed = isMac ? press.ctrlKey : press.metaKey;
  const isLetterOrNamedKey = /^[a-z]$|^.{2,}$/.test(key);
  return (
    press.key.toLowerCase() === key &&
    isModPressed === parts.includes("mod") &&
    !isOtherPressed &&
    press.altKey === parts.includes("alt") &&
    (!isLetterOrNamedKey || press.shiftKey === parts.includes("shift"))
  );
}

/** True for a key that a text field handles: any key without a modifier, and editing keys such as Ctrl+Backspace. */
export function isTextInputKey({ key, ctrlKey, metaKey, altKey }: KeyPress): boolean {
  if (key === "Enter" || key === "Backspace") return true;
  return !ctrlKey && !metaKey && !(altKey && key.startsWith("Arrow"));
}

/** True for a key that types a character, except the space bar, which scrolls or presses buttons. */
export function isCharacterKey({ key, ctrlKey, metaKey, altKey }: KeyPress): boolean {
  return /^.$/su.test(key) && key !== " " && !ctrlKey && !metaKey && !altKey;
}

const textInputSelector = "input:not([type=checkbox], [type=radio]), textarea, [role=menu] *";

/** True if a key was pressed in an element that handles typing. */
export function isTypingTarget({ target, key }: Pick<KeyboardEvent, "target" | "key">): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches(textInputSelector)) return true;
  // An open select handles the key.
  return target.matches("select") && key !== "Escape";
}
