/** What may be linked to: nothing that a browser would run, and no place that only the writer's machine has. */
export function isLinkable(url: string): boolean {
  return /^(?:https?:\/\/[^\s/]|mailto:[^\s@]+@|\/api\/blobs\/\w)/i.test(url);
}

const deepest = 3;

/** `(address "title")` at a place, and where it ends. Brackets may stand in an address, in pairs. */
export function linkTarget(text: string, from: number): { url: string; end: number } | undefined {
  if (text.charAt(from) !== "(") return undefined;
  const found = addressAt(text, behindBlanks(text, from + 1));
  if (found === undefined) return undefined;
  const end = behindTitle(text, found.end);
  return text.charAt(end) === ")" ? { url: found.url, end: end + 1 } : undefined;
}

export function addressAt(text: string, from: number): { url: string; end: number } | undefined {
  return text.charAt(from) === "<" ? inAngles(text, from + 1) : upToBlankOrBracket(text, from);
}

function inAngles(text: string, from: number): { url: string; end: number } | undefined {
  let at = from;
  while (at < text.length && !/[<>\n]/.test(text.charAt(at))) at += 1;
  return text.charAt(at) === ">" ? { url: text.slice(from, at), end: at + 1 } : undefined;
}

function upToBlankOrBracket(text: string, from: number): { url: string; end: number } | undefined {
  let depth = 0;
  let at = from;
  for (; at < text.length; at += 1) {
    const one = text.charAt(at);
    if (one === "(") depth += 1;
    else if (one === ")") depth -= 1;
    if (depth < 0 || depth > deepest || /[\s<>]/.test(one)) break;
  }
  return depth > 0 ? undefined : { url: text.slice(from, at), end: at };
}

function behindTitle(text: string, from: number): number {
  const at = behindBlanks(text, from);
  const quote = text.charAt(at);
  if (at === from || (quote !== '"' && quote !== "'")) return at;
  const end = text.indexOf(quote, at + 1);
  return end === -1 ? at : behindBlanks(text, end + 1);
}

function behindBlanks(text: string, from: number): number {
  let at = from;
  while (/[ \t\n]/.test(text.charAt(at))) at += 1;
  return at;
}
