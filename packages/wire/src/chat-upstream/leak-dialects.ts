import { TextAccumulator } from "../text-accumulator.ts";
import { isObject, parseJson, type JsonObject } from "../json.ts";
import type { LeakDialect } from "../upstream-profile.ts";
import { JsonValueScanner } from "../tools/arguments-buffer.ts";
import { coerceParameter } from "../tools/coerce-parameter.ts";

/** A call as the model wrote it. Truncated arguments are not closed, so they are invalid JSON. */
export interface LeakedCall {
  id: string | undefined;
  name: string;
  arguments: string;
}

/** The offered tools, with their parameter schemas if known. */
export interface KnownTools {
  names: ReadonlySet<string>;
  schemas: ReadonlyMap<string, JsonObject>;
}

type TagParser<Result> = Generator<void, Result, void>;

const toolCallTag = "<tool_call>";
const toolCallEndTag = "</tool_call>";
const functionTag = "<function=";
const functionEndTag = "</function>";
const parameterTag = "<parameter=";
const parameterEndTag = "</parameter>";
// Kimi's template has the plural; the model also writes the singular.
const sectionBeginTags = ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"];
const sectionEndTags = ["<|tool_calls_section_end|>", "<|tool_call_section_end|>"];
const kimiCallBeginTag = "<|tool_call_begin|>";
const kimiArgumentsTag = "<|tool_call_argument_begin|>";
const kimiCallEndTag = "<|tool_call_end|>";

const openingTags: Record<LeakDialect, readonly string[]> = {
  hermes: [toolCallTag],
  // Qwen3-Coder often omits the tag around the function.
  "qwen-xml": [toolCallTag, functionTag],
  kimi: [...sectionBeginTags, kimiCallBeginTag],
};

export function getOpeningTags(dialects: readonly LeakDialect[]): string[] {
  return [...new Set(dialects.flatMap((dialect) => openingTags[dialect]))];
}

/**
 * Parses one call, starting at its opening tag. Each `yield` waits for more text. Returns undefined if the text is not a
 * call. Reads every character once, however the text is split.
 */
export function* parseLeakedCall(
  input: MarkupBuffer,
  dialects: readonly LeakDialect[],
  tools: KnownTools,
): TagParser<LeakedCall | undefined> {
  const openingTag = yield* consumeTag(input, getOpeningTags(dialects));
  if (openingTag === functionTag) return yield* parseQwenCall(input, tools);
  if (openingTag !== toolCallTag)
    return yield* parseKimiCall(input, openingTag === kimiCallBeginTag, tools);
  const bodies = dialects.flatMap((dialect) => bodyStarts[dialect] ?? []);
  const body = yield* peekTag(input, bodies);
  if (body === "{") return yield* parseHermesCall(input, tools);
  if (body !== functionTag) return undefined;
  yield* consumeTag(input, [functionTag]);
  return yield* parseQwenCall(input, tools);
}

const bodyStarts: Partial<Record<LeakDialect, string>> = { hermes: "{", "qwen-xml": functionTag };

/**
 * Parses `{"name": …, "arguments": …}</tool_call>`. Often a brace is missing or extra, or the closing tag is missing.
 */
function* parseHermesCall(
  input: MarkupBuffer,
  tools: KnownTools,
): TagParser<LeakedCall | undefined> {
  const jsonObject = yield* parseJsonValue(input);
  let nextTag = yield* peekTag(input, [toolCallEndTag, toolCallTag, "}"]);
  while (nextTag === "}") {
    yield* consumeTag(input, ["}"]);
    nextTag = yield* peekTag(input, [toolCallEndTag, toolCallTag, "}"]);
  }
  if (nextTag === undefined) return undefined;
  if (nextTag !== toolCallTag) yield* consumeTag(input, [toolCallEndTag]);
  const members = splitRawMembers(jsonObject.text);
  const name = parseJson(members.get("name") ?? "");
  if (typeof name !== "string" || !tools.names.has(name)) return undefined;
  const rawArguments = members.get("arguments") ?? members.get("parameters");
  if (rawArguments === undefined)
    return { id: undefined, name, arguments: jsonObject.isComplete ? "{}" : "{" };
  // Some models write the arguments as in the API: JSON in a string.
  const unwrapped = rawArguments.startsWith('"') ? parseJson(rawArguments) : undefined;
  return {
    id: undefined,
    name,
    arguments: typeof unwrapped === "string" ? unwrapped : rawArguments,
  };
}

