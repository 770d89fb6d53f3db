import { asString, isObject, parseJson } from "../json.ts";
import type { UpstreamMessageEvent } from "../shapes/messages-reply.ts";
import { decodeStringContents } from "../string-contents.ts";

/** The field of each kind of delta that changes from event to event. */
const textFields: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  input_json_delta: "partial_json",
};

/** Number of templates per stream, one for each kind of block. */
const maxTemplates = 3;
/** After this many attempts to learn a template without a match, learning pauses until a template matches. */
const maxLearningAttempts = 6;

/** Longer strings are read with the limits of `ReplyBody`. */
const maxTextLength = 1024;

/**
 * Reads deltas that differ in one string from an earlier one without JSON.parse (decision 0003). A template is proven when
 * learned: a probe replaces the string, and nothing else may change.
 */
export class DeltaReader {
  #templates: DeltaTemplate[] = [];
  #remainingAttempts = maxLearningAttempts;

  /** Returns undefined if no template matches. */
  read(data: string): UpstreamMessageEvent | undefined {
    for (let index = 0; index < this.#templates.length; index += 1) {
      const template = this.#templates[index] as DeltaTemplate;
      const event = template.read(data);
      if (event === undefined) continue;
      if (index > 0) this.#templates.unshift(...this.#templates.splice(index, 1));
      this.#remainingAttempts = maxLearningAttempts;
      return event;
    }
    return undefined;
  }

  /**
   * Reads a delta with its lines of server-sent events at `position`, and returns where it ends. Returns `position` if no template
   * matches.
   */
  readText(text: string, position: number, out: UpstreamMessageEvent[]): number {
    for (let index = 0; index < this.#templates.length; index += 1) {
      const template = this.#templates[index] as DeltaTemplate;
      const end = template.readText(text, position, out);
      if (end === position) continue;
      if (index > 0) this.#templates.unshift(...this.#templates.splice(index, 1));
      this.#remainingAttempts = maxLearningAttempts;
      return end;
    }
    return position;
  }

  /** `name`: the name of the event, if it had one. */
  learn(data: string, event: UpstreamMessageEvent, name?: string): void {
    if (this.#remainingAttempts === 0 || event.type !== "content_block_delta") return;
    this.#remainingAttempts -= 1;
    const template = DeltaTemplate.learn(data, event, name);
    if (template === undefined) return;
    this.#templates.unshift(template);
    this.#templates.length = Math.min(this.#templates.length, maxTemplates);
  }
}

class DeltaTemplate {
  readonly #event: UpstreamMessageEvent;
  readonly #field: string;
  readonly #prefix: string;
  readonly #suffix: string;
  /** The lines of the event before and after the string. Undefined if the event has no name. */
  readonly #start: string | undefined;
  readonly #end: string;
  /** True if the event has no other fields, and these in the usual order. */
  readonly #isPlain: boolean;

  static learn(
    data: string,
    event: UpstreamMessageEvent,
    name: string | undefined,
  ): DeltaTemplate | undefined {
    const { delta } = event;
    const field = isObject(delta) ? textFields[asString(delta["type"])] : undefined;
    const text = field === undefined || !isObject(delta) ? undefined : delta[field];
    if (field === undefined || typeof text !== "string" || text === "") return undefined;
    const literal = JSON.stringify(text);
    const start = data.lastIndexOf(literal);
    if (start === -1) return undefined;
    const prefix = data.slice(0, start + 1);
    const suffix = data.slice(start + literal.length - 1);
    const template = new DeltaTemplate(event, field, prefix, suffix, name);
    const probe = parseJson(`${prefix}probe${suffix}`);
    const isProven = JSON.stringify(probe) === JSON.stringify(template.#withText("probe"));
    return isProven ? template : undefined;
  }

  private constructor(
    event: UpstreamMessageEvent,
    field: string,
    prefix: string,
    suffix: string,
    name: string | undefined,
  ) {
    this.#event = event;
    this.#field = field;
    this.#prefix = prefix;
    this.#suffix = suffix;
    this.#start = name === event.type ? `event: ${name}\ndata: ${prefix}` : undefined;
    this.#end = `${suffix}\n\n`;
    const { delta } = event;
    const names = [...Object.keys(event), ...Object.keys(isObject(delta) ? delta : {})];
    this.#isPlain = names.join(" ") === `type index delta type ${field}`;
  }

  read(data: string): UpstreamMessageEvent | undefined {
    const start = this.#prefix.length;
    const end = data.length - this.#suffix.length;
    if (end < start) return undefined;
    if (data.slice(end) !== this.#suffix || data.slice(0, start) !== this.#prefix) return undefined;
    const text = decodeStringContents(data.slice(start, end));
    return text === undefined ? undefined : this.#withText(text);
  }

  readText(text: string, position: number, out: UpstreamMessageEvent[]): number {
    const start = this.#start;
    if (start === undefined) return position;
    const stringStart = position + start.length;
    // As in `ChunkReader`, a slice and a comparison are faster than startsWith.
    if (text.slice(position, stringStart) !== start) return position;
    const lineEnd = text.indexOf("\n", stringStart);
    const stringEnd = lineEnd - this.#suffix.length;
    if (stringEnd < stringStart || stringEnd - stringStart > maxTextLength) return position;
    const end = lineEnd + 2;
    if (text.slice(stringEnd, end) !== this.#end) return position;
    const string = decodeStringContents(text.slice(stringStart, stringEnd));
    if (string === undefined) return position;
    out.push(this.#withText(string));
    return end;
  }

  /** Events without other fields are built as literals: copies of the fields take three times as long. */
  #withText(text: string): UpstreamMessageEvent {
    const { type, index } = this.#event;
    if (this.#isPlain)
      switch (this.#field) {
        case "text":
          return { type, index, delta: { type: "text_delta", text } };
        case "thinking":
          return { type, index, delta: { type: "thinking_delta", thinking: text } };
        default:
          return { type, index, delta: { type: "input_json_delta", partial_json: text } };
      }
    const delta = { ...(this.#event["delta"] as object), [this.#field]: text };
    return { ...this.#event, delta };
  }
}
