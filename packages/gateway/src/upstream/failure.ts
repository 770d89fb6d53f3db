import { errorText, redactError, type Redactor } from "@deltawire/agent";
import {
  errorObject,
  unexplainedFailure,
  unreachableReasons,
  upstreamFailure,
  type JsonObject,
  type ResponseUsage,
  type UpstreamFailure,
} from "@deltawire/wire";
import type { UpstreamConfig } from "../config/config.ts";
import { Problem, type ProblemCode } from "../problem.ts";
import type { Lesson } from "../learning/lesson.ts";
import { unreachable } from "../unreachable.ts";
import { isPassing, retryAfterSeconds } from "./retry.ts";

/** What came of sending a request once. Only `answered` means that the client was told anything. */
export type Outcome =
  | {
      is: "answered";
      usage: ResponseUsage | undefined;
      /** It failed after something had gone to the client, so nothing can be tried again. */
      failure: UpstreamFailure | undefined;
      /** What the reply itself teaches. */
      lesson?: Lesson;
    }
  | FailedOutcome
  | { is: "left" };

/** Nothing has gone to the client: it can be tried again. */
export type FailedOutcome =
  /** With a status, or with an error as the first thing in its reply. */
  | { is: "refused"; status: number; headers: Readonly<Record<string, string>>; body: unknown }
  | { is: "failed"; failure: UpstreamFailure }
  /**
   * `connected`: the connection was made, so the address is not at fault. `answered`: something was there, but sent
   * nothing that could be read.
   */
  | { is: "unreachable"; timedOut: boolean; cause: string; connected?: true; answered?: true };

/** How long a client is told to wait where the upstream does not say: Codex gives up on a 429 without it. */
const usualRetryAfter = 5;

/**
 * The failure that a client receives if nothing else is tried: the only place where an upstream's error becomes one of
 * ours. Its texts are redacted, and then bounded.
 */
export function problemOf(
  outcome: FailedOutcome,
  upstream: UpstreamConfig,
  redactor: Redactor,
  now: number,
): Problem {
  switch (outcome.is) {
    case "unreachable": {
      const named = `upstream "${upstream.name}" at ${upstream.baseUrl}`;
      if (outcome.answered === true)
        return new Problem(
          "upstream_error",
          `${named} broke off: ${errorText(outcome.cause, redactor)}`,
        );
      const code = outcome.timedOut ? "upstream_timeout" : "upstream_unreachable";
      return new Problem(
        code,
        `${named} cannot be reached: ${errorText(outcome.cause, redactor)}; is it running, and is the address right?`,
      );
    }
    case "failed": {
      const { code, message } = outcome.failure;
      const words =
        message === "" || message === unexplainedFailure
          ? `upstream "${upstream.name}" failed and gave no reason`
          : errorText(message, redactor);
      return problemBy(code, words, undefined, {});
    }
    case "refused": {
      const { status, headers, body } = outcome;
      if (status >= 300 && status < 400)
        return redirected(upstream, status, errorText(headers["location"] ?? "nowhere", redactor));
      const error = errorObject(body);
      if (isWebPage(outcome)) return webPage(upstream, error, redactor);
      const retryAfter = retryAfterSeconds(headers["retry-after"], now);
      const { code, message } = upstreamFailure({ status, ...error });
      const provider = redactError(error, redactor);
      const text = errorText(message, redactor);
      if (status === 401 || status === 403)
        return new Problem("upstream_refused", `${keyAdvice(upstream, status)}: ${text}`, {
          status,
          provider,
        });
      const words = `upstream "${upstream.name}" answered ${status}: ${text}`;
      return problemBy(code, words, retryAfter, { status, provider });
    }
    default:
      return unreachable(outcome);
  }
}

/** Codes that have a meaning of their own for clients; everything else is told by its status. */
const meaningful = new Set<string>([
  "context_length_exceeded",
  "insufficient_quota",
  "rate_limit_exceeded",
  "reply_too_large",
  "server_is_overloaded",
]);

