import type { IncomingHttpHeaders } from "node:http";
import { isLoopback } from "../config/host-addresses.ts";
import type { ServerConfig } from "../config/config.ts";
import { GatewayError } from "../gateway-error.ts";

/**
 * Throws a GatewayError (403) if the request may come from another site's page. A page on the internet can make a browser send
 * requests to loopback, directly or through a host name that it controls (DNS rebinding). The Origin or Host header reveals this.
 */
export function assertAllowedOrigin(headers: IncomingHttpHeaders, server: ServerConfig): void {
  const host = parseHostName(headers.host ?? "");
  if (isLoopback(server.host) && !isLoopback(host) && !server.allowedHosts.includes(host))
    throw new GatewayError(
      "host_not_allowed",
      `Host "${headers.host ?? ""}" is not allowed; to allow it, add it to server.allowed_hosts`,
    );
  const { origin } = headers;
  if (origin === undefined || isSameOrigin(origin, headers.host) || isAllowedOrigin(origin, server))
    return;
  throw new GatewayError(
    "origin_not_allowed",
    `Origin ${origin} is not allowed; to allow it, add it to server.cors_origins`,
  );
}

/**
 * True if a browser sent the request for the gateway's own page or for a typed address. The session cookie is accepted only with
 * such requests.
 */
export function isSameOriginRequest(headers: IncomingHttpHeaders): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined && !isSameOrigin(origin, headers.host)) return false;
  return site === undefined || site === "same-origin" || site === "none";
}

/** Returns the headers that let pages of an allowed origin read the reply; none for other origins. */
export function buildCorsHeaders(
  headers: IncomingHttpHeaders,
  server: ServerConfig,
): Record<string, string> {
  const { origin } = headers;
  if (origin === undefined || !isAllowedOrigin(origin, server)) return {};
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

function isAllowedOrigin(origin: string, server: ServerConfig): boolean {
  return server.corsOrigins.includes(origin);
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

function parseHostName(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}
