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
