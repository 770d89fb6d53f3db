import {
  isObject,
  nonEmptyString,
  parseInteger,
  type JsonObject,
  type JsonValue,
} from "../json.ts";

/** Used if the upstream gave no reason for its failure. */
export const unknownFailureMessage = "the upstream failed without giving a reason";

export interface UpstreamFailure {
  /** OpenAI's code if one applies (Codex handles those), otherwise the provider's code. */
  code: string;
  /** The provider's message. */
  message: string;
  /** The provider's error, unchanged. */
  provider?: unknown;
}

interface ErrorPattern {
  code: string;
  status?: number;
  /** Matched against the error's code and type. */
  codePattern?: RegExp;
  /** Matched against the error's message. */
  messagePattern?: RegExp;
  /** Ignores the message if the status shows that the request caused the error, because the message may quote the request. */
  serverFaultOnly?: true;
}

/** Maps codes, types, statuses and messages of providers to OpenAI's codes. The first match wins. */
const errorPatterns: ErrorPattern[] = [
  {
    code: "context_length_exceeded",
    codePattern: /context_(?:length|window)/,
    messagePattern: /context (?:length|window)|maximum context|prompt is too long/i,
  },
  {
    code: "insufficient_quota",
    status: 402,
    codePattern: /insufficient_(?:quota|balance)|billing/,
    messagePattern: /insufficient (?:quota|balance|credits)|exceeded your current quota/i,
  },
  {
    code: "rate_limit_exceeded",
    status: 429,
    codePattern: /rate_?limit/,
    messagePattern: /rate limit/i,
    serverFaultOnly: true,
  },
  {
    code: "server_is_overloaded",
    status: 503,
    codePattern: /overloaded/,
    messagePattern: /overloaded/i,
    serverFaultOnly: true,
  },
  { code: "invalid_prompt", codePattern: /invalid_prompt/ },
];

/** Parses an error object or string from a provider's reply. */
export function parseUpstreamFailure(error: unknown): UpstreamFailure {
  const fields = isObject(error) ? error : {};
  const message = formatErrorMessage(error);
  const status =
    parseInteger(fields["status_code"]) ??
    parseInteger(fields["status"]) ??
    parseInteger(fields["code"]);
  const codeAndType = `${nonEmptyString(fields["code"]) ?? ""} ${nonEmptyString(fields["type"]) ?? ""}`;
  const isRequestFault = status !== undefined && status >= 400 && status < 429 && status !== 408;
  for (const pattern of errorPatterns)
    if (
      (pattern.status !== undefined && pattern.status === status) ||
      pattern.codePattern?.test(codeAndType) ||
      (!(pattern.serverFaultOnly === true && isRequestFault) &&
        pattern.messagePattern?.test(message))
    )
      return { code: pattern.code, message, provider: error };
  return { code: nonEmptyString(fields["code"]) ?? "upstream_error", message, provider: error };
}

function formatErrorMessage(error: unknown): string {
  if (typeof error === "string") return error;
  if (!isObject(error)) return `the upstream reported an error: ${JSON.stringify(error)}`;
  const message = nonEmptyString(error["message"]) ?? JSON.stringify(error);
  // OpenRouter sends "Provider returned error" with the cause in metadata.raw.
  const metadata = error["metadata"];
  const raw = isObject(metadata) ? nonEmptyString(metadata["raw"]) : undefined;
  return raw === undefined ? message : `${message}: ${raw}`;
}

/** Builds the error for a Chat client: the provider's fields plus those that clients expect. */
export function toChatError({ code, message, provider }: UpstreamFailure): JsonObject {
  const providerFields = isObject(provider) ? provider : {};
  const providerCode = providerFields["code"];
  return {
    ...providerFields,
    message,
    type: nonEmptyString(providerFields["type"]) ?? "upstream_error",
    code,
    param: nonEmptyString(providerFields["param"]) ?? null,
    ...(providerCode === undefined || providerCode === null || providerCode === code
      ? {}
      : { upstream_code: providerCode }),
  };
}

/**
 * True if the value of an `error` field reports an error. False for `null`, `""`, `false`, `0`, `[]`, `{}` and for
 * objects that contain only such values: some servers send them with every chunk.
 */
export function isErrorValue(error: unknown, depth = 0): boolean {
  if (typeof error === "string") return error.trim() !== "";
  if (typeof error !== "object" || error === null || depth > maxErrorDepth) return Boolean(error);
  for (const field in error) if (isErrorValue((error as JsonObject)[field], depth + 1)) return true;
  return false;
}

/** Deeper than the errors of any known provider. */
const maxErrorDepth = 8;

/**
 * Returns the error of a complete reply without an answer: its `error`, or the reply itself, because some servers send
 * only `{"message": …}` or `{"detail": …}`.
 */
export function extractReplyError(reply: JsonObject): JsonValue {
  const { error } = reply;
  if (error !== undefined && isErrorValue(error)) return error;
  const message = nonEmptyString(reply["message"]) ?? nonEmptyString(reply["detail"]);
  return message === undefined ? reply : { ...reply, message };
}

/** Returns the error object in the body of an error response. The message is not truncated: callers redact it first. */
export function unwrapErrorBody(body: unknown): JsonObject {
  const unwrapped = Array.isArray(body) ? (body[0] as unknown) : body;
  if (typeof unwrapped === "string") return { message: unwrapped.trim() || "empty response body" };
  if (typeof unwrapped !== "object" || unwrapped === null)
    return { message: JSON.stringify(unwrapped) };
  const { error, detail, message } = unwrapped as JsonObject;
  if (isObject(error) && isErrorValue(error)) return error;
  if (typeof error === "string" && isErrorValue(error)) return { ...unwrapped, message: error };
  if (message === undefined && detail !== undefined)
    return { message: typeof detail === "string" ? detail : JSON.stringify(detail) };
  return unwrapped as JsonObject;
}

/**
 * Reasons for the error codes of Node and undici, for messages such as "http://127.0.0.1:8000/v1/models: connection
 * refused".
 */
export const connectionErrorReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "host name lookup failed temporarily",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  UND_ERR_SOCKET: "connection lost",
  UND_ERR_CONNECT_TIMEOUT: "connection timed out",
  UND_ERR_HEADERS_TIMEOUT: "timed out waiting for the response",
};
