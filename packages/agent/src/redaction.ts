/** Takes every secret out of a text. */
export type Redact = (text: string) => string;

/** Shorter strings are no secrets worth the name, and would blot out ordinary words. */
const shortest = 6;

/** For whatever is handed to a server to be let in, wherever the server or an error may have put it. */
export function redaction(secrets: readonly string[]): Redact {
  // In an error's JSON a quote has a backslash before it; a header is told without the blanks around it.
  const written = secrets.flatMap((value) => [
    value,
    value.trim(),
    JSON.stringify(value).slice(1, -1),
  ]);
  const long = [...new Set(written)].filter((value) => value.length >= shortest);
  // The longer first: one secret may begin with another.
  const values = long.toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const value of values) clean = clean.replaceAll(value, "[redacted]");
    return clean;
  };
}

/** Headers, queries and variables hold ordinary words too: blotting these out would make every message unreadable. */
export function secretsIn(named: Iterable<readonly [string, string]>): string[] {
  return [...named]
    .filter(
      ([name, value]) =>
        /auth|key|token|secret|cookie|password|signature/i.test(name) || value.length >= 16,
    )
    .map(([, value]) => value.replace(/^(?:Bearer|Basic) +/i, ""));
}

/** The password and the query of an address. */
export function secretsOfUrl(url: URL): string[] {
  return [decodeURIComponent(url.password), ...secretsIn(url.searchParams)];
}
