import { describeJsonLimit, errorObject, findExceededJsonLimit, parseJson } from "@deltawire/wire";
import type { UpstreamConfig } from "../config/config.ts";
import { notSet } from "../config/upstream.ts";
import { unreachable } from "../unreachable.ts";
import type { Outcome } from "../upstream/failure.ts";
import type { Upstream } from "../upstream/upstream.ts";

const timeLimitMs = 10_000;
/** OpenRouter's list of 350 models has 0.7 MB and 30,000 JSON values. */
const mostBytes = 8 * 1024 * 1024;

/** Why an upstream did not list its models. `message` may quote the upstream's words: redact it before it is shown. */
export class ListingError extends Error {
  /** The status that it answered with, if it did. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** The body of `GET {base_url}/models`, parsed. Throws a ListingError. */
export async function askForModels(upstream: Upstream): Promise<unknown> {
  const url = `${upstream.config.baseUrl}/models`;
  const pieces: Buffer[] = [];
  let size = 0;
  let type = "";
  const headers = { accept: "application/json" };
  const outcome = await upstream.send(
    { method: "GET", path: "/models", headers },
    {
      signal: AbortSignal.timeout(timeLimitMs),
      reader: (connection) => ({
        begin: (_status, received) => {
          type = String(received["content-type"] ?? "").toLowerCase();
        },
        push(bytes) {
          size += bytes.length;
          pieces.push(bytes);
          if (size > mostBytes) connection.finish(tooLarge);
        },
        end: (how, cause) =>
          connection.finish(
            how === "eof"
              ? { is: "answered", usage: undefined, failure: undefined }
              : { is: "unreachable", timedOut: how === "idle_timeout", cause },
          ),
      }),
    },
  );
  switch (outcome.is) {
    case "answered":
      return parseList(Buffer.concat(pieces), type, url);
    case "refused": {
      const why = refusal(outcome, upstream.config);
      throw new ListingError(`${url}: ${why}`, outcome.status);
    }
    case "unreachable":
      throw new ListingError(`${url}: ${outcome.cause}`);
    case "failed":
      throw new ListingError(`${url}: ${outcome.failure.message}`);
    case "left":
      throw new ListingError(`${url}: no answer in time`);
    default:
      return unreachable(outcome);
  }
}

const tooLarge: Outcome = {
  is: "failed",
  failure: {
    code: "reply_too_large",
    message: `the list of models has more than ${mostBytes} bytes`,
  },
};

function parseList(bytes: Buffer, type: string, url: string): unknown {
  const exceeded = findExceededJsonLimit(bytes);
  if (exceeded !== undefined)
    throw new ListingError(`${url}: the list of models ${describeJsonLimit(exceeded)}`);
  const text = bytes.toString("utf8");
  const list = parseJson(text);
  // Without the parser's message, which quotes a part of the body and perhaps a part of a key.
  if (list === undefined) throw new ListingError(`${url}: ${noList(text, type)}`);
  return list;
}

function refusal(
  { status, headers, body }: Extract<Outcome, { is: "refused" }>,
  { apiKey, apiKeyVariable }: UpstreamConfig,
): string {
  if (status >= 300 && status < 400)
    return `answered ${status} and points to ${headers["location"] || "nowhere"}; set base_url to the right address`;
  const { message } = typeof body === "string" ? {} : errorObject(body);
  const words = typeof message === "string" && message !== "" ? `: ${message}` : "";
  if ((status === 401 || status === 403) && apiKey === undefined)
    return `refused the request with ${status}, and no key was sent: ${apiKeyVariable === undefined ? "it has no api_key" : notSet(apiKeyVariable)}${words}`;
  if (status === 401 || status === 403) return `refused the key with ${status}${words}`;
  return `answered ${status}${words}${status === 404 ? "; is base_url right?" : ""}`;
}

function noList(text: string, type: string): string {
  const start = text.trimStart().slice(0, 20).toLowerCase();
  if (start === "") return "answered nothing; is base_url right?";
  if (type.includes("html") || start.startsWith("<!doctype") || start.startsWith("<html"))
    return "answered HTML, not a model list; is base_url right?";
  if (type.includes("event-stream") || /^(?:data|event|id|retry)?:/.test(start))
    return "answered an event stream, not a model list; is base_url right?";
  return "answered text that is not JSON; is base_url right?";
}
