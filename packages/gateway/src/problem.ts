import type { ChatErrorCode } from "@deltawire/agent";
import { WireError, type WireErrorCode } from "@deltawire/wire";

/** What can be wrong with a request before any upstream is asked, and what can become of asking one. */
export type ProblemCode =
  | ChatErrorCode
  | "invalid_json"
  | "invalid_header"
  | "invalid_request"
  | "request_too_large"
  | "encoding_not_supported"
  | "missing_token"
  | "host_not_allowed"
  | "origin_not_allowed"
  | "not_found"
  | "method_not_allowed"
  | "upgrade_not_supported"
  | "model_not_found"
  | "task_not_found"
  | "approval_not_found"
  | "blob_not_found"
  | "unknown_agent"
  | "unknown_tool_group"
  | "not_a_root_task"
  | "task_ended"
  | "task_not_running"
  | "approval_resolved"
  | "approval_required"
  | "idempotency_conflict"
  | "store_unavailable"
  | "request_timeout"
  | "shutting_down"
  | "upstream_key_missing"
  | "upstream_unreachable"
  | "upstream_timeout"
  | "upstream_circuit_open"
  | "upstream_redirect"
  | "upstream_web_page"
  | "upstream_error"
  | "upstream_refused"
  | "context_length_exceeded"
  | "insufficient_quota"
  | "rate_limit_exceeded"
  | "server_is_overloaded"
  | "internal_error";

/** A failure that a client is told of. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly param: string | undefined;
  /** The upstream's own status, where it is told on. */
  readonly status: number | undefined;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  /** The provider's own error object, whose fields are kept. */
  readonly provider: Readonly<Record<string, unknown>> | undefined;
  /** What the body holds beside the error. */
  readonly beside: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ProblemCode,
    message: string,
    more: {
      param?: string | undefined;
      status?: number | undefined;
      retryAfter?: number | undefined;
      provider?: Readonly<Record<string, unknown>> | undefined;
      beside?: Readonly<Record<string, unknown>> | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "Problem";
    this.code = code;
    this.param = more.param;
    this.status = more.status;
    this.retryAfter = more.retryAfter;
    this.provider = more.provider;
    this.beside = more.beside;
  }
}

const statuses: Record<ProblemCode | WireErrorCode, number> = {
  invalid_json: 400,
  invalid_header: 400,
  invalid_request: 400,
  unsupported: 400,
  request_too_large: 413,
  encoding_not_supported: 415,
  missing_token: 401,
  host_not_allowed: 403,
  origin_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  upgrade_not_supported: 426,
  model_not_found: 404,
  task_not_found: 404,
  approval_not_found: 404,
  blob_not_found: 404,
  unknown_agent: 404,
  unknown_tool_group: 400,
  not_a_root_task: 400,
  task_ended: 409,
  task_not_running: 503,
  approval_resolved: 409,
  approval_required: 409,
  idempotency_conflict: 409,
  // of chats
  bad_value: 400,
  cannot_send: 400,
  bad_import: 400,
  unknown_chat: 404,
  unknown_node: 404,
  unknown_version: 404,
  unknown_removal: 404,
  conflict: 409,
  still_running: 409,
  illegal_place: 409,
  only_version: 409,
  in_use: 409,
  cannot_restore: 409,
  store_unavailable: 503,
  request_timeout: 408,
  shutting_down: 503,
  upstream_key_missing: 502,
  upstream_unreachable: 502,
  upstream_timeout: 504,
  upstream_circuit_open: 503,
  upstream_redirect: 502,
  upstream_web_page: 502,
  upstream_error: 502,
  upstream_refused: 400,
  context_length_exceeded: 400,
  insufficient_quota: 429,
  rate_limit_exceeded: 429,
  server_is_overloaded: 503,
  internal_error: 500,
  // of the library, and never a client's fault
  invalid_config: 500,
  event_too_large: 502,
  reply_too_large: 502,
  no_text_decoder: 500,
  reply_failed: 502,
  call_not_whole: 502,
};

/** Whether a failure of somebody else has a name that is one of ours. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(statuses, code);
}

export interface ProblemReply {
  /** Ours, for the log. */
  code: string;
  status: number;
  headers: Record<string, string>;
  body: { error: Record<string, unknown>; [beside: string]: unknown };
}

/** The only place where a failure becomes a status and a body, in the shape of OpenAI's errors. */
export function problemReply(error: unknown): ProblemReply {
  const { code, message, param, ...more } = asProblem(error);
  const status = more.status ?? statuses[code];
  const headers: Record<string, string> = {};
  if (more.retryAfter !== undefined) headers["retry-after"] = String(Math.ceil(more.retryAfter));
  if (code === "missing_token") headers["www-authenticate"] = 'Bearer realm="deltawire"';
  if (status === 413 || status === 408) headers["connection"] = "close";
  // OpenAI's SDKs send what was answered with 409 again, up to this word.
  if (code === "approval_required") headers["x-should-retry"] = "false";
  const { provider } = more;
  // What the provider says of its own refusal is what its users look up.
  const own = code === "upstream_refused" ? provider : undefined;
  return {
    code,
    status,
    headers,
    body: {
      ...more.beside,
      error: {
        ...provider,
        message: shortened(message, longestMessage),
        type: own?.["type"] ?? typeOf(status),
        param: (param && shortened(param, longestParam)) ?? own?.["param"] ?? null,
        code: own?.["code"] ?? code,
      },
    },
  };
}

/** An error repeats what a client sent, such as the name of a model or of a field, which may have megabytes. */
const longestMessage = 8_000;
const longestParam = 1_000;

function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length).toWellFormed()}… (${text.length} characters)`;
}

function asProblem(error: unknown): {
  code: ProblemCode | WireErrorCode;
  message: string;
  param: string | undefined;
  status?: number | undefined;
  retryAfter?: number | undefined;
  provider?: Readonly<Record<string, unknown>> | undefined;
  beside?: Readonly<Record<string, unknown>> | undefined;
} {
  if (error instanceof Problem || error instanceof WireError) return error;
  if (isOutOfFiles(error))
    return {
      code: "server_is_overloaded",
      message:
        "the gateway has no more files to open (EMFILE); try again later, or raise its limit of open files (ulimit -n)",
      param: undefined,
      retryAfter: 5,
    };
  // Whatever it is, it is ours: the log has the rest.
  return {
    code: "internal_error",
    message: "the gateway failed; its log has more",
    param: undefined,
  };
}

/** True if this process, or the system, has as many files open as it may. */
export function isOutOfFiles(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (code === "EMFILE" || code === "ENFILE") return true;
  return cause !== undefined && cause !== error && isOutOfFiles(cause);
}

/** OpenAI's SDKs choose their error classes by the status; `type` is for people and other clients. */
function typeOf(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}