/** Parses `NAME><parameter=KEY>VALUE</parameter>…</function></tool_call>`. Values are not escaped. */
function* parseQwenCall(input: MarkupBuffer, tools: KnownTools): TagParser<LeakedCall | undefined> {
  const name = yield* parseTagName(input);
  if (name === undefined) return undefined;
  const schema = tools.schemas.get(name);
  const members = new Map<string, string>();
  let closingBrace = "}";
  const buildCall = (end: string): LeakedCall | undefined => {
    const text = Array.from(members, ([key, value]) => `${JSON.stringify(key)}:${value}`).join(",");
    return tools.names.has(name) ? { id: undefined, name, arguments: `{${text}${end}` } : undefined;
  };
  for (;;) {
    const tag = yield* consumeTag(input, [parameterTag, functionEndTag, toolCallEndTag]);
    switch (tag) {
      case undefined:
        return undefined;
      case "end":
        return buildCall("");
      case parameterTag: {
        const key = yield* parseTagName(input);
        if (key === undefined) return input.isAtEnd ? buildCall("") : undefined;
        const value = yield* parseParameterValue(input);
        if (value === undefined) return buildCall("");
        if (containsKnownParameter(value, schema)) closingBrace = "";
        const typed = coerceParameter(value, key, schema);
        if (typed !== undefined) members.set(key, typed);
        break;
      }
      case functionEndTag:
        yield* consumeTag(input, [toolCallEndTag]);
        return buildCall(closingBrace);
      default:
        return buildCall(closingBrace);
    }
  }
}

/** Reads up to a closing tag that is followed by more markup: the value itself may contain that tag. */
function* parseParameterValue(input: MarkupBuffer): TagParser<string | undefined> {
  const value = new TextAccumulator();
  for (;;) {
    const index = input.rest.indexOf(parameterEndTag);
    if (index === -1) {
      if (input.hasEnded) {
        input.consume(input.rest.length);
        return undefined;
      }
      value.append(
        input.consume(input.rest.length - partialTagLength(input.rest, parameterEndTag)),
      );
      yield;
      continue;
    }
    value.append(input.consume(index));
    input.consume(parameterEndTag.length);
    const nextTag = yield* peekTag(input, [parameterTag, functionEndTag, toolCallEndTag]);
    if (nextTag !== undefined)
      return value
        .toString()
        .replace(/^\r?\n/, "")
        .replace(/\r?\n$/, "");
    value.append(parameterEndTag);
  }
}

/** True if a closing tag is missing, so that the value contains the next parameter. Such a call must not run. */
function containsKnownParameter(value: string, schema: JsonObject | undefined): boolean {
  const properties = schema?.["properties"];
  if (!isObject(properties)) return false;
  return [...value.matchAll(/^<parameter=([^<>\s]+)>/gm)].some(([, key = ""]) =>
    Object.hasOwn(properties, key),
  );
}

