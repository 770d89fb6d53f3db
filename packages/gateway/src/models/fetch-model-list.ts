import { assertNever } from "@deltawire/tasks";
import {
  describeJsonLimit,
  unwrapErrorBody,
  findExceededJsonLimit,
  parseJson,
} from "@deltawire/wire";
import type { UpstreamConfig } from "../config/config.ts";
import { formatVariableNotSet } from "../config/upstreams.ts";
import type { AttemptOutcome } from "../upstream/attempt-outcome.ts";
import { messagesApiVersion, type Upstream } from "../upstream/upstream.ts";

const timeoutMs = 10_000;
/** OpenRouter's list of 350 models has 0.7 MB and 30,000 JSON values. */
const maxBytes = 8 * 1024 * 1024;

/** Thrown if an upstream does not list its models. `message` may quote the upstream: redact it before showing it. */
export class ModelListError extends Error {
  /** The status of the response, if there was one. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** Returns the parsed body of `GET {base_url}/models`. Throws a ModelListError if there is none. */
export async function fetchModelList(upstream: Upstream): Promise<unknown> {
  const url = `${upstream.config.baseUrl}/models`;
  const chunks: Buffer[] = [];
  let size = 0;
  let contentType = "";
  const { speaks, detectsApi } = upstream.config;
  const headers = {
    accept: "application/json",
    // Anthropic requires it.
    ...(speaks === "messages" || detectsApi ? { "anthropic-version": messagesApiVersion } : {}),
  };
  const outcome = await upstream.send(
    { method: "GET", path: "/models", headers },
    {
      signal: AbortSignal.timeout(timeoutMs),
      createReader: (connection) => ({
        begin: (_status, replyHeaders) => {
          contentType = String(replyHeaders["content-type"] ?? "").toLowerCase();
        },
        push(bytes) {
          size += bytes.length;
          chunks.push(bytes);
          if (size > maxBytes) connection.finish(tooLargeOutcome);
        },
        end: (endReason, cause) =>
          connection.finish(
            endReason === "eof"
              ? { type: "answered", usage: undefined, failure: undefined }
              : { type: "unreachable", timedOut: endReason === "idle_timeout", cause },
          ),
      }),
    },
  );
  switch (outcome.type) {
    case "answered":
      return parseListBody(Buffer.concat(chunks), contentType, url);
    case "rejected": {
      const reason = describeRejection(outcome, upstream.config);
      throw new ModelListError(`${url}: ${reason}`, outcome.status);
    }
    case "unreachable":
      throw new ModelListError(`${url}: ${outcome.cause}`);
    case "failed":
      throw new ModelListError(`${url}: ${outcome.failure.message}`);
    case "aborted":
      throw new ModelListError(`${url}: no response within ${timeoutMs / 1000} s`);
    default:
      return assertNever(outcome);
  }
}

const tooLargeOutcome: AttemptOutcome = {
  type: "failed",
  failure: {
    code: "reply_too_large",
    message: `the model list is larger than the limit of ${maxBytes} bytes`,
  },
};

function parseListBody(bytes: Buffer, contentType: string, url: string): unknown {
  const exceededLimit = findExceededJsonLimit(bytes);
  if (exceededLimit !== undefined)
    throw new ModelListError(`${url}: the model list ${describeJsonLimit(exceededLimit)}`);
  const text = bytes.toString("utf8");
  const list = parseJson(text);
  // The parser's message is omitted: it quotes the body, which may contain a key.
  if (list === undefined)
    throw new ModelListError(`${url}: ${describeUnexpectedBody(text, contentType)}`);
  return list;
}

function describeRejection(
  { status, headers, body }: Extract<AttemptOutcome, { type: "rejected" }>,
  { apiKey, apiKeyVariable }: UpstreamConfig,
): string {
  if (status >= 300 && status < 400)
    return `redirected to ${headers["location"] || "an unknown location"} (${status}); set base_url to the right address`;
  const { message } = typeof body === "string" ? {} : unwrapErrorBody(body);
  const detail = typeof message === "string" && message !== "" ? `: ${message}` : "";
  if ((status === 401 || status === 403) && apiKey === undefined)
    return `requires a key (${status}): ${apiKeyVariable === undefined ? "api_key is not set" : formatVariableNotSet(apiKeyVariable)}${detail}`;
  if (status === 401 || status === 403) return `rejected the key (${status})${detail}`;
  return `answered ${status}${detail}${status === 404 ? "; is base_url right?" : ""}`;
}

function describeUnexpectedBody(text: string, contentType: string): string {
  const start = text.trimStart().slice(0, 20).toLowerCase();
  if (start === "") return "the response is empty; is base_url right?";
  if (contentType.includes("html") || start.startsWith("<!doctype") || start.startsWith("<html"))
    return "expected a model list, got HTML; is base_url right?";
  if (contentType.includes("event-stream") || /^(?:data|event|id|retry)?:/.test(start))
    return "expected a model list, got an event stream; is base_url right?";
  return "expected a model list, got invalid JSON; is base_url right?";
}
