import { isObject, nonEmptyString, parseInteger } from "../json.ts";
import type { MessageError, MessageErrorType } from "../shapes/messages-reply.ts";
import { unknownFailureMessage, type UpstreamFailure } from "./upstream-error.ts";

/** The HTTP status of each type. */
export const messageErrorStatuses: Readonly<Record<MessageErrorType, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

const typesByCode: Readonly<Record<string, MessageErrorType>> = {
  context_length_exceeded: "invalid_request_error",
  invalid_prompt: "invalid_request_error",
  insufficient_quota: "billing_error",
  rate_limit_exceeded: "rate_limit_error",
  server_is_overloaded: "overloaded_error",
  upstream_idle_timeout: "timeout_error",
};

/** Builds the error for a Messages client. `status` is the upstream's HTTP status, if it rejected the request. */
export function toMessageError(
  failure: UpstreamFailure,
  { status, requestId }: { status?: number; requestId?: string | undefined } = {},
): MessageError {
  return {
    type: "error",
    error: { type: findErrorType(failure, status), message: formatMessage(failure) },
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
}

function findErrorType(
  { code, provider }: UpstreamFailure,
  status: number | undefined,
): MessageErrorType {
  const byCode = Object.hasOwn(typesByCode, code) ? typesByCode[code] : undefined;
  if (byCode !== undefined) return byCode;
  const fields = isObject(provider) ? provider : {};
  const sentStatus = parseInteger(fields["status"]) ?? parseInteger(fields["code"]);
  const typeByStatus = findTypeByStatus(status ?? sentStatus ?? 500);
  const type = nonEmptyString(fields["type"]);
  // OpenAI's type for every status of 4xx.
  if (type === "invalid_request_error" && (status ?? 500) < 500) return typeByStatus;
  return type !== undefined && Object.hasOwn(messageErrorStatuses, type)
    ? (type as MessageErrorType)
    : typeByStatus;
}

function findTypeByStatus(status: number): MessageErrorType {
  if (status === 503) return "overloaded_error";
  if (status === 408) return "timeout_error";
  for (const [type, typeStatus] of Object.entries(messageErrorStatuses))
    if (typeStatus === status) return type as MessageErrorType;
  return status >= 400 && status < 500 ? "invalid_request_error" : "api_error";
}

/**
 * Claude Code recovers from an overflow only by Anthropic's words: it compacts its history, or lowers `max_tokens`. The
 * numbers are the upstream's.
 */
function formatMessage({ code, message }: UpstreamFailure): string {
  if (message.trim() === "") return unknownFailureMessage;
  if (code !== "context_length_exceeded" || overflowWords.test(message)) return message;
  const parts = overrunPattern.exec(message);
  const [, window] = windowPattern.exec(message) ?? [];
  if (parts !== null && window !== undefined)
    return `input length and \`max_tokens\` exceed context limit: ${parts[1]} + ${parts[2]} > ${window}`;
  // What overflows is the other number, which is larger.
  const length = message.match(/\d+/g)?.find((number) => Number(number) > Number(window));
  return length !== undefined
    ? `prompt is too long: ${length} tokens > ${window} maximum`
    : `prompt is too long: ${message}`;
}

const overflowWords = /prompt is too long|exceed context limit: \d+ \+ \d+ > \d+/;
/** vLLM: "you requested 48384 tokens (16384 in the messages, 32000 in the completion)". */
const overrunPattern = /\((\d+) in the (?:messages|prompt|input)[^,)]*, (\d+) in the completion\)/;
const windowPattern = /(?:context (?:length|window|limit|size)|maximum)\D{0,40}?(\d+)/;
