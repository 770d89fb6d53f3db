import type { Redactor } from "@deltawire/agent";
import type { ReceivedHeaders } from "../upstream/send-request.ts";

/** What of an upstream's headers a client needs to read a body; nothing else is forwarded. */
const forwarded = ["content-type", "content-length", "content-disposition"] as const;

/** Nothing that an upstream sends may run as a page of the gateway's origin. */
const protective = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
};

/**
 * Visible ASCII and blanks. A control character could end the header and begin another response, and so can others: Node
 * reads a Content-Disposition beside a Content-Length as UTF-8 and writes it as Latin-1, so that the bytes C4 8D C4 8A
 * (U+010D U+010A) leave as CR LF.
 */
const safeValue = /^[\x20-\x7e]*$/;
const longestValue = 4096;

export interface ForwardedHeaders {
  headers: Record<string, string>;
  /** Names of headers that were left out: not safe to send on, or holding a secret. */
  dropped: string[];
}

/** The headers of an upstream's reply that go to a client: the only place where any are passed on. */
export function forwardedHeaders(
  received: ReceivedHeaders,
  status: number,
  redactor: Redactor,
): ForwardedHeaders {
  const headers: Record<string, string> = { ...protective };
  const dropped: string[] = [];
  for (const name of forwarded) {
    const value = received[name];
    if (value === undefined || (name === "content-length" && hasNoBody(status))) continue;
    if (isSafe(name, value) && redactor.redactData(value) === value) headers[name] = value;
    else dropped.push(name);
  }
  return { headers, dropped };
}

/** A reply with such a status has no body, whatever its Content-Length says. */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

function isSafe(name: string, value: string | string[]): value is string {
  if (typeof value !== "string" || value.length > longestValue) return false;
  return name === "content-length" ? /^\d{1,15}$/.test(value) : safeValue.test(value);
}
