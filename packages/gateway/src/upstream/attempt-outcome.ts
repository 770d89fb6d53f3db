import { assertNever } from "@deltawire/tasks";
import type { Redactor } from "@deltawire/agent";
import { redactErrorText, redactError } from "@deltawire/agent/basics";
import {
  unwrapErrorBody,
  unknownFailureMessage,
  connectionErrorReasons,
  parseUpstreamFailure,
  type JsonObject,
  type ResponseUsage,
  type UpstreamFailure,
} from "@deltawire/wire";
import type { UpstreamConfig } from "../config/config.ts";
import { GatewayError, type GatewayErrorCode } from "../gateway-error.ts";
import type { Lesson } from "../learning/lesson.ts";
import { isTransientStatus, parseRetryAfterHeader } from "./retry.ts";

/** The result of sending a request once. */
export type AttemptOutcome =
  | {
      type: "answered";
      usage: ResponseUsage | undefined;
      /** The reply failed after the client had received a part of it, so it cannot be retried. */
      failure: UpstreamFailure | undefined;
      /** A lesson from the reply itself. */
      lesson?: Lesson;
    }
  | FailedAttempt
  | { type: "aborted" };

/** The client has received no part of a reply, so the request can be retried. */
export type FailedAttempt =
  /** An error status, or an error as the first event of the reply. */
  | { type: "rejected"; status: number; headers: Readonly<Record<string, string>>; body: unknown }
  | { type: "failed"; failure: UpstreamFailure }
  /**
   * `connected`: the connection was established, so the address is right. `endedWithoutReply`: the server closed the
   * connection or did not send a readable reply.
   */
  | {
      type: "unreachable";
      timedOut: boolean;
      cause: string;
      connected?: true;
      endedWithoutReply?: true;
    };

/** Sent with a 429 if the upstream did not send a retry-after: Codex stops at a 429 without one. */
const defaultRetryAfterSeconds = 5;

/**
 * Converts a failed attempt to the error that the client receives. The only place where errors of upstreams become
 * gateway errors. Texts are redacted, then truncated.
 */
export function toGatewayError(
  outcome: FailedAttempt,
  upstream: UpstreamConfig,
  redactor: Redactor,
  now: number,
): GatewayError {
  switch (outcome.type) {
    case "unreachable": {
      const label = `upstream "${upstream.name}" at ${upstream.baseUrl}`;
      const cause = redactErrorText(outcome.cause, redactor);
      const noReplyMessage = `${label} failed without a reply: ${cause}`;
      if (outcome.endedWithoutReply === true)
        return new GatewayError("upstream_error", noReplyMessage);
      const code = outcome.timedOut ? "upstream_timeout" : "upstream_unreachable";
      if (outcome.connected === true) return new GatewayError(code, noReplyMessage);
      return new GatewayError(
        code,
        `${label} cannot be reached: ${cause}; is it running, and is the address right?`,
      );
    }
    case "failed": {
      const { code, message } = outcome.failure;
      const errorMessage =
        message === "" || message === unknownFailureMessage
          ? `upstream "${upstream.name}" failed without an error message`
          : redactErrorText(message, redactor);
      return createUpstreamError(code, errorMessage, undefined, {});
    }
    case "rejected": {
      const { status, headers, body } = outcome;
      if (status >= 300 && status < 400)
        return createRedirectError(
          upstream,
          status,
          redactErrorText(headers["location"] ?? "an unknown location", redactor),
        );
      const error = unwrapErrorBody(body);
      if (isWebPage(outcome)) return createWebPageError(upstream, error, redactor);
      const retryAfter = parseRetryAfterHeader(headers["retry-after"], now);
      const { code, message } = parseUpstreamFailure({ status, ...error });
      const providerError = redactError(error, redactor);
      const text = redactErrorText(message, redactor);
      if (status === 401 || status === 403)
        return new GatewayError(
          "upstream_rejected",
          `${formatKeyAdvice(upstream, status)}: ${text}`,
          {
            status,
            providerError,
          },
        );
      const errorMessage = `upstream "${upstream.name}" answered ${status}: ${text}`;
      return createUpstreamError(code, errorMessage, retryAfter, { status, providerError });
    }
    default:
      return assertNever(outcome);
  }
}

/** Failure codes that the client receives unchanged. Other failures are classified by status. */
const clientErrorCodes = new Set<string>([
  "context_length_exceeded",
  "insufficient_quota",
  "rate_limit_exceeded",
  "reply_too_large",
  "server_is_overloaded",
]);

