import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";

/** The message of a failure for which the upstream gave no reason. */
export const unexplainedFailure = "the upstream failed and did not say why";

export interface UpstreamFailure {
  /** One of OpenAI's codes where the meaning is known (Codex acts on them), else the provider's own. */
  code: string;
  /** The provider's words. */
  message: string;
  /** The error as it came, where one did. */
  provider?: unknown;
}

interface Meaning {
  code: string;
  status?: number;
  /** In its code or type. */
  word?: RegExp;
  /** In its message. */
  text?: RegExp;
  /** Only busy servers say it: the words of a request's own fault may quote anything. */
  busy?: true;
}

/** What the codes, types, statuses and words of providers amount to. The first row that fits wins. */
const meanings: Meaning[] = [
  {
    code: "context_length_exceeded",
    word: /context_(?:length|window)/,
    text: /context (?:length|window)|maximum context|prompt is too long/i,
  },
  {
    code: "insufficient_quota",
    status: 402,
    word: /insufficient_(?:quota|balance)|billing/,
    text: /insufficient (?:quota|balance|credits)|exceeded your current quota/i,
  },
  {
    code: "rate_limit_exceeded",
    status: 429,
    word: /rate_?limit/,
    text: /rate limit/i,
    busy: true,
  },
  {
    code: "server_is_overloaded",
    status: 503,
    word: /overloaded/,
    text: /overloaded/i,
    busy: true,
  },
  { code: "invalid_prompt", word: /invalid_prompt/ },
];

/** Reads an error object (or string) that a provider sent in a reply. */
export function upstreamFailure(error: unknown): UpstreamFailure {
  const fields = isObject(error) ? error : {};
  const message = messageOf(error);
  const status =
    numeric(fields["status_code"]) ?? numeric(fields["status"]) ?? numeric(fields["code"]);
  const word = `${nonEmptyString(fields["code"]) ?? ""} ${nonEmptyString(fields["type"]) ?? ""}`;
  const isOwnFault = status !== undefined && status >= 400 && status < 429 && status !== 408;
  for (const meaning of meanings)
    if (
      (meaning.status !== undefined && meaning.status === status) ||
      meaning.word?.test(word) ||
      (!(meaning.busy === true && isOwnFault) && meaning.text?.test(message))
    )
      return { code: meaning.code, message, provider: error };
  return { code: nonEmptyString(fields["code"]) ?? "upstream_error", message, provider: error };
}

function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (!isObject(error)) return `the upstream reported an error: ${JSON.stringify(error)}`;
  const message = nonEmptyString(error["message"]) ?? JSON.stringify(error);
  // OpenRouter says "Provider returned error" and hides the cause below.
  const metadata = error["metadata"];
  const raw = isObject(metadata) ? nonEmptyString(metadata["raw"]) : undefined;
  return raw === undefined ? message : `${message}: ${raw}`;
}

/** The error as a Chat client gets it: what the provider said, with the fields that clients read. */
export function chatError({ code, message, provider }: UpstreamFailure): JsonObject {
  const said = isObject(provider) ? provider : {};
  const own = said["code"];
  return {
    ...said,
    message,
    type: nonEmptyString(said["type"]) ?? "upstream_error",
    code,
    param: nonEmptyString(said["param"]) ?? null,
    ...(own === undefined || own === null || own === code ? {} : { upstream_code: own }),
  };
}

function numeric(value: unknown): number | undefined {
  const number = typeof value === "string" ? Number(value) : value;
  return Number.isInteger(number) ? (number as number) : undefined;
}

/**
 * True if the value of an `error` field reports an error. `null`, `""`, `false`, `0`, `[]` and `{}` do not, and neither
 * does an object that holds nothing else: some servers send such a field with every good chunk.
 */
export function reportsError(error: unknown, depth = 0): boolean {
  if (typeof error === "string") return error.trim() !== "";
  if (typeof error !== "object" || error === null || depth > deepest) return Boolean(error);
  for (const field in error) if (reportsError((error as JsonObject)[field], depth + 1)) return true;
  return false;
}

/** No provider nests its errors deeper. */
const deepest = 8;

/**
 * The error of a complete reply that holds no answer: `error`, or the reply itself. Some servers send only
 * `{"message": …}` or `{"detail": …}`.
 */
export function errorOfReply(reply: JsonObject): JsonValue {
  const { error } = reply;
  if (error !== undefined && reportsError(error)) return error;
  const message = nonEmptyString(reply["message"]) ?? nonEmptyString(reply["detail"]);
  return message === undefined ? reply : { ...reply, message };
}

/** The error in whatever a server wraps it in. The text is not cut: callers redact it first. */
export function errorObject(body: unknown): JsonObject {
  const outer = Array.isArray(body) ? (body[0] as unknown) : body;
  if (typeof outer === "string") return { message: outer.trim() || "nothing more" };
  if (typeof outer !== "object" || outer === null) return { message: JSON.stringify(outer) };
  const { error, detail, message } = outer as JsonObject;
  if (isObject(error) && reportsError(error)) return error;
  if (typeof error === "string" && reportsError(error)) return { ...outer, message: error };
  if (message === undefined && detail !== undefined)
    return { message: typeof detail === "string" ? detail : JSON.stringify(detail) };
  return outer as JsonObject;
}

/** Why a server could not be reached, in words, by the codes of Node and undici. */
export const unreachableReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "its host name cannot be looked up at the moment",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  UND_ERR_SOCKET: "the connection broke",
  UND_ERR_CONNECT_TIMEOUT: "no connection could be made in time",
  UND_ERR_HEADERS_TIMEOUT: "it did not answer in time",
};
