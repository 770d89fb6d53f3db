import { Redactor, secretsIn, secretsOfUrl } from "@deltawire/agent";
import type { Config, McpTransport } from "../config/config.ts";
import { unreachable } from "../unreachable.ts";
import { sessionValue } from "./session.ts";

/** The redactor for every key, token and password of a configuration. */
export function redactorFor(config: Config): Redactor {
  const upstreams = [...config.upstreams.values()];
  return new Redactor([
    ...config.server.clients.flatMap(({ token }) => [token, sessionValue(token)]),
    ...upstreams.flatMap(({ apiKey }) => apiKey ?? []),
    ...upstreams.flatMap(({ headers, query }) =>
      secretsIn(Object.entries({ ...headers, ...query })),
    ),
    ...[...config.mcp.values()].flatMap(({ transport, secrets }) => [
      ...secrets,
      ...secretsOf(transport),
    ]),
  ]);
}

function secretsOf(transport: McpTransport): string[] {
  switch (transport.kind) {
    case "command":
      return secretsIn(Object.entries(transport.env));
    case "url":
      return [
        ...secretsIn(Object.entries(transport.headers)),
        ...secretsOfUrl(new URL(transport.url)),
      ];
    default:
      return unreachable(transport);
  }
}
