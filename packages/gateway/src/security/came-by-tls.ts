import type { IncomingHttpHeaders } from "node:http";

/** The gateway itself has no certificate; a proxy before it says what the client sees. */
export function cameByTls(headers: IncomingHttpHeaders): boolean {
  const [outermost = ""] = String(headers["x-forwarded-proto"] ?? "").split(",");
  return outermost.trim().toLowerCase() === "https";
}