/** Parses `functions.NAME:INDEX<|tool_call_argument_begin|>{…}<|tool_call_end|>`, inside or outside of a section. */
function* parseKimiCall(
  input: MarkupBuffer,
  hasBegun: boolean,
  tools: KnownTools,
): TagParser<LeakedCall | undefined> {
  if (!hasBegun && (yield* consumeTag(input, [kimiCallBeginTag])) !== kimiCallBeginTag)
    return undefined;
  const id = yield* parseKimiId(input);
  if ((yield* consumeTag(input, [kimiArgumentsTag])) !== kimiArgumentsTag) return undefined;
  const name = resolveKimiToolName(id, tools.names);
  const endTags = [kimiCallEndTag, ...sectionEndTags];
  let text = "";
  let nextTag = yield* peekTag(input, ["{", ...endTags, kimiCallBeginTag]);
  if (nextTag === "{") {
    ({ text } = yield* parseJsonValue(input));
    nextTag = yield* peekTag(input, [...endTags, kimiCallBeginTag, "}"]);
    while (nextTag === "}") {
      yield* consumeTag(input, ["}"]);
      nextTag = yield* peekTag(input, [...endTags, kimiCallBeginTag, "}"]);
    }
  } else if (nextTag === "end") text = "{";
  if (nextTag === undefined) return undefined;
  if (nextTag !== kimiCallBeginTag) yield* consumeTag(input, endTags);
  if (nextTag === kimiCallEndTag) yield* consumeTag(input, sectionEndTags);
  return name === undefined ? undefined : { id, name, arguments: text };
}

/** In characters: longer than any valid tool name with its index. */
const maxKimiIdLength = 128;
const maxTagNameLength = 256;
/** Maximum number of blanks between two tags. A block with more is text. */
const maxBlanks = 1024;

function* parseKimiId(input: MarkupBuffer): TagParser<string> {
  while (!input.rest.includes("<") && input.rest.length < maxKimiIdLength && !input.hasEnded) yield;
  const end = input.rest.slice(0, maxKimiIdLength).indexOf("<");
  return input.consume(end === -1 ? Math.min(input.rest.length, maxKimiIdLength) : end).trim();
}

/**
 * Returns the tool that an id names. Kimi K2.5 may omit the dot, the colon or both, as in `functionsexec5`. Undefined
 * if two tools match (`exec1` and `exec`).
 */
function resolveKimiToolName(id: string, names: ReadonlySet<string>): string | undefined {
  const exact = /^(?:functions\.)?(.+):\d+$/.exec(id)?.[1];
  if (exact !== undefined && names.has(exact)) return exact;
  const matched = new Set<string>();
  for (const candidate of [id, id.replace(/^functions[._]?/, "")])
    for (let length = candidate.length; length > 0; length -= 1) {
      if (!/^[:._]?\d*$/.test(candidate.slice(length))) break;
      if (names.has(candidate.slice(0, length))) matched.add(candidate.slice(0, length));
    }
  return matched.size === 1 ? [...matched][0] : undefined;
}

/** The text of a block: the consumed part, and the rest that was not parsed yet. */
export class MarkupBuffer {
  readonly consumed = new TextAccumulator();
  rest = "";
  /** True if no more text will arrive. */
  hasEnded = false;

  get isAtEnd(): boolean {
    return this.hasEnded && this.rest.trim() === "";
  }

  append(text: string): void {
    this.rest += text;
  }

  consume(length: number): string {
    const text = this.rest.slice(0, length);
    this.consumed.append(text);
    this.rest = this.rest.slice(length);
    return text;
  }
}

/** Returns the tag that follows after blanks; `end` if the reply ends there or within a tag; undefined for other text. */
function* peekTag<Tag extends string>(
  input: MarkupBuffer,
  tags: readonly Tag[],
): TagParser<Tag | "end" | undefined> {
  for (;;) {
    const rest = input.rest.trimStart();
    const matched = tags.find((tag) => rest.startsWith(tag));
    if (matched !== undefined) return matched;
    if (!tags.some((tag) => tag.startsWith(rest))) return undefined;
    if (input.rest.length - rest.length > maxBlanks) return undefined;
    if (input.hasEnded) return "end";
    yield;
  }
}

