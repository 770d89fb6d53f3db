import type { Redactor } from "@deltawire/agent";
import type { UpstreamHeaders } from "../upstream/send-request.ts";

/** Only headers that a client needs to read the body are forwarded. */
const forwardedNames = ["content-type", "content-length", "content-disposition"] as const;

/** An upstream's reply must not run as a page on the gateway's origin. */
const protectiveHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
};

/**
 * Printable ASCII. Control characters could end the header and start another response. So could other characters: if there is a
 * Content-Length, Node reads Content-Disposition as UTF-8 and writes it as Latin-1, so the bytes C4 8D C4 8A become CR LF.
 */
const safeValuePattern = /^[\x20-\x7e]*$/;
const maxValueLength = 4096;

export interface ForwardedHeaders {
  headers: Record<string, string>;
  /** Names of headers that are not forwarded because they are unsafe or contain a secret. */
  dropped: string[];
}

/** Selects the upstream headers that are forwarded to a client. All upstream headers that reach a client pass through here. */
export function selectForwardedHeaders(
  upstreamHeaders: UpstreamHeaders,
  status: number,
  redactor: Redactor,
): ForwardedHeaders {
  const headers: Record<string, string> = { ...protectiveHeaders };
  const dropped: string[] = [];
  for (const name of forwardedNames) {
    const value = upstreamHeaders[name];
    if (value === undefined || (name === "content-length" && hasNoBody(status))) continue;
    if (isSafe(name, value) && redactor.redactData(value) === value) headers[name] = value;
    else dropped.push(name);
  }
  return { headers, dropped };
}

/** Headers of a Messages upstream that clients show or obey. */
const informationalPattern = /^(?:request-id|anthropic-ratelimit-[a-z-]+)$/;

/** Selects the upstream headers that a client of the Messages API receives with a translated or forwarded reply. */
export function selectInformationalHeaders(
  upstreamHeaders: UpstreamHeaders,
  redactor: Redactor,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(upstreamHeaders))
    if (
      informationalPattern.test(name) &&
      value !== undefined &&
      isSafe(name, value) &&
      redactor.redactData(value) === value
    )
      headers[name] = value;
  return headers;
}

/** True for statuses without a body, regardless of Content-Length. */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

function isSafe(name: string, value: string | string[]): value is string {
  if (typeof value !== "string" || value.length > maxValueLength) return false;
  return name === "content-length" ? /^\d{1,15}$/.test(value) : safeValuePattern.test(value);
}
