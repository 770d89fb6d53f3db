import { describeJsonLimit, errorObject, findExceededJsonLimit } from "@deltawire/wire";
import type { UpstreamConfig } from "../config/config.ts";
import { notSet } from "../config/upstream.ts";
import { causeOf } from "../relay/failure.ts";
import { parseJson } from "../json.ts";
import type { Upstream } from "../relay/upstream.ts";

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
export function askForModels(upstream: Upstream): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    let answered = 0;
    let type = "";
    let location = "";
    const url = `${upstream.config.baseUrl}/models`;
    let timer: NodeJS.Timeout | undefined;
    upstream.dispatch(
      { method: "GET", path: "/models", headers: { accept: "application/json" }, body: null },
      {
        onRequestStart(controller) {
          timer = setTimeout(() => controller.abort(new Error("no answer in time")), timeLimitMs);
        },
        onResponseStart(_controller, status, headers) {
          answered = status;
          type = String(headers["content-type"] ?? "").toLowerCase();
          location = String(headers["location"] ?? "");
        },
        onResponseData(controller, bytes) {
          size += bytes.length;
          if (size > mostBytes)
            controller.abort(new Error(`the list of models has more than ${mostBytes} bytes`));
          else pieces.push(bytes);
        },
        onResponseEnd() {
          clearTimeout(timer);
          try {
            const bytes = Buffer.concat(pieces);
            const exceeded = findExceededJsonLimit(bytes);
            if (exceeded !== undefined)
              throw new ListingError(`${url}: the list of models ${describeJsonLimit(exceeded)}`);
            const text = bytes.toString("utf8");
            const list = parseJson(text);
            if (answered !== 200)
              throw new ListingError(
                `${url}: ${refusal(answered, list, location, upstream.config)}`,
                answered,
              );
            // Without the parser's message, which quotes a part of the body and perhaps a part of a key.
            if (list === undefined) throw new ListingError(`${url}: ${noList(text, type)}`);
            resolve(list);
          } catch (error) {
            reject(error);
          }
        },
        onResponseError(_controller, error) {
          clearTimeout(timer);
          const { code = "", message } = error as NodeJS.ErrnoException;
          reject(new ListingError(`${url}: ${causeOf(code, message)}`));
        },
      },
    );
  });
}

function refusal(
  status: number,
  body: unknown,
  location: string,
  { apiKey, apiKeyVariable }: UpstreamConfig,
): string {
  if (status >= 300 && status < 400)
    return `answered ${status} and points to ${location || "nowhere"}; set base_url to the right address`;
  const { message } = body === undefined ? {} : errorObject(body);
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
