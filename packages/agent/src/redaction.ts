import type { ToolOutput } from "@deltawire/tasks";

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

/** What a tool gave, parts for the model and blocks for people, with every text in it as `redact` leaves it. */
export function redactedOutput(output: ToolOutput, redact: Redact): ToolOutput {
  const each = <T extends object>(parts: readonly T[]): T[] =>
    parts.map((part) => {
      const entries = Object.entries(part).map(([name, value]) => [
        name,
        name === "type" ? (value as unknown) : redacted(value, redact),
      ]);
      return Object.fromEntries(entries) as T;
    });
  return { message_content: each(output.message_content), block_list: each(output.block_list) };
}

/** Every text in a value, at any depth; bytes stay. */
export function redacted(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((one) => redacted(one, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [redact(name), redacted(one, redact)]),
  );
}
