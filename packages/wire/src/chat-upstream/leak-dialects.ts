import { GrowingText } from "../growing-text.ts";
import { isObject, parseJson, type JsonObject } from "../json.ts";
import type { LeakDialect } from "../profiles.ts";
import { ValueBoundary } from "../tools/arguments.ts";
import { typedText } from "../tools/typed-text.ts";

/** A call as the model wrote it. Arguments that are not all there are left open, so that they are no JSON. */
export interface LeakedCall {
  id: string | undefined;
  name: string;
  arguments: string;
}

/** The tools that a call may name, and what is known of their parameters. */
export interface OfferedNames {
  names: ReadonlySet<string>;
  schemas: ReadonlyMap<string, JsonObject>;
}

type Reading<Result> = Generator<void, Result, void>;

const toolCall = "<tool_call>";
const toolCallEnd = "</tool_call>";
const functionTag = "<function=";
const functionEnd = "</function>";
const parameterTag = "<parameter=";
const parameterEnd = "</parameter>";
// Kimi's template has the plural; the model also writes the singular.
const sections = ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"];
const sectionEnds = ["<|tool_calls_section_end|>", "<|tool_call_section_end|>"];
const kimiCallBegin = "<|tool_call_begin|>";
const kimiArguments = "<|tool_call_argument_begin|>";
const kimiCallEnd = "<|tool_call_end|>";

const openers: Record<LeakDialect, readonly string[]> = {
  hermes: [toolCall],
  // Qwen3-Coder often forgets the tag around the function.
  "qwen-xml": [toolCall, functionTag],
  kimi: [...sections, kimiCallBegin],
};

export function openersOf(dialects: readonly LeakDialect[]): string[] {
  return [...new Set(dialects.flatMap((dialect) => openers[dialect]))];
}

/**
 * Reads one call from its opening tag on, waiting at every `yield` for more words; undefined if what was taken is no
 * call. Every word is looked at once, wherever the text was cut.
 */
export function* readCall(
  input: Words,
  dialects: readonly LeakDialect[],
  tools: OfferedNames,
): Reading<LeakedCall | undefined> {
  const opener = yield* take(input, openersOf(dialects));
  if (opener === functionTag) return yield* qwenCall(input, tools);
  if (opener !== toolCall) return yield* kimiCall(input, opener === kimiCallBegin, tools);
  const bodies = dialects.flatMap((dialect) => bodyOf[dialect] ?? []);
  const body = yield* ahead(input, bodies);
  if (body === "{") return yield* hermesCall(input, tools);
  if (body !== functionTag) return undefined;
  yield* take(input, [functionTag]);
  return yield* qwenCall(input, tools);
}

const bodyOf: Partial<Record<LeakDialect, string>> = { hermes: "{", "qwen-xml": functionTag };

/** `{"name": …, "arguments": …}</tool_call>`. A brace too few or too many, or no closing tag, is often seen. */
function* hermesCall(input: Words, tools: OfferedNames): Reading<LeakedCall | undefined> {
  const object = yield* jsonValue(input);
  let next = yield* ahead(input, [toolCallEnd, toolCall, "}"]);
  while (next === "}") {
    yield* take(input, ["}"]);
    next = yield* ahead(input, [toolCallEnd, toolCall, "}"]);
  }
  if (next === undefined) return undefined;
  if (next !== toolCall) yield* take(input, [toolCallEnd]);
  const members = rawMembers(object.text);
  const name = parseJson(members.get("name") ?? "");
  if (typeof name !== "string" || !tools.names.has(name)) return undefined;
  const given = members.get("arguments") ?? members.get("parameters");
  if (given === undefined) return { id: undefined, name, arguments: object.ended ? "{}" : "{" };
  // Some models write the arguments as they stand on the wire: JSON in a string.
  const unwrapped = given.startsWith('"') ? parseJson(given) : undefined;
  return { id: undefined, name, arguments: typeof unwrapped === "string" ? unwrapped : given };
}

