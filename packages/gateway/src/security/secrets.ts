import type { Config, McpTransport } from "../config/config.ts";
import { unreachable } from "../unreachable.ts";
import { sessionValue } from "./session.ts";

/** Shorter strings are no secrets worth the name, and would blot out ordinary words. */
const shortest = 6;

/** Takes every configured key and token out of a text, wherever a provider or an error may have put it. */
export class Secrets {
  readonly #values: string[];

  constructor(values: Iterable<string>) {
    // In a log line and in an error's JSON a quote has a backslash before it.
    const written = [...values].flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
    const long = [...new Set(written)].filter((value) => value.length >= shortest);
    // The longer first: one secret may begin with another.
    this.#values = long.toSorted((a, b) => b.length - a.length);
  }

  static of(config: Config): Secrets {
    const upstreams = [...config.upstreams.values()];
    return new Secrets([
      ...config.server.clients.flatMap(({ token }) => [token, sessionValue(token)]),
      ...upstreams.flatMap(({ apiKey }) => apiKey ?? []),
      ...upstreams.flatMap(({ headers, query }) => secretsIn({ ...headers, ...query })),
      ...[...config.mcp.values()].flatMap(({ transport, secrets }) => [
        ...secrets,
        ...secretsOf(transport),
      ]),
    ]);
  }

  redact(text: string): string {
    let clean = text;
    for (const value of this.#values)
      if (clean.includes(value)) clean = clean.replaceAll(value, redacted);
    return clean;
  }
}

const redacted = "[redacted]";

function secretsOf(transport: McpTransport): string[] {
  switch (transport.kind) {
    case "command":
      return secretsIn(transport.env);
    case "url": {
      const query = Object.fromEntries(new URL(transport.url).searchParams);
      return [...secretsIn(transport.headers), ...secretsIn(query)];
    }
    default:
      return unreachable(transport);
  }
}

/** Headers, queries and variables hold ordinary words too: blotting these out would make every message unreadable. */
function secretsIn(named: Readonly<Record<string, string>>): string[] {
  return Object.entries(named).flatMap(([name, value]) =>
    /auth|key|token|secret|cookie|passw|pwd|credential|signature|(?:^|_)pat$/i.test(name) ||
    value.length >= 16
      ? [value]
      : [],
  );
}
