import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether Codex is asking. It runs every call that it sees done and never looks at the status, so what was cut must be
 * kept from it; and it stops with a clear text for some failures only when they come inside the stream.
 */
export function isCodex(headers: IncomingHttpHeaders): boolean {
  const { originator } = headers;
  if (typeof originator === "string" && /^codex/i.test(originator)) return true;
  if (/^codex/i.test(headers["user-agent"] ?? "")) return true;
  return Object.keys(headers).some((name) => name.startsWith("x-codex-"));
}