/** `NAME><parameter=KEY>VALUE</parameter>…</function></tool_call>`; values are not escaped in any way. */
function* qwenCall(input: Words, tools: OfferedNames): Reading<LeakedCall | undefined> {
  const name = yield* tagName(input);
  if (name === undefined) return undefined;
  const schema = tools.schemas.get(name);
  const members = new Map<string, string>();
  let closing = "}";
  const call = (end: string): LeakedCall | undefined => {
    const text = Array.from(members, ([key, value]) => `${JSON.stringify(key)}:${value}`).join(",");
    return tools.names.has(name) ? { id: undefined, name, arguments: `{${text}${end}` } : undefined;
  };
  for (;;) {
    const tag = yield* take(input, [parameterTag, functionEnd, toolCallEnd]);
    switch (tag) {
      case undefined:
        return undefined;
      case "end":
        return call("");
      case parameterTag: {
        const key = yield* tagName(input);
        if (key === undefined) return input.isAtEnd ? call("") : undefined;
        const value = yield* parameterValue(input);
        if (value === undefined) return call("");
        if (swallowsAnother(value, schema)) closing = "";
        const typed = typedText(value, key, schema);
        if (typed !== undefined) members.set(key, typed);
        break;
      }
      case functionEnd:
        yield* take(input, [toolCallEnd]);
        return call(closing);
      default:
        return call(closing);
    }
  }
}

/** Up to the closing tag behind which the markup goes on: a file's text may hold that tag too. */
function* parameterValue(input: Words): Reading<string | undefined> {
  const value = new GrowingText();
  for (;;) {
    const at = input.rest.indexOf(parameterEnd);
    if (at === -1) {
      if (input.hasEnded) {
        input.take(input.rest.length);
        return undefined;
      }
      value.add(input.take(input.rest.length - overlap(input.rest, parameterEnd)));
      yield;
      continue;
    }
    value.add(input.take(at));
    input.take(parameterEnd.length);
    const follows = yield* ahead(input, [parameterTag, functionEnd, toolCallEnd]);
    if (follows !== undefined)
      return value
        .toString()
        .replace(/^\r?\n/, "")
        .replace(/\r?\n$/, "");
    value.add(parameterEnd);
  }
}

/** A forgotten closing tag makes the next parameter part of this one's value: such a call must not run, and stays open. */
function swallowsAnother(value: string, schema: JsonObject | undefined): boolean {
  const properties = schema?.["properties"];
  if (!isObject(properties)) return false;
  return [...value.matchAll(/^<parameter=([^<>\s]+)>/gm)].some(([, key = ""]) =>
    Object.hasOwn(properties, key),
  );
}

/** `functions.NAME:INDEX<|tool_call_argument_begin|>{…}<|tool_call_end|>`, in a section or alone. */
function* kimiCall(
  input: Words,
  begun: boolean,
  tools: OfferedNames,
): Reading<LeakedCall | undefined> {
  if (!begun && (yield* take(input, [kimiCallBegin])) !== kimiCallBegin) return undefined;
  const id = yield* kimiId(input);
  if ((yield* take(input, [kimiArguments])) !== kimiArguments) return undefined;
  const name = kimiName(id, tools.names);
  const ends = [kimiCallEnd, ...sectionEnds];
  let text = "";
  let next = yield* ahead(input, ["{", ...ends, kimiCallBegin]);
  if (next === "{") {
    ({ text } = yield* jsonValue(input));
    next = yield* ahead(input, [...ends, kimiCallBegin, "}"]);
    while (next === "}") {
      yield* take(input, ["}"]);
      next = yield* ahead(input, [...ends, kimiCallBegin, "}"]);
    }
  } else if (next === "end") text = "{";
  if (next === undefined) return undefined;
  if (next !== kimiCallBegin) yield* take(input, ends);
  if (next === kimiCallEnd) yield* take(input, sectionEnds);
  return name === undefined ? undefined : { id, name, arguments: text };
}

/** Longer than any name that can be offered, and its index. */
const longestKimiId = 128;
const longestTagName = 256;
/** Blanks that may stand between two tags. More make the block text. */
const mostBlanks = 1024;

function* kimiId(input: Words): Reading<string> {
  while (!input.rest.includes("<") && input.rest.length < longestKimiId && !input.hasEnded) yield;
  const at = input.rest.slice(0, longestKimiId).indexOf("<");
  return input.take(at === -1 ? Math.min(input.rest.length, longestKimiId) : at).trim();
}

/**
 * The tool that an id names. Kimi K2.5 loses the dot, the colon or both, and writes `functionsexec5`; where that may
 * be two tools (`exec1`, `exec`) it is none.
 */
function kimiName(id: string, names: ReadonlySet<string>): string | undefined {
  const exact = /^(?:functions\.)?(.+):\d+$/.exec(id)?.[1];
  if (exact !== undefined && names.has(exact)) return exact;
  const found = new Set<string>();
  for (const whole of [id, id.replace(/^functions[._]?/, "")])
    for (let length = whole.length; length > 0; length -= 1) {
      if (!/^[:._]?\d*$/.test(whole.slice(length))) break;
      if (names.has(whole.slice(0, length))) found.add(whole.slice(0, length));
    }
  return found.size === 1 ? [...found][0] : undefined;
}

