import { assertNever } from "@deltawire/tasks";
import { Redactor, findSecretValues, findUrlSecrets } from "@deltawire/agent/basics";
import type { Config, McpTransport } from "../config/config.ts";
import { accessKeyTextPattern, openAccessKeyPattern } from "./access-key-format.ts";
import { deriveSessionValue } from "./session.ts";

/** Creates a redactor for access keys, and for all keys, tokens and passwords in a configuration. */
export function createRedactor(config: Config): Redactor {
  const upstreams = [...config.upstreams.values()];
  return new AccessKeyRedactor([
    ...config.server.clients.flatMap(({ token }) => [token, deriveSessionValue(token)]),
    ...(config.server.sealingKey === undefined ? [] : [config.server.sealingKey]),
    ...upstreams.flatMap(({ apiKey }) => apiKey ?? []),
    ...(config.store.s3 === undefined ? [] : [config.store.s3.secretAccessKey]),
    ...[config.store.url, config.bus.url].flatMap((url) =>
      url === undefined ? [] : findUrlSecrets(new URL(url)),
    ),
    ...upstreams.flatMap(({ headers, query }) =>
      findSecretValues(Object.entries({ ...headers, ...query })),
    ),
    ...[...config.mcp.values()].flatMap(({ transport, secrets }) => [
      ...secrets,
      ...findTransportSecrets(transport),
    ]),
  ]);
}

/** Also redacts access keys, which are recognized by their format, because the configuration does not contain them. */
class AccessKeyRedactor extends Redactor {
  override redact(text: string): string {
    return super.redact(removeAccessKeys(text));
  }

  override excerpt(text: string, maxLength: number): string {
    return super.excerpt(removeAccessKeys(text), maxLength);
  }

  override redactData(text: string): string {
    return super.redactData(removeAccessKeys(text));
  }

  override findOpenStart(text: string): number {
    const start = text.search(openAccessKeyPattern);
    const openStart = super.findOpenStart(text);
    return start < 0 ? openStart : Math.min(start, openStart);
  }
}

function removeAccessKeys(text: string): string {
  return text.includes("dwk_") ? text.replaceAll(accessKeyTextPattern, "[redacted]") : text;
}

function findTransportSecrets(transport: McpTransport): string[] {
  switch (transport.kind) {
    case "command":
      return findSecretValues(Object.entries(transport.env));
    case "url":
      return [
        ...findSecretValues(Object.entries(transport.headers)),
        ...findUrlSecrets(new URL(transport.url)),
      ];
    default:
      return assertNever(transport);
  }
}
