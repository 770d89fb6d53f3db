import { isObject, type JsonObject, type JsonValue, type ResponseEvent } from "@deltawire/wire";
import { StreamUnmasker } from "./unmask-stream.ts";
import type { Vault } from "./vault.ts";

type Event = ResponseEvent | JsonObject;

/** Texts that come in deltas: `${name}.delta`, and the whole in a field of `${name}.done`. */
const growing: Readonly<Record<string, { whole: string; isJson?: true }>> = {
  "response.output_text": { whole: "text" },
  "response.refusal": { whole: "refusal" },
  "response.reasoning_summary_text": { whole: "text" },
  "response.reasoning_text": { whole: "text" },
  "response.function_call_arguments": { whole: "arguments", isJson: true },
  "response.mcp_call_arguments": { whole: "arguments", isJson: true },
  "response.custom_tool_call_input": { whole: "input" },
  "response.code_interpreter_call_code": { whole: "code" },
  "response.audio.transcript": { whole: "transcript" },
};

interface OpenText {
  unmasker: StreamUnmasker;
  /** The last of its deltas: what is held back is told in one like it. */
  last: JsonObject;
}

/** The events of a model's reply with the private values in them again. */
export class UnmaskedReply {
  readonly #vault: Vault;
  readonly #open = new Map<string, OpenText>();
  #number: number | undefined;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  push(batch: readonly Event[]): Event[] {
    const out: Event[] = [];
    for (const event of batch) this.#take(event as JsonObject, out);
    return out;
  }

  /** What is still held back, where a reply broke off. */
  end(): Event[] {
    const out: Event[] = [];
    this.#release(() => true, out);
    return out;
  }

  #take(event: JsonObject, out: Event[]): void {
    const type = told(event["type"]);
    const dot = type.lastIndexOf(".");
    const text = Object.hasOwn(growing, type.slice(0, dot))
      ? growing[type.slice(0, dot)]
      : undefined;
    const step = type.slice(dot + 1);
    if (text !== undefined && step === "delta")
      return this.#delta(event, text.isJson === true, out);
    if (text !== undefined && step === "done") {
      const key = keyOf(event);
      this.#release((open) => open === key, out);
    } else if (
      type === "response.content_part.done" ||
      type === "response.reasoning_summary_part.done"
    )
      this.#release((open) => open.endsWith(`|${placeOf(event)}`), out);
    else if (type === "response.output_item.done")
      this.#release((_, delta) => isOf(event, delta), out);
    else if (/^(?:response\.(?:completed|incomplete|failed|cancelled)|error)$/.test(type))
      this.#release(() => true, out);
    this.#tell(this.#unmasked(event), out);
  }

  #delta(event: JsonObject, isJson: boolean, out: Event[]): void {
    const { delta } = event;
    if (typeof delta !== "string") return this.#tell(event, out);
    const key = keyOf(event);
    let open = this.#open.get(key);
    if (open === undefined) {
      const unmask = (text: string, before: string): string =>
        isJson ? this.#vault.unmaskJson(text, before) : this.#vault.unmask(text, before);
      open = { unmasker: new StreamUnmasker(unmask, { isJson }), last: event };
      this.#open.set(key, open);
    }
    open.last = event;
    const ready = open.unmasker.push(delta);
    if (ready === delta) this.#tell(event, out);
    else if (ready !== "") this.#tell({ ...event, delta: ready }, out);
  }

  #release(isDone: (key: string, delta: JsonObject) => boolean, out: Event[]): void {
    for (const [key, { unmasker, last }] of this.#open) {
      if (!isDone(key, last)) continue;
      this.#open.delete(key);
      const delta = unmasker.end();
      if (delta === "") continue;
      this.#tell({ ...last, delta, ...(Array.isArray(last["logprobs"]) && { logprobs: [] }) }, out);
    }
  }

  /** Events come and go, so that they are numbered anew where they are numbered. */
  #tell(event: JsonObject, out: Event[]): void {
    const { sequence_number: number } = event;
    if (typeof number !== "number") {
      out.push(event);
      return;
    }
    this.#number = this.#number === undefined ? number : this.#number + 1;
    out.push(number === this.#number ? event : { ...event, sequence_number: this.#number });
  }

  #unmasked(event: JsonObject): JsonObject {
    const { response } = event;
    if (!isObject(response)) return unmaskedValue(event, this.#vault) as JsonObject;
    // The rest of a response is an echo of the request.
    const { output, error } = response;
    const readable = {
      ...(output !== undefined && { output: unmaskedValue(output, this.#vault) }),
      ...(error !== undefined && { error: unmaskedValue(error, this.#vault) }),
    };
    return { ...event, response: { ...response, ...readable } };
  }
}

/** Every text in a value; where nothing changes, it is the same value. */
function unmaskedValue(value: JsonValue, vault: Vault, name = ""): JsonValue {
  if (typeof value === "string") {
    if (name === "encrypted_content") return value;
    return name === "arguments" ? vault.unmaskJson(value) : vault.unmask(value);
  }
  if (Array.isArray(value)) {
    const changed = value.map((one) => unmaskedValue(one, vault, name));
    return changed.some((one, index) => one !== value[index]) ? changed : value;
  }
  if (!isObject(value)) return value;
  let changed: JsonObject | undefined;
  for (const [key, one] of Object.entries(value)) {
    if (one === undefined) continue;
    const unmasked = unmaskedValue(one, vault, key);
    if (unmasked === one) continue;
    changed ??= { ...value };
    changed[key] = unmasked;
  }
  return changed ?? value;
}

function keyOf(event: JsonObject): string {
  const type = told(event["type"]);
  return `${type.slice(0, type.lastIndexOf("."))}|${placeOf(event)}`;
}

/** The item of a delta and the part in it. */
function placeOf(event: JsonObject): string {
  const { item_id: item, output_index: output, content_index, summary_index } = event;
  return `${told(item ?? output)}|${told(content_index)}|${told(summary_index)}`;
}

function told(value: JsonValue | undefined): string {
  return typeof value === "string" || typeof value === "number" ? `${value}` : "";
}

function isOf({ item, output_index: index }: JsonObject, delta: JsonObject): boolean {
  const id = isObject(item) ? item["id"] : undefined;
  const { item_id: of = null } = delta;
  return of === null || id === undefined ? delta["output_index"] === index : of === id;
}
