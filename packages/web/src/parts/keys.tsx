const isMac = typeof navigator === "object" && /mac|iphone|ipad/i.test(navigator.userAgent);

const names: Readonly<Record<string, string>> = {
  mod: isMac ? "⌘" : "Ctrl",
  shift: isMac ? "⇧" : "Shift",
  alt: isMac ? "⌥" : "Alt",
  enter: "Enter",
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

function namesOf(keys: string): string[] {
  return keys
    .split(/(?<=[^+])[+ ]/)
    .map((key) => names[key.toLowerCase()] ?? (key.length === 1 ? key.toUpperCase() : key));
}
