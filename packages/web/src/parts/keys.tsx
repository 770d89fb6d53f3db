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
      {keys.split(/(?<=[^+])[+ ]/).map((key) => (
        <kbd key={key}>
          {names[key.toLowerCase()] ?? (key.length === 1 ? key.toUpperCase() : key)}
        </kbd>
      ))}
    </span>
  );
}
