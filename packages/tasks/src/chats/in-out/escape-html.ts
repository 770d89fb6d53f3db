const named: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** As text, or within the quotes of an attribute. Nul and other characters that HTML forbids are shown as unknown ones. */
export function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => named[character] ?? "")
    .replaceAll(forbidden, "\u{FFFD}");
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const forbidden = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g;
