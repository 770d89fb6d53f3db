import { isObject, parseJson, type JsonObject, type JsonValue } from "@deltawire/wire";
import {
  refusedParameters,
  stepsOf,
  type Place,
  type RefusedParameters,
} from "./refused-parameters.ts";

/** What an error body says, whatever its shape. */
export interface Words extends RefusedParameters {
  /** All of it, a line for each text: messages, codes, types, parameters. */
  text: string;
  /** The sentence for people. */
  said: string;
  /** First steps of the paths that the error points at: `messages` of `messages.2.content`. */
  pointsAt: readonly string[];
}

/**
 * An error may be large, and may hold the whole request: this much of it is read. Some patterns take time with the square
 * of its length.
 */
const longestText = 8_000;
const longestPath = 500;
const longestWhy = 2_000;
const mostPlaces = 100;
const deepest = 12;

/** Validators and proxies repeat what was sent under these names: those are the user's words, not the provider's. */
const echoes = new Set(["input", "ctx", "url", "request", "prompt", "user_id", "request_id", "id"]);

/** Names of the fields in which the sentence stands, in most bodies. */
const sentences = new Set(["message", "detail", "details", "msg", "error", "raw", "description"]);

export function wordsOf(body: unknown): Words {
  const reader = new WordReader();
  reader.read(body, "message", 0);
  const text = reader.lines.join("\n");
  const said = [...new Set(reader.sentences)].join(": ") || text;
  const places = [...reader.places, ...writtenPlaces(text)];
  return {
    text,
    said: said.replaceAll(/\s+/g, " ").trim(),
    pointsAt: places.flatMap(({ path }) => stepsOf(path).slice(0, 1)),
    ...refusedParameters(text, places),
  };
}

class WordReader {
  readonly lines: string[] = [];
  readonly sentences: string[] = [];
  readonly places: Place[] = [];
  #length = 0;

  read(value: unknown, name: string, depth: number): void {
    if (depth > deepest || this.#length > longestText) return;
    if (typeof value === "string") return this.#text(value, name, depth);
    if (Array.isArray(value)) for (const one of value) this.read(one, name, depth + 1);
    else if (isObject(value)) this.#object(value, depth);
    else if (typeof value === "number") this.#text(String(value), "", depth);
  }

  #object(value: JsonObject, depth: number): void {
    const why = ["type", "code", "msg", "message"]
      .map((name) => value[name])
      .filter(isText)
      // It stands beside every complaint, and reads as one about the place.
      .filter((word) => word !== "invalid_request_error");
    const { loc, param } = value;
    const path = Array.isArray(loc) ? loc.slice(0, 50).filter(isStep).join(".") : param;
    if (isText(path) && path.length <= longestPath && this.places.length < mostPlaces) {
      const place = { path, why: unescaped(why.join(" ").slice(0, longestWhy)) };
      this.places.push(place);
      this.#line(`${path}: ${place.why}`);
    }
    for (const [name, inner] of Object.entries(value))
      if (!echoes.has(name) && name !== "loc") this.read(inner, name, depth + 1);
  }

  #text(value: string, name: string, depth: number): void {
    // OpenRouter and LiteLLM wrap the provider's own error body as text.
    const inner = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
    if (inner !== undefined) return this.read(inner, name, depth + 1);
    const line = this.#line(value);
    if (sentences.has(name) && line !== "") this.sentences.push(line);
  }

  #line(value: string): string {
    const line = unescaped(value.slice(0, Math.max(0, longestText - this.#length)));
    this.#length += line.length;
    if (line !== "") this.lines.push(line);
    return line;
  }
}

/** Quoted once or several times on its way here: `{\"error\":{\"message\":\"…`. */
function unescaped(text: string): string {
  // From the first backslash of a run only: a start at each of them would take time with the square of their number.
  return text.replaceAll(/(?<!\\)\\+(["'`/n])/g, (_all, char: string) =>
    char === "n" ? "\n" : char,
  );
}

/** vLLM and SGLang print pydantic's list of errors as Python does: `{'loc': ('body', 'seed'), 'msg': …}`. */
function writtenPlaces(text: string): Place[] {
  const entry = /'type': '(\w+)', 'loc': \(([^)]{0,200})\), 'msg': ["']([^\n]{0,200}?)["'],/g;
  return [...text.matchAll(entry)].map(([, type = "", loc = "", msg = ""]) => ({
    path: loc
      .replaceAll(/['"\s]/g, "")
      .split(",")
      .filter(isText)
      .join("."),
    why: `${type} ${msg}`,
  }));
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isStep(value: JsonValue): value is string | number {
  return typeof value === "string" || typeof value === "number";
}
