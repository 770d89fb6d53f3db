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

/** Keys that write something belong to whoever is writing. */
export function writes({ key, ctrlKey, metaKey, altKey }: KeyPress): boolean {
  return !ctrlKey && !metaKey && !(altKey && key.startsWith("Arrow"));
}