/** Like `peekTag`, and consumes the tag. */
function* consumeTag<Tag extends string>(
  input: MarkupBuffer,
  tags: readonly Tag[],
): TagParser<Tag | "end" | undefined> {
  const matched = yield* peekTag(input, tags);
  const { length } = input.rest;
  if (matched === "end") input.consume(length);
  else if (matched !== undefined)
    input.consume(length - input.rest.trimStart().length + matched.length);
  return matched;
}

/** Parses `NAME>`. A name has no blanks or angle brackets. */
function* parseTagName(input: MarkupBuffer): TagParser<string | undefined> {
  while (isPartialName(input.rest) && !input.hasEnded) yield;
  const name = /^[^<>\s]+(?=>)/.exec(input.rest.slice(0, maxTagNameLength + 1))?.[0];
  if (name !== undefined) input.consume(name.length + 1);
  else if (isPartialName(input.rest)) input.consume(input.rest.length);
  return name;
}

/** True if the text may be the start of a name. */
function isPartialName(text: string): boolean {
  return text.length <= maxTagNameLength && /^[^<>\s]*$/.test(text);
}

/** Reads a JSON value up to its end, or up to a `<` outside of its strings, where JSON does not allow one. */
function* parseJsonValue(input: MarkupBuffer): TagParser<{ text: string; isComplete: boolean }> {
  input.consume(input.rest.length - input.rest.trimStart().length);
  const text = new TextAccumulator();
  const scanner = new JsonValueScanner();
  for (;;) {
    const { rest } = input;
    let from = 0;
    let bracket = rest.indexOf("<");
    for (;;) {
      const to = bracket === -1 ? rest.length : bracket;
      const end = scanner.scan(rest, from, to);
      if (end !== -1 || (bracket !== -1 && !scanner.isInString)) {
        text.append(input.consume(end === -1 ? bracket : end));
        return { text: text.toString(), isComplete: end !== -1 };
      }
      if (bracket === -1) break;
      from = bracket;
      bracket = rest.indexOf("<", bracket + 1);
    }
    text.append(input.consume(rest.length));
    if (input.hasEnded) return { text: text.toString(), isComplete: false };
    yield;
  }
}

/** Splits a possibly truncated object into the source text of its members, so that numbers keep their digits. */
function splitRawMembers(jsonObject: string): Map<string, string> {
  const members = new Map<string, string>();
  let position = 1;
  for (;;) {
    const keyStart = skipMatch(/[\s,]*/y, jsonObject, position);
    if (jsonObject[keyStart] !== '"') return members;
    // Without a regular expression: a repeated alternation overflows the stack on a long string.
    const keyEnd = new JsonValueScanner().scan(jsonObject, keyStart);
    if (keyEnd === -1) return members;
    const keyLiteral = jsonObject.slice(keyStart, keyEnd);
    const colon = skipMatch(/\s*/y, jsonObject, keyEnd);
    if (jsonObject[colon] !== ":") return members;
    const start = skipMatch(/\s*/y, jsonObject, colon + 1);
    const end = findValueEnd(jsonObject, start);
    const name = parseJson(keyLiteral);
    if (typeof name === "string" && !members.has(name))
      members.set(name, jsonObject.slice(start, end));
    position = end;
  }
}

/** Returns the index after a match at `index`, or `index` if there is no match. */
function skipMatch(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index;
  return pattern.test(text) ? pattern.lastIndex : index;
}

function findValueEnd(text: string, start: number): number {
  if (/["{[]/.test(text[start] ?? "")) {
    const end = new JsonValueScanner().scan(text, start);
    return end === -1 ? text.length : end;
  }
  const offset = text.slice(start).search(/[,}\s]/);
  return offset === -1 ? text.length : start + offset;
}

/** Returns how many characters at the end of the text may be the start of the tag. */
function partialTagLength(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1)
    if (tag.startsWith(text.slice(text.length - length))) return length;
  return 0;
}
