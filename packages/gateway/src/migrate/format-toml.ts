/**
 * Formats a TOML string. If `replacedString` has single quotes, they are preserved if possible. A lone surrogate, which TOML does
 * not allow, becomes U+FFFD.
 */
export function formatTomlString(text: string, replacedString = '"'): string {
  const isPlain = !/[\p{Cc}']/u.test(text);
  const validText = text.toWellFormed();
  if (/^'(?!'')/.test(replacedString) && isPlain) return `'${validText}'`;
  // JSON escapes everything that TOML requires, except DEL.
  return JSON.stringify(validText).replaceAll("\u007F", "\\u007F");
}

export function formatTomlKey(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : formatTomlString(name);
}

export function formatTomlInlineTable(entries: Iterable<readonly [string, string]>): string {
  const pairs = [...entries].map(
    ([name, value]) => `${formatTomlKey(name)} = ${formatTomlString(value)}`,
  );
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}
