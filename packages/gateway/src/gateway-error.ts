import type { ChatErrorCode } from "@deltawire/agent";
import {
  parseUpstreamFailure,
  toMessageError,
  WireError,
  type MessageError,
  type WireErrorCode,
} from "@deltawire/wire";

/** Reasons to reject a request before it is sent upstream, and the ways in which the upstream request can fail. */
export type GatewayErrorCode =
  | ChatErrorCode
  | "invalid_json"
  | "invalid_header"
  | "invalid_request"
  | "request_too_large"
  | "encoding_not_supported"
  | "missing_token"
  | "key_revoked"
  | "missing_scope"
  | "host_not_allowed"
  | "origin_not_allowed"
  | "not_found"
  | "method_not_allowed"
  | "upgrade_not_supported"
  | "websocket_connection_limit_reached"
  | "model_not_found"
  | "task_not_found"
  | "approval_not_found"
  | "key_not_found"
  | "key_name_taken"
  | "blob_not_found"
  | "response_not_found"
  | "previous_response_not_found"
  | "conversation_not_found"
  | "file_not_found"
  | "item_not_found"
  | "agent_not_found"
  | "unknown_tool_group"
  | "not_a_root_task"
  | "task_ended"
  | "task_not_running"
  | "approval_resolved"
  | "approval_required"
  | "idempotency_conflict"
  | "request_in_progress"
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
  | "upstream_rejected"
  | "context_length_exceeded"
  | "insufficient_quota"
  | "rate_limit_exceeded"
  | "server_is_overloaded"
  | "internal_error";

/** A failure that is reported to the client. */
export class GatewayError extends Error {
  readonly code: GatewayErrorCode;
  readonly param: string | undefined;
  /** Overrides the HTTP status of `code`, for example with the upstream's. */
  readonly status: number | undefined;
  /** Value of the Retry-After header, in seconds. */
  readonly retryAfter: number | undefined;
  /** The provider's error object; its fields are copied into the body's `error`. */
  readonly providerError: Readonly<Record<string, unknown>> | undefined;
  /** Additional top-level fields of the body, next to `error`. */
  readonly extraFields: Readonly<Record<string, unknown>> | undefined;
  /** Is sent instead to clients that must not see addresses and paths. Undefined: the error contains none. */
  readonly publicError: GatewayError | undefined;

