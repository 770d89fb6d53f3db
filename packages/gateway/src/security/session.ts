import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const longestSeconds = 30 * 24 * 60 * 60;

/**
 * What a browser holds instead of a token that was typed once. It follows from the token alone: a restart does not end
 * it, another token does, and nobody reads the token from it.
 */
export function sessionValue(token: string): string {
  return createHmac("sha256", token).update("deltawire session 1").digest("base64url");
}

/** The header that gives a browser its session. */
export function sessionCookie(token: string, headers: IncomingHttpHeaders): string {
  return cookie(sessionValue(token), longestSeconds, headers);
}

/** The header that takes it away. */
export function endedSessionCookie(headers: IncomingHttpHeaders): string {
  return cookie("", 0, headers);
}

/** All that a request brings under our name: a browser sends several where paths or domains differ. */
export function sessionsIn(headers: IncomingHttpHeaders): string[] {
  const ownName = cookieName(headers);
  return (headers.cookie ?? "").split(";").flatMap((pair) => {
    const [name, ...value] = pair.trim().split("=");
    return name === ownName ? [value.join("=")] : [];
  });
}

/** Cookies are of a host, whatever the port: two gateways on one machine must not sign each other's pages out. */
function cookieName({ host = "" }: IncomingHttpHeaders): string {
  const [, port] = /:(\d+)$/.exec(host) ?? [];
  return port === undefined ? "deltawire_session" : `deltawire_session_${port}`;
}

function cookie(value: string, maxAge: number, headers: IncomingHttpHeaders): string {
  const parts = [
    `${cookieName(headers)}=${value}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${maxAge}`,
  ];
  return [...parts, ...(isHttps(headers) ? ["Secure"] : [])].join("; ");
}

/** True if the client uses HTTPS, as a proxy before the gateway says: the gateway itself has no certificate. */
export function isHttps(headers: IncomingHttpHeaders): boolean {
  const [outermost = ""] = String(headers["x-forwarded-proto"] ?? "").split(",");
  return outermost.trim().toLowerCase() === "https";
}