/** The words of a block: what was taken of them, and the rest. */
export class Words {
  readonly taken = new GrowingText();
  rest = "";
  /** No more will come. */
  hasEnded = false;

  get isAtEnd(): boolean {
    return this.hasEnded && this.rest.trim() === "";
  }

  add(text: string): void {
    this.rest += text;
  }

  take(length: number): string {
    const text = this.rest.slice(0, length);
    this.taken.add(text);
    this.rest = this.rest.slice(length);
    return text;
  }
}

/** Which of these tags comes next, behind blanks; `end` if the reply ends there, or within one of them. */
function* ahead<Tag extends string>(
  input: Words,
  tags: readonly Tag[],
): Reading<Tag | "end" | undefined> {
  for (;;) {
    const rest = input.rest.trimStart();
    const found = tags.find((tag) => rest.startsWith(tag));
    if (found !== undefined) return found;
    if (!tags.some((tag) => tag.startsWith(rest))) return undefined;
    if (input.rest.length - rest.length > mostBlanks) return undefined;
    if (input.hasEnded) return "end";
    yield;
  }
}

/** The same, and takes it. */
function* take<Tag extends string>(
  input: Words,
  tags: readonly Tag[],
): Reading<Tag | "end" | undefined> {
  const found = yield* ahead(input, tags);
  const { length } = input.rest;
  if (found === "end") input.take(length);
  else if (found !== undefined) input.take(length - input.rest.trimStart().length + found.length);
  return found;
}

/** `NAME>`: a name has no blank and no angle bracket. */
function* tagName(input: Words): Reading<string | undefined> {
  while (isOpenName(input.rest) && !input.hasEnded) yield;
  const name = /^[^<>\s]+(?=>)/.exec(input.rest.slice(0, longestTagName + 1))?.[0];
  if (name !== undefined) input.take(name.length + 1);
  else if (isOpenName(input.rest)) input.take(input.rest.length);
  return name;
}

/** Whether a name may go on with what comes next. */
function isOpenName(text: string): boolean {
  return text.length <= longestTagName && /^[^<>\s]*$/.test(text);
}

/** A JSON value up to its end, or up to a `<` outside of its strings, which no JSON has. */
function* jsonValue(input: Words): Reading<{ text: string; ended: boolean }> {
  input.take(input.rest.length - input.rest.trimStart().length);
  const text = new GrowingText();
  const boundary = new ValueBoundary();
  for (;;) {
    const { rest } = input;
    let from = 0;
    let mark = rest.indexOf("<");
    for (;;) {
      const to = mark === -1 ? rest.length : mark;
      const end = boundary.feed(rest, from, to);
      if (end !== -1 || (mark !== -1 && !boundary.isInString)) {
        text.add(input.take(end === -1 ? mark : end));
        return { text: text.toString(), ended: end !== -1 };
      }
      if (mark === -1) break;
      from = mark;
      mark = rest.indexOf("<", mark + 1);
    }
    text.add(input.take(rest.length));
    if (input.hasEnded) return { text: text.toString(), ended: false };
    yield;
  }
}

/** The members of an object as they are written, so that numbers keep their digits. It may be cut off or broken. */
function rawMembers(object: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = 1;
  for (;;) {
    const opening = matchAt(/[\s,]*/y, object, at);
    if (object[opening] !== '"') return members;
    // Not by a pattern: one that repeats a choice overflows the stack on a long string.
    const behind = new ValueBoundary().feed(object, opening);
    if (behind === -1) return members;
    const written = object.slice(opening, behind);
    const colon = matchAt(/\s*/y, object, behind);
    if (object[colon] !== ":") return members;
    const start = matchAt(/\s*/y, object, colon + 1);
    const end = endOfValue(object, start);
    const name = parseJson(written);
    if (typeof name === "string" && !members.has(name)) members.set(name, object.slice(start, end));
    at = end;
  }
}

/** The index behind a match at this place; the place itself if there is none. */
function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function endOfValue(text: string, start: number): number {
  if (/["{[]/.test(text[start] ?? "")) {
    const end = new ValueBoundary().feed(text, start);
    return end === -1 ? text.length : end;
  }
  const length = text.slice(start).search(/[,}\s]/);
  return length === -1 ? text.length : start + length;
}

/** How many characters at the end may be the beginning of the tag. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1)
    if (tag.startsWith(text.slice(text.length - length))) return length;
  return 0;
}