function problemBy(
  code: string,
  message: string,
  retryAfter: number | undefined,
  { status, provider }: { status?: number; provider?: JsonObject },
): Problem {
  if (meaningful.has(code)) {
    const wait = code === "rate_limit_exceeded" ? (retryAfter ?? usualRetryAfter) : retryAfter;
    return new Problem(code as ProblemCode, message, { retryAfter: wait, provider });
  }
  if (status !== undefined && status >= 400 && status < 500)
    return new Problem("upstream_refused", message, { status, provider, retryAfter });
  if (code === "upstream_idle_timeout" || status === 504)
    return new Problem("upstream_timeout", message, { provider });
  return new Problem("upstream_error", message, { provider, retryAfter });
}

function redirected(upstream: UpstreamConfig, status: number, to: string): Problem {
  return new Problem(
    "upstream_redirect",
    `upstream "${upstream.name}" answered ${status} and points to ${to}; a key is never sent where a redirect says: set base_url to the right address`,
  );
}

/** With the status 200 and the page where a reply should be. */
export function isWebPage(outcome: Outcome): boolean {
  return outcome.is === "refused" && errorObject(outcome.body)["code"] === "upstream_web_page";
}

/** How much of a web page stands in the message; more of it is in the error's `body`. */
const quotedOfPage = 300;

function webPage(upstream: UpstreamConfig, error: JsonObject, redactor: Redactor): Problem {
  const { body } = error;
  const begins = typeof body === "string" ? redactor.excerpt(body, quotedOfPage) : "";
  return new Problem(
    "upstream_web_page",
    `upstream "${upstream.name}" answered a web page (text/html), not an API; is base_url right?${begins === "" ? "" : ` It begins: ${begins}`}`,
    { provider: redactError(error, redactor) },
  );
}

function keyAdvice({ name, apiKey, apiKeyVariable }: UpstreamConfig, status: number): string {
  const variable = apiKeyVariable === undefined ? "its api_key" : apiKeyVariable;
  if (apiKey === undefined) return `upstream "${name}" wants a key (${status}); set ${variable}`;
  return `upstream "${name}" refused its key (${status}); check ${variable}`;
}

/** Another upstream may have a longer context, another quota, or simply be up. */
export function mayFallBack({ code, status }: Problem): boolean {
  if (code !== "upstream_refused") return true;
  return (
    status === undefined || isPassing(status) || status === 401 || status === 403 || status === 404
  );
}

/** What a little time does not change, whatever the status says. */
export function isFinal(outcome: Outcome): boolean {
  if (outcome.is === "failed") return outcome.failure.code === "reply_too_large";
  if (outcome.is !== "refused") return false;
  const { status, body } = outcome;
  const { code } = upstreamFailure({ status, ...errorObject(body) });
  return isWebPage(outcome) || code === "insufficient_quota" || code === "context_length_exceeded";
}

/** The status that decides whether trying again may help; 0 for a connection that broke. */
export function statusOf(outcome: Outcome): number {
  switch (outcome.is) {
    case "refused":
      return outcome.status;
    case "unreachable":
      return 0;
    case "failed":
      return statusOfCode(outcome.failure.code);
    default:
      return 200;
  }
}

/** What a failure that came without a status amounts to. A server that says no more than that it failed may not the next time. */
function statusOfCode(code: string): number {
  return statusesOfCodes[code] ?? (/invalid|bad_?request|unsupported/i.test(code) ? 400 : 502);
}

const statusesOfCodes: Record<string, number> = {
  upstream_stream_truncated: 0,
  upstream_idle_timeout: 504,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_is_overloaded: 503,
  context_length_exceeded: 400,
  content_filter: 400,
};

/** An error that came in place of a reply: refused with the status that it names, or that its code amounts to. */
export function refusedBy({ code, message, provider }: UpstreamFailure): FailedOutcome {
  const fields = (typeof provider === "object" && provider !== null ? provider : {}) as JsonObject;
  const named = [fields["status_code"], fields["status"], fields["code"]].map(Number);
  const kind =
    code === "upstream_error" && typeof fields["type"] === "string" ? fields["type"] : code;
  const status = named.find((number) => number >= 400 && number < 600) ?? statusOfCode(kind);
  return { is: "refused", status, headers: {}, body: { error: provider ?? { code, message } } };
}

/** Without addresses of this machine, which Node's messages are full of. */
export function causeOf(code: string, message: string): string {
  return unreachableReasons[code] ?? (code === "" ? message : `${code}: ${message}`);
}