function createUpstreamError(
  code: string,
  message: string,
  retryAfter: number | undefined,
  { status, providerError }: { status?: number; providerError?: JsonObject },
): GatewayError {
  if (clientErrorCodes.has(code)) {
    const waitSeconds =
      code === "rate_limit_exceeded" ? (retryAfter ?? defaultRetryAfterSeconds) : retryAfter;
    return new GatewayError(code as GatewayErrorCode, message, {
      retryAfter: waitSeconds,
      providerError,
    });
  }
  if (status !== undefined && status >= 400 && status < 500)
    return new GatewayError("upstream_rejected", message, { status, providerError, retryAfter });
  if (code === "upstream_idle_timeout" || status === 504)
    return new GatewayError("upstream_timeout", message, { providerError });
  return new GatewayError("upstream_error", message, { providerError, retryAfter });
}

function createRedirectError(
  upstream: UpstreamConfig,
  status: number,
  location: string,
): GatewayError {
  return new GatewayError(
    "upstream_redirect",
    `upstream "${upstream.name}" redirected to ${location} (${status}); redirects are not followed, because the key would be sent there; set base_url to the right address`,
  );
}

/** True for an HTML page with status 200. */
export function isWebPage(outcome: AttemptOutcome): boolean {
  return (
    outcome.type === "rejected" && unwrapErrorBody(outcome.body)["code"] === "upstream_web_page"
  );
}

/** Maximum length of the page excerpt in the message. The error's `body` contains a longer one. */
const maxPageExcerpt = 300;

function createWebPageError(
  upstream: UpstreamConfig,
  error: JsonObject,
  redactor: Redactor,
): GatewayError {
  const { body } = error;
  const excerpt = typeof body === "string" ? redactor.excerpt(body, maxPageExcerpt) : "";
  return new GatewayError(
    "upstream_web_page",
    `upstream "${upstream.name}" answered with a web page (text/html) instead of JSON; is base_url right?${excerpt === "" ? "" : ` The page starts with: ${excerpt}`}`,
    { providerError: redactError(error, redactor) },
  );
}

function formatKeyAdvice({ name, apiKey, apiKeyVariable }: UpstreamConfig, status: number): string {
  const variable = apiKeyVariable === undefined ? "its api_key" : apiKeyVariable;
  if (apiKey === undefined) return `upstream "${name}" requires a key (${status}); set ${variable}`;
  return `upstream "${name}" rejected the key (${status}); check ${variable}`;
}

/** True if another upstream may succeed: it may have a longer context, another quota, or be available. */
export function canFallBack({ code, status }: GatewayError): boolean {
  if (code !== "upstream_rejected") return true;
  return (
    status === undefined ||
    isTransientStatus(status) ||
    status === 401 ||
    status === 403 ||
    status === 404
  );
}

/** True for failures that a retry cannot fix, regardless of the status. */
export function isPermanentFailure(outcome: AttemptOutcome): boolean {
  if (outcome.type === "failed") return outcome.failure.code === "reply_too_large";
  if (outcome.type !== "rejected") return false;
  const { status, body } = outcome;
  const { code } = parseUpstreamFailure({ status, ...unwrapErrorBody(body) });
  return isWebPage(outcome) || code === "insufficient_quota" || code === "context_length_exceeded";
}

/** Returns the status that decides about retries; 0 for a broken connection. */
export function getOutcomeStatus(outcome: AttemptOutcome): number {
  switch (outcome.type) {
    case "rejected":
      return outcome.status;
    case "unreachable":
      return 0;
    case "failed":
      return codeToStatus(outcome.failure.code);
    default:
      return 200;
  }
}

/** Returns the status for a failure without one. Unknown failures count as temporary. */
function codeToStatus(code: string): number {
  return statusByFailureCode[code] ?? (/invalid|bad_?request|unsupported/i.test(code) ? 400 : 502);
}

const statusByFailureCode: Record<string, number> = {
  upstream_stream_truncated: 0,
  upstream_idle_timeout: 504,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_is_overloaded: 503,
  context_length_exceeded: 400,
  content_filter: 400,
};

/** Converts an error that was sent instead of a reply. The status is the one in the error, or follows from its code. */
export function toRejectedOutcome({ code, message, provider }: UpstreamFailure): FailedAttempt {
  const fields = (typeof provider === "object" && provider !== null ? provider : {}) as JsonObject;
  const statuses = [fields["status_code"], fields["status"], fields["code"]].map(Number);
  const failureCode =
    code === "upstream_error" && typeof fields["type"] === "string" ? fields["type"] : code;
  const status =
    statuses.find((number) => number >= 400 && number < 600) ?? codeToStatus(failureCode);
  return { type: "rejected", status, headers: {}, body: { error: provider ?? { code, message } } };
}

/** Returns a readable reason. Node's messages would contain local addresses. */
export function describeCause(code: string, message: string): string {
  return connectionErrorReasons[code] ?? (code === "" ? message : `${code}: ${message}`);
}
