import { isObject, parseJson } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatChunk, ChatDelta } from "../shapes/chat-reply.ts";

/** A chunk, or the sentinel that ends a Chat stream. */
export type ChatInput = ChatChunk | "[DONE]";

/** How many shapes of chunk one stream may have at a time: reasoning, text, arguments. */
const templatesKept = 3;
/** How often in a row learning may come to nothing before it is given up. */
const learningCredit = 6;

/**
 * Reads the data of Chat events. The chunks of one stream differ in one string only (and perhaps in padding), so a
 * template of what stays the same is learned from them and spares parsing the rest. Chunks that were read so share
 * their unchanging parts; treat them as read-only.
 */
export class ChunkReader {
  readonly #repairs: Repairs;
  #templates: ChunkTemplate[] = [];
  #credit = learningCredit;
  readonly #redact: ((chunk: ChatChunk) => ChatChunk) | undefined;
  /** True if something was removed from the chunk that was read last. */
  wasRedacted = false;

  /**
   * `redact` sees every chunk that is parsed. Chunks that are read by a template differ from one that it has seen in the
   * model's output only.
   */
  constructor(repairs: Repairs, redact?: (chunk: ChatChunk) => ChatChunk) {
    this.#repairs = repairs;
    this.#redact = redact;
  }

  /** Undefined for an event that says nothing: blank, a keep-alive, or not JSON. */
  read(data: string): ChatInput | undefined {
    this.wasRedacted = false;
    for (let nth = 0; nth < this.#templates.length; nth += 1) {
      const template = this.#templates[nth] as ChunkTemplate;
      const chunk = template.read(data);
      if (chunk === undefined) continue;
      if (nth > 0) this.#templates.unshift(...this.#templates.splice(nth, 1));
      this.#credit = learningCredit;
      return template.hasNoise ? this.#redacted(chunk) : chunk;
    }
    return this.#parse(data);
  }

  #parse(data: string): ChatInput | undefined {
    const value = parseJson(data);
    if (isObject(value)) {
      const chunk = this.#redacted(value);
      if (this.#credit > 0 && !this.wasRedacted) this.#learn(data, value);
      return chunk;
    }
    const text = data.trim();
    if (text === "[DONE]" || text === "DONE") return "[DONE]";
    if (text === "") return undefined;
    // Seen at Z.AI and LM Studio: an event cut off, and the next one, its "data: " included, behind it.
    const spliced = text.lastIndexOf("data: {");
    const rest = spliced > 0 ? parseJson(text.slice(spliced + 6)) : undefined;
    this.#repairs.add(isObject(rest) ? "event_spliced" : "event_not_json", text);
    return isObject(rest) ? this.#redacted(rest) : undefined;
  }

  #redacted(chunk: ChatChunk): ChatChunk {
    const redacted = this.#redact === undefined ? chunk : this.#redact(chunk);
    this.wasRedacted = redacted !== chunk;
    return redacted;
  }

  #learn(data: string, chunk: ChatChunk): void {
    this.#credit -= 1;
    const template = ChunkTemplate.learn(data, chunk);
    if (template === undefined) return;
    this.#templates.unshift(template);
    this.#templates.length = Math.min(this.#templates.length, templatesKept);
  }
}

/** Where a string stands that changes from chunk to chunk. */
type Place =
  | { in: "delta"; field: "content" | "reasoning_content" | "reasoning" }
  | { in: "arguments" }
  | { in: "chunk"; field: string };

/** Fields of a chunk that are noise: OpenAI pads every chunk, so that its length tells nothing. */
const noise = ["obfuscation"];

/**
 * A chunk with holes: `parts[0] + string + parts[1] …`, proved on a probe to be the same chunk but for these strings.
 * Then it is the same for all strings: a JSON text in which the inside of a string literal is exchanged for that of
 * another one stays as it was.
 */
class ChunkTemplate {
  readonly #chunk: ChatChunk;
  readonly #holes: readonly Place[];
  readonly #parts: readonly string[];
  /** True if strings change that are not the model's output. */
  readonly hasNoise: boolean;

  static learn(data: string, chunk: ChatChunk): ChunkTemplate | undefined {
    const place = placeIn(chunk);
    if (place === undefined) return undefined;
    const noisy = noise.filter((field) => typeof chunk[field] === "string");
    const holes: Place[] = [place, ...noisy.map((field): Place => ({ in: "chunk", field }))];
    const literal = JSON.stringify(stringAt(chunk, place));
    let at = data.indexOf(literal);
    for (let tries = 0; at !== -1 && tries < 4; tries += 1) {
      const parts = partsAround(data, at, literal, chunk, noisy);
      if (parts !== undefined && isProved(parts, holes, chunk))
        return new ChunkTemplate(chunk, holes, parts);
      at = data.indexOf(literal, at + 1);
    }
    return undefined;
  }

