import { isObject, parseJson, type JsonObject, type JsonValue } from "@deltawire/wire";
import {
  parseRejectedParameters,
  parsePath,
  type ErrorLocation,
  type RejectedParameters,
} from "./rejected-parameters.ts";

/** The parsed error body, independent of its shape. */
export interface ParsedRejection extends RejectedParameters {
  /** All strings, one per line: messages, codes, types, parameters. */
  text: string;
  /** The human-readable message. */
  message: string;
  /** The first segments of the paths in the error: `messages` for `messages.2.content`. */
  fieldNames: readonly string[];
}

/** An error may contain the complete request, so only this many characters are read: some patterns need quadratic time. */
const maxTextLength = 8_000;
const maxPathLength = 500;
const maxReasonLength = 2_000;
const maxLocations = 100;
const maxDepth = 12;

/** Validators and proxies echo the request in these fields: the text is the user's, not the provider's. */
const echoFields = new Set([
  "input",
  "ctx",
  "url",
  "request",
  "prompt",
  "user_id",
  "request_id",
  "id",
]);

/** Fields that contain the message in most bodies. */
const messageFields = new Set([
  "message",
  "detail",
  "details",
  "msg",
  "error",
  "raw",
  "description",
]);

export function parseRejection(body: unknown): ParsedRejection {
  const reader = new RejectionReader();
  reader.read(body, "message", 0);
  const text = reader.lines.join("\n");
  const message = [...new Set(reader.sentences)].join(": ") || text;
  const locations = [...reader.locations, ...parsePythonLocations(text)];
  return {
    text,
    message: message.replaceAll(/\s+/g, " ").trim(),
    fieldNames: locations.flatMap(({ path }) => parsePath(path).slice(0, 1)),
    ...parseRejectedParameters(text, locations),
  };
}

class RejectionReader {
  readonly lines: string[] = [];
  readonly sentences: string[] = [];
  readonly locations: ErrorLocation[] = [];
  #length = 0;

  read(value: unknown, name: string, depth: number): void {
    if (depth > maxDepth || this.#length > maxTextLength) return;
    if (typeof value === "string") return this.#readText(value, name, depth);
    if (Array.isArray(value)) for (const item of value) this.read(item, name, depth + 1);
    else if (isObject(value)) this.#readObject(value, depth);
    else if (typeof value === "number") this.#readText(String(value), "", depth);
  }

  #readObject(value: JsonObject, depth: number): void {
    const reasons = ["type", "code", "msg", "message"]
      .map((name) => value[name])
      .filter(isNonEmptyString)
      // Part of every error; it would look like a reason for this location.
      .filter((reason) => reason !== "invalid_request_error");
    const { loc, param } = value;
    const path = Array.isArray(loc) ? loc.slice(0, 50).filter(isPathSegment).join(".") : param;
    if (
      isNonEmptyString(path) &&
      path.length <= maxPathLength &&
      this.locations.length < maxLocations
    ) {
      const location = {
        path,
        reason: unescapeQuotes(reasons.join(" ").slice(0, maxReasonLength)),
      };
      this.locations.push(location);
      this.#addLine(`${path}: ${location.reason}`);
    }
    for (const [name, nested] of Object.entries(value))
      if (!echoFields.has(name) && name !== "loc") this.read(nested, name, depth + 1);
  }

  #readText(value: string, name: string, depth: number): void {
    // OpenRouter and LiteLLM wrap the provider's error body as a string.
    const nested = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
    if (nested !== undefined) return this.read(nested, name, depth + 1);
    const line = this.#addLine(value);
    if (messageFields.has(name) && line !== "") this.sentences.push(line);
  }

  #addLine(value: string): string {
    const line = unescapeQuotes(value.slice(0, Math.max(0, maxTextLength - this.#length)));
    this.#length += line.length;
    if (line !== "") this.lines.push(line);
    return line;
  }
}

/** Undoes one or more levels of escaping: `{\"error\":{\"message\":\"…`. */
function unescapeQuotes(text: string): string {
  // Starts only at the first backslash of a run: starting at each would take quadratic time.
  return text.replaceAll(/(?<!\\)\\+(["'`/n])/g, (_match, char: string) =>
    char === "n" ? "\n" : char,
  );
}

/** vLLM and SGLang print pydantic's list of errors as Python source: `{'loc': ('body', 'seed'), 'msg': …}`. */
function parsePythonLocations(text: string): ErrorLocation[] {
  const entry = /'type': '(\w+)', 'loc': \(([^)]{0,200})\), 'msg': ["']([^\n]{0,200}?)["'],/g;
  return [...text.matchAll(entry)].map(([, type = "", loc = "", msg = ""]) => ({
    path: loc
      .replaceAll(/['"\s]/g, "")
      .split(",")
      .filter(isNonEmptyString)
      .join("."),
    reason: `${type} ${msg}`,
  }));
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isPathSegment(value: JsonValue): value is string | number {
  return typeof value === "string" || typeof value === "number";
}
