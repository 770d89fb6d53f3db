import {
  unwrapErrorBody,
  connectionErrorReasons,
  parseUpstreamFailure,
  type JsonObject,
} from "@deltawire/wire";
import { ModelError } from "../../model.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { redactErrorText } from "../../redaction/redact-upstream-reply.ts";

/** The server, for error messages. */
export interface FetchTarget {
  url: string;
  hasKey: boolean;
}

export interface FetchRejection {
  status: number;
  location: string | undefined;
  retryAfterMs: number | undefined;
  /** The part of the body that was read. */
  body: string;
}

/** Converts an HTTP response with an error or redirect status. */
export function toRejectionError(
  rejection: FetchRejection,
  { url, hasKey }: FetchTarget,
  redactor: Redactor,
): ModelError {
  const { status, location = "an unknown location", retryAfterMs, body } = rejection;
  if (status >= 300 && status < 400)
    return new ModelError(
      "upstream_redirect",
      `${url} answered ${status} with a redirect to ${redactErrorText(location, redactor)}; redirects are not followed because the key would be sent along: set the base URL to the right address`,
    );
  const { code, message } = parseUpstreamFailure({ status, ...parseErrorBody(body) });
  const keyProblem =
    status === 401 || status === 403
      ? hasKey
        ? " and rejected the API key"
        : " and requires an API key"
      : "";
  return new ModelError(
    code === "upstream_error" && status < 500
      ? "upstream_rejected"
      : redactErrorText(code, redactor),
    `${url} answered ${status}${keyProblem}: ${redactErrorText(message, redactor)}`,
    {
      retryable: !isPermanent(code) && (status === 408 || status === 429 || status >= 500),
      retryAfterMs,
    },
  );
}

/** Returns the requested delay in milliseconds, from `retry-after-ms`, or from `retry-after` in seconds or as a date. */
export function parseRetryAfter(headers: Headers, now: number): number | undefined {
  const header = headers.get("retry-after") ?? "";
  const [ms, seconds] = [Number.parseFloat(headers.get("retry-after-ms") ?? ""), Number(header)];
  const delayMs =
    ms >= 0 ? ms : header !== "" && seconds >= 0 ? seconds * 1000 : Date.parse(header) - now;
  return delayMs >= 0 ? delayMs : undefined;
}

/** Creates the error of a reply that failed before its first event. */
export function toReplyError(
  { code, message }: { code: string; message: string },
  { url }: FetchTarget,
  redactor: Redactor,
): ModelError {
  const isTransient = !isPermanent(code) && !/invalid|bad_?request|unsupported|filter/i.test(code);
  return new ModelError(
    redactErrorText(code, redactor),
    `${url}: ${redactErrorText(message, redactor)}`,
    {
      retryable: isTransient,
    },
  );
}

/** Converts a connection error or timeout. The error has no `cause`, because that may quote parts of the request. */
export function toUnreachableError(
  error: unknown,
  timedOut: boolean,
  { url }: FetchTarget,
  redactor: Redactor,
): ModelError {
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  const code = cause?.code ?? "";
  if (timedOut || /TIMEOUT/.test(code) || code === "ETIMEDOUT")
    return new ModelError("upstream_timeout", `${url} did not answer in time`, { retryable: true });
  const reason =
    connectionErrorReasons[code] ?? redactErrorText(code === "" ? (message ?? "") : code, redactor);
  return new ModelError(
    "upstream_unreachable",
    `${url} cannot be reached: ${reason}; is it running, and is the address right?`,
    // Errors without a code occur before connecting, for example for an invalid header or URL.
    { retryable: code !== "" },
  );
}

/** True if a retry cannot succeed, regardless of the status. */
function isPermanent(code: string): boolean {
  return (
    code === "insufficient_quota" ||
    code === "context_length_exceeded" ||
    code === "reply_too_large"
  );
}

/** Returns the error object in a JSON body, or a plain text body as an error. */
function parseErrorBody(body: string): JsonObject {
  try {
    return unwrapErrorBody(JSON.parse(body));
  } catch {
    return unwrapErrorBody(body);
  }
}
