import type { IncomingHttpHeaders } from "node:http";

/** True if the client has this version already: the reply is 304. */
export function matchesEtag(etag: string, headers: IncomingHttpHeaders): boolean {
  const known = (headers["if-none-match"] ?? "").split(",").map((each) => each.trim());
  return known.includes(etag) || known.includes("*");
}