  private constructor(chunk: ChatChunk, holes: readonly Place[], parts: readonly string[]) {
    this.#chunk = chunk;
    this.#holes = holes;
    this.#parts = parts;
    this.hasNoise = holes.length > 1;
  }

  read(data: string): ChatChunk | undefined {
    const parts = this.#parts;
    const before = parts[0] as string;
    const after = parts[parts.length - 1] as string;
    const end = data.length - after.length;
    let at = before.length;
    if (end < at) return undefined;
    // A slice and a comparison take 70 ns for 300 characters; startsWith and endsWith take 620.
    if (data.slice(end) !== after || data.slice(0, at) !== before) return undefined;
    let chunk = this.#chunk;
    for (let nth = 0; nth < this.#holes.length; nth += 1) {
      const next = parts[nth + 1] as string;
      const stop = nth === this.#holes.length - 1 ? end : data.indexOf(next, at);
      if (stop === -1 || stop > end) return undefined;
      const text = stringContents(data.slice(at, stop));
      if (text === undefined) return undefined;
      chunk = withString(chunk, this.#holes[nth] as Place, text);
      at = stop + next.length;
    }
    return chunk;
  }
}

/** The text around the holes: before the literal at `at`, and before and after the value of each noisy field. */
function partsAround(
  data: string,
  at: number,
  literal: string,
  chunk: ChatChunk,
  noisy: readonly string[],
): string[] | undefined {
  const parts = [data.slice(0, at + 1)];
  let rest = at + literal.length - 1;
  for (const field of noisy) {
    const value = JSON.stringify(chunk[field]);
    const key = data.indexOf(JSON.stringify(field), rest);
    const start = key === -1 ? -1 : data.indexOf(value, key + field.length + 2);
    if (start === -1) return undefined;
    parts.push(data.slice(rest, start + 1));
    rest = start + value.length - 1;
  }
  return [...parts, data.slice(rest)];
}

function isProved(parts: readonly string[], holes: readonly Place[], chunk: ChatChunk): boolean {
  const text = parts.map((part, nth) => (nth === 0 ? part : `probe${nth}${part}`)).join("");
  const parsed = parseJson(text);
  if (!isObject(parsed)) return false;
  let probe: ChatChunk = parsed;
  for (const [nth, place] of holes.entries()) {
    if (stringAt(probe, place) !== `probe${nth + 1}`) return false;
    probe = withString(probe, place, stringAt(chunk, place) ?? "");
  }
  return JSON.stringify(probe) === JSON.stringify(chunk);
}

/** What the inside of a JSON string literal says; undefined if it is none. */
function stringContents(inside: string): string | undefined {
  for (let at = 0; at < inside.length; at += 1) {
    const code = inside.charCodeAt(at);
    if (code === QUOTE || code < SPACE) return undefined;
    if (code === BACKSLASH) {
      const value = parseJson(`"${inside}"`);
      return typeof value === "string" ? value : undefined;
    }
  }
  return inside;
}

const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;

function placeIn(chunk: ChatChunk): Place | undefined {
  const delta = deltaOf(chunk);
  if (delta === undefined) return undefined;
  if (Array.isArray(delta.tool_calls)) {
    const only = delta.tool_calls.length === 1 ? delta.tool_calls[0] : undefined;
    const text = isObject(only?.function) ? only.function["arguments"] : undefined;
    return typeof text === "string" && text !== "" ? { in: "arguments" } : undefined;
  }
  for (const field of ["content", "reasoning_content", "reasoning"] as const)
    if (typeof delta[field] === "string" && delta[field] !== "") return { in: "delta", field };
  return undefined;
}

function stringAt(chunk: ChatChunk, place: Place): string | undefined {
  const delta = deltaOf(chunk);
  const value =
    place.in === "chunk"
      ? chunk[place.field]
      : place.in === "delta"
        ? delta?.[place.field]
        : delta?.tool_calls?.[0]?.function?.arguments;
  return typeof value === "string" ? value : undefined;
}

function deltaOf(chunk: ChatChunk): ChatDelta | undefined {
  if (!Array.isArray(chunk.choices) || chunk.choices.length !== 1) return undefined;
  const delta: unknown = isObject(chunk.choices[0]) ? chunk.choices[0]["delta"] : undefined;
  return isObject(delta) ? delta : undefined;
}

/** The same chunk with another string at its place; only the objects on the way to it are new. */
function withString(chunk: ChatChunk, place: Place, text: string): ChatChunk {
  if (place.in === "chunk") return { ...chunk, [place.field]: text };
  const choice = chunk.choices?.[0];
  const delta: ChatDelta = { ...choice?.delta };
  if (place.in === "delta") delta[place.field] = text;
  else {
    const call = delta.tool_calls?.[0];
    delta.tool_calls = [{ ...call, function: { ...call?.function, arguments: text } }];
  }
  return { ...chunk, choices: [{ ...choice, delta }] };
}
