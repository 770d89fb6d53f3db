import { errorObject, unreachableReasons, upstreamFailure, type JsonObject } from "@deltawire/wire";
import { ModelError } from "../../model.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { errorText } from "../../redaction/upstream-reply.ts";

/** The server, for messages. */
export interface Place {
  at: string;
  hasKey: boolean;
}

export interface Refusal {
  status: number;
  location: string | undefined;
  retryAfterMs: number | undefined;
  /** Its body, as far as it was read. */
  words: string;
}

/** A server answered with something that is no reply. */
export function refusalOf(refusal: Refusal, { at, hasKey }: Place, redactor: Redactor): ModelError {
  const { status, location = "nowhere", retryAfterMs, words } = refusal;
  if (status >= 300 && status < 400)
    return new ModelError(
      "upstream_redirect",
      `${at} answered ${status} and points to ${errorText(location, redactor)}; a key is never sent where a redirect says: set the base address to the right one`,
    );
  const { code, message } = upstreamFailure({ status, ...errorIn(words) });
  const advice =
    status === 401 || status === 403 ? (hasKey ? " and refused the key" : " and wants a key") : "";
  return new ModelError(
    code === "upstream_error" && status < 500 ? "upstream_refused" : errorText(code, redactor),
    `${at} answered ${status}${advice}: ${errorText(message, redactor)}`,
    {
      retryable: !isFinal(code) && (status === 408 || status === 429 || status >= 500),
      retryAfterMs,
    },
  );
}

/** How long a server asks to be left alone: in milliseconds, in seconds, or until a date. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const told = headers.get("retry-after") ?? "";
  const [ms, seconds] = [Number.parseFloat(headers.get("retry-after-ms") ?? ""), Number(told)];
  const wait = ms >= 0 ? ms : told !== "" && seconds >= 0 ? seconds * 1000 : Date.parse(told) - now;
  return wait >= 0 ? wait : undefined;
}

/** A reply that failed before any of it could be told. */
export function failureOf(
  { code, message }: { code: string; message: string },
  { at }: Place,
  redactor: Redactor,
): ModelError {
  const isPassing = !isFinal(code) && !/invalid|bad_?request|unsupported|filter/i.test(code);
  return new ModelError(errorText(code, redactor), `${at}: ${errorText(message, redactor)}`, {
    retryable: isPassing,
  });
}

/** Nobody answered. The cause is not handed on: its words may quote what was sent. */
export function unreachableOf(
  error: unknown,
  timedOut: boolean,
  { at }: Place,
  redactor: Redactor,
): ModelError {
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  const code = cause?.code ?? "";
  if (timedOut || /TIMEOUT/.test(code) || code === "ETIMEDOUT")
    return new ModelError("upstream_timeout", `${at} did not answer in time`, { retryable: true });
  const reason =
    unreachableReasons[code] ?? errorText(code === "" ? (message ?? "") : code, redactor);
  return new ModelError(
    "upstream_unreachable",
    `${at} cannot be reached: ${reason}; is it running, and is the address right?`,
    // Without a code it never came to a connection: a header that cannot be sent, an address that is none.
    { retryable: code !== "" },
  );
}

/** What a little time does not change, whatever the status says. */
function isFinal(code: string): boolean {
  return (
    code === "insufficient_quota" ||
    code === "context_length_exceeded" ||
    code === "reply_too_large"
  );
}

/** The error in whatever a server wraps it in, or its words where they are no JSON. */
function errorIn(words: string): JsonObject {
  try {
    return errorObject(JSON.parse(words));
  } catch {
    return errorObject(words);
  }
}
