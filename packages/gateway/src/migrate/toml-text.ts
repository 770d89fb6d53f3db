/** A string as TOML; in the quotes of `like`, if it can be. */
export function tomlString(text: string, like = '"'): string {
  const isPlain = !/[\p{Cc}']/u.test(text);
  if (like.startsWith("'") && !like.startsWith("'''") && isPlain) return `'${text}'`;
  // JSON escapes all that TOML wants escaped, save one character.
  return JSON.stringify(text).replaceAll("\u007F", "\\u007F");
}

export function tomlKey(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : tomlString(name);
}

export function tomlInlineTable(entries: Iterable<readonly [string, string]>): string {
  const written = [...entries].map(([name, value]) => `${tomlKey(name)} = ${tomlString(value)}`);
  return written.length === 0 ? "{}" : `{ ${written.join(", ")} }`;
}