  constructor(
    code: GatewayErrorCode,
    message: string,
    options: {
      param?: string | undefined;
      status?: number | undefined;
      retryAfter?: number | undefined;
      providerError?: Readonly<Record<string, unknown>> | undefined;
      extraFields?: Readonly<Record<string, unknown>> | undefined;
      publicError?: GatewayError | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "GatewayError";
    this.code = code;
    this.param = options.param;
    this.status = options.status;
    this.retryAfter = options.retryAfter;
    this.providerError = options.providerError;
    this.extraFields = options.extraFields;
    this.publicError = options.publicError;
  }
}

const statusByCode: Record<GatewayErrorCode | WireErrorCode, number> = {
  invalid_json: 400,
  invalid_header: 400,
  invalid_request: 400,
  unsupported: 400,
  request_too_large: 413,
  encoding_not_supported: 415,
  missing_token: 401,
  key_revoked: 401,
  missing_scope: 403,
  host_not_allowed: 403,
  origin_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  upgrade_not_supported: 426,
  websocket_connection_limit_reached: 400,
  model_not_found: 404,
  task_not_found: 404,
  approval_not_found: 404,
  key_not_found: 404,
  blob_not_found: 404,
  response_not_found: 404,
  previous_response_not_found: 400,
  conversation_not_found: 404,
  file_not_found: 404,
  item_not_found: 404,
  agent_not_found: 404,
  unknown_tool_group: 400,
  not_a_root_task: 400,
  task_ended: 409,
  task_not_running: 503,
  approval_resolved: 409,
  approval_required: 409,
  idempotency_conflict: 409,
  request_in_progress: 409,
  key_name_taken: 409,
  // Chats
  invalid_value: 400,
  cannot_send: 400,
  invalid_import: 400,
  chat_not_found: 404,
  node_not_found: 404,
  version_not_found: 404,
  removal_not_found: 404,
  conflict: 409,
  still_running: 409,
  invalid_position: 409,
  only_version: 409,
  version_in_use: 409,
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
  upstream_rejected: 400,
  context_length_exceeded: 400,
  insufficient_quota: 429,
  rate_limit_exceeded: 429,
  server_is_overloaded: 503,
  internal_error: 500,
  // Thrown by @deltawire/wire; never the client's fault
  invalid_config: 500,
  event_too_large: 502,
  reply_too_large: 502,
  no_text_decoder: 500,
  reply_failed: 502,
  incomplete_tool_call: 502,
};

/** True if an error code, for example an upstream's, is also a code of the gateway, with its own status. */
export function isGatewayErrorCode(code: string): code is GatewayErrorCode {
  return Object.hasOwn(statusByCode, code);
}

export interface ErrorReply {
  /** The gateway's code, for the log. The body may contain the provider's code instead. */
  code: string;
  status: number;
  headers: Record<string, string>;
  body: { error: Record<string, unknown>; [field: string]: unknown };
}

/**
 * Converts a failure to a status and a body in the format of OpenAI's errors. The only place that maps codes to statuses.
 * `showsAddresses`: true if the client may see addresses and paths of this machine; default false.
 */
export function toErrorReply(error: unknown, { showsAddresses = false } = {}): ErrorReply {
  const publicError = error instanceof GatewayError ? error.publicError : undefined;
  const { code, message, param, ...options } = normalizeError(
    showsAddresses ? error : (publicError ?? error),
  );
  const status = options.status ?? statusByCode[code];
  const headers: Record<string, string> = {};
  if (options.retryAfter !== undefined)
    headers["retry-after"] = String(Math.ceil(options.retryAfter));
  if (status === 401 && code !== "upstream_rejected")
    headers["www-authenticate"] = 'Bearer realm="deltawire"';
  if (status === 413 || status === 408) headers["connection"] = "close";
  // OpenAI's SDKs retry a 409 unless this header is "false".
  if (code === "approval_required") headers["x-should-retry"] = "false";
  const { providerError } = options;
  // The provider's own type and code are passed on, so that users can look them up in its documentation.
  const shownProviderError = code === "upstream_rejected" ? providerError : undefined;
  return {
    code,
    status,
    headers,
    body: {
      ...options.extraFields,
      error: {
        ...providerError,
        message: truncate(message, maxMessageLength),
        type: shownProviderError?.["type"] ?? toErrorType(status),
        param: (param && truncate(param, maxParamLength)) ?? shownProviderError?.["param"] ?? null,
        code: shownProviderError?.["code"] ?? code,
      },
    },
  };
}

/** Codes of failures that a user must fix. Without `x-should-retry` Anthropic's clients repeat them for minutes. */
const permanentCodes: ReadonlySet<string> = new Set<GatewayErrorCode>([
  "missing_token",
  "missing_scope",
  "upstream_key_missing",
  "upstream_redirect",
  "upstream_web_page",
  "insufficient_quota",
  "approval_required",
]);

/** Errors whose text is the provider's own, which Anthropic's clients recognize to change their request. */
const quotedCodes: ReadonlySet<string> = new Set<GatewayErrorCode>([
  "upstream_rejected",
  "context_length_exceeded",
]);

/** Statuses that only the Messages API has. Claude Code changes to its fallback model after three replies with 529. */
const messagesStatuses: Readonly<Record<string, number>> = {
  insufficient_quota: 402,
  server_is_overloaded: 529,
};

/** Like `toErrorReply`, in the format of the Messages API. */
export function toMessagesErrorReply(
  error: unknown,
  { requestId, ...options }: { requestId: string; showsAddresses?: boolean },
): Omit<ErrorReply, "body"> & { body: MessageError } {
  const reply = toErrorReply(error, options);
  const { code } = reply;
  const provider = error instanceof GatewayError ? error.providerError : undefined;
  const isKeyRejected =
    code === "upstream_rejected" && (reply.status === 401 || reply.status === 403);
  const isQuoted = quotedCodes.has(code) && !isKeyRejected && Boolean(provider?.["message"]);
  const message = truncate(
    // Of OpenRouter's "Provider returned error" the cause is added.
    isQuoted ? parseUpstreamFailure(provider).message : String(reply.body.error["message"]),
    maxMessageLength,
  );
  const status = messagesStatuses[code] ?? reply.status;
  const isPermanent = permanentCodes.has(code) || isKeyRejected;
  // Some messages must have fixed words.
  const cause = error instanceof GatewayError ? error.cause : undefined;
  return {
    code,
    status,
    headers: {
      ...reply.headers,
      ...(isPermanent ? { "x-should-retry": "false" } : {}),
      ...(code === "invalid_request" && cause instanceof GatewayError
        ? { "x-deltawire-error": toHeaderText(cause.message) }
        : {}),
    },
    body: toMessageError({ code, message, provider }, { status, requestId }),
  };
}

/** Returns printable ASCII. */
function toHeaderText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, maxParamLength);
}

/** Messages quote parts of the request, such as a model name, which may be megabytes long. */
const maxMessageLength = 8_000;
const maxParamLength = 1_000;

function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length).toWellFormed()}… (${text.length} characters)`;
}

function normalizeError(error: unknown): {
  code: GatewayErrorCode | WireErrorCode;
  message: string;
  param: string | undefined;
  status?: number | undefined;
  retryAfter?: number | undefined;
  providerError?: Readonly<Record<string, unknown>> | undefined;
  extraFields?: Readonly<Record<string, unknown>> | undefined;
} {
  if (error instanceof GatewayError || error instanceof WireError) return error;
  if (isTooManyOpenFiles(error))
    return {
      code: "server_is_overloaded",
      message:
        "the gateway has too many open files (EMFILE); try again later, or raise the limit (ulimit -n)",
      param: undefined,
      retryAfter: 5,
    };
  // A bug in the gateway: the details are only logged.
  return {
    code: "internal_error",
    message: "internal error; see the gateway's log",
    param: undefined,
  };
}

/** True if this process or the system has reached its limit of open files. */
export function isTooManyOpenFiles(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (code === "EMFILE" || code === "ENFILE") return true;
  return cause !== undefined && cause !== error && isTooManyOpenFiles(cause);
}

/** Returns OpenAI's `type` for a status. OpenAI's SDKs choose the error class by status, not by `type`. */
function toErrorType(status: number): string {
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
