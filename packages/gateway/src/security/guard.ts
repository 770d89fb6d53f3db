import type { IncomingHttpHeaders } from "node:http";
import { isLoopback } from "../config/addresses.ts";
import type { ServerConfig } from "../config/config.ts";
import { Problem } from "../problem.ts";

/**
 * Whether a request may be here at all. A page on the internet can make a browser send requests to loopback, directly
 * or by a name that it lets point here (DNS rebinding): its Origin or its Host gives it away.
 */
export function checkOrigin(headers: IncomingHttpHeaders, server: ServerConfig): void {
  const host = hostName(headers.host ?? "");
  if (isLoopback(server.host) && !isLoopback(host) && !server.allowedHosts.includes(host))
    throw new Problem(
      "host_not_allowed",
      `Host "${headers.host ?? ""}" is not a name of this gateway; add it to server.allowed_hosts if it is`,
    );
  const { origin } = headers;
  if (origin === undefined || isSameOrigin(origin, headers.host) || isAllowed(origin, server))
    return;
  throw new Problem(
    "origin_not_allowed",
    `pages of ${origin} may not use this gateway; add it to server.cors_origins if they should`,
  );
}

/** Whether a browser sent it for a page of ours, or a person by typing the address: only then a cookie counts. */
export function isOwnPage(headers: IncomingHttpHeaders): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined && !isSameOrigin(origin, headers.host)) return false;
  return site === undefined || site === "same-origin" || site === "none";
}

/** The headers that let a page of a configured origin read the answer; none for anybody else. */
export function corsHeaders(
  headers: IncomingHttpHeaders,
  server: ServerConfig,
): Record<string, string> {
  const { origin } = headers;
  if (origin === undefined || !isAllowed(origin, server)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
    "access-control-allow-headers":
      headers["access-control-request-headers"] ?? "authorization, content-type",
    "access-control-expose-headers": "retry-after, x-request-id",
    "access-control-max-age": "600",
    vary: "origin",
  };
}

function isAllowed(origin: string, server: ServerConfig): boolean {
  return server.corsOrigins.includes(origin);
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

function hostName(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}
