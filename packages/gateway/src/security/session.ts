import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const maxAgeSeconds = 30 * 24 * 60 * 60;

/**
 * Returns the cookie value that replaces a token in the browser. It is derived from the token alone, so it stays valid
 * after a restart, becomes invalid with the token, and does not reveal the token.
 */
export function deriveSessionValue(token: string): string {
  return createHmac("sha256", token).update("deltawire session 1").digest("base64url");
}

/** Returns the Set-Cookie header that starts a session. */
export function createSessionCookie(token: string, headers: IncomingHttpHeaders): string {
  return formatCookie(deriveSessionValue(token), maxAgeSeconds, headers);
}

/** Returns the Set-Cookie header that ends a session. */
export function createExpiredSessionCookie(headers: IncomingHttpHeaders): string {
  return formatCookie("", 0, headers);
}

/** Returns all values of the session cookie: a browser sends several if paths or domains differ. */
export function parseSessionCookies(headers: IncomingHttpHeaders): string[] {
  const ownName = getCookieName(headers);
  return (headers.cookie ?? "").split(";").flatMap((pair) => {
    const [name, ...value] = pair.trim().split("=");
    return name === ownName ? [value.join("=")] : [];
  });
}

/** The name contains the port: all ports of a host share cookies, and two gateways on one host must not sign each other out. */
function getCookieName({ host = "" }: IncomingHttpHeaders): string {
  const [, port] = /:(\d+)$/.exec(host) ?? [];
  return port === undefined ? "deltawire_session" : `deltawire_session_${port}`;
}

function formatCookie(value: string, maxAge: number, headers: IncomingHttpHeaders): string {
  const parts = [
    `${getCookieName(headers)}=${value}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${maxAge}`,
  ];
  return [...parts, ...(isHttps(headers) ? ["Secure"] : [])].join("; ");
}

/** True if a proxy in front of the gateway reports that the client uses HTTPS. The gateway itself only serves HTTP. */
export function isHttps(headers: IncomingHttpHeaders): boolean {
  const [clientProtocol = ""] = String(headers["x-forwarded-proto"] ?? "").split(",");
  return clientProtocol.trim().toLowerCase() === "https";
}
