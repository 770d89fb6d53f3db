import { failureOfEnd } from "../chat-upstream/ending.ts";
import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { StreamEnd, StreamMachine } from "../machine.ts";
import { upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { Repairs } from "../repairs.ts";
import type { ResponsesInput } from "../responses-upstream/body.ts";
import { matchTerminal, type ToldItem } from "../responses-upstream/terminal-match.ts";
import { listOf, objectOf } from "../responses-upstream/terminal.ts";
import { cutItem } from "./cut-item.ts";

export interface ResponsesOverResponsesOptions {
  /** For an upstream that breaks off before it has said an id. */
  responseId: string;
  /** Seconds since 1970, likewise. */
  createdAt: number;
  repairs?: Repairs;
}

/** No response has more items than this; a larger index is noise. */
const indexLimit = 1_000_000_000;

/** An item that events have told of. */
interface PassingItem extends ToldItem {
  item: JsonObject;
  /** What its deltas said, joined, by the type of the event. */
  said: Map<string, string>;
  done: boolean;
}

/**
 * A Responses client on a Responses upstream: the same events, repaired. Event types and fields that we do not know
 * pass; events are numbered densely, the first is `response.created`, every item is added and done, there is one
 * terminal event, the last, and its output is what was streamed. What is no event of this wire is dropped.
 */
export class ResponsesOverResponses implements StreamMachine<ResponsesInput, ResponsesInput> {
  readonly repairs: Repairs;
  #state: "new" | "streaming" | "ended" = "new";
  #sequence = 0;
  #response: JsonObject;
  #failure: UpstreamFailure | undefined;
  readonly #items = new Map<number, PassingItem>();

  constructor(options: ResponsesOverResponsesOptions) {
    this.repairs = options.repairs ?? new Repairs();
    this.#response = {
      id: options.responseId,
      object: "response",
      created_at: options.createdAt,
      status: "in_progress",
      error: null,
      incomplete_details: null,
      model: "",
      output: [],
      usage: null,
    };
  }

  push(event: ResponsesInput, out: ResponsesInput[]): void {
    const type = nonEmptyString(event.type) ?? "";
    if (this.#state === "ended") return this.repairs.add("data_after_end", type);
    const repeated = type === "response.created" && this.#state !== "new";
    if (type === "error") this.#failure ??= upstreamFailure(event["error"] ?? event);
    else if (!type.startsWith("response.") || repeated)
      return this.repairs.add("event_dropped", type);
    if (isObject(event["response"])) this.#response = { ...this.#response, ...event["response"] };
    this.#start(type, out);
    if (isTerminal(type)) return this.#end(event, out);
    if (type === "response.output_item.added") return this.#added(event, out);
    if (type === "response.output_item.done") return this.#done(event, out);
    if (type.endsWith(".delta")) this.#follow(event);
    out.push(this.#numbered(event));
  }

  end(how: StreamEnd, out: ResponsesInput[]): void {
    if (this.#state === "ended") return;
    const { code, message } = this.#failure ?? failureOfEnd(how);
    this.#start("", out);
    const response = { ...this.#response, status: "failed", error: { code, message } };
    this.#end({ type: "response.failed", response }, out);
  }

  #start(type: string, out: ResponsesInput[]): void {
    if (this.#state !== "new") return;
    this.#state = "streaming";
    if (type === "response.created") return;
    this.repairs.add("event_completed", "response.created");
    const response = { ...this.#response, status: "in_progress", output: [], usage: null };
    out.push(this.#numbered({ type: "response.created", response }));
    if (type !== "response.in_progress" && type !== "response.queued")
      out.push(this.#numbered({ type: "response.in_progress", response }));
  }

  #added(event: ResponsesInput, out: ResponsesInput[]): void {
    const index = this.#indexOf(event) ?? this.#nextIndex();
    if (this.#items.has(index)) return this.repairs.add("event_dropped", `${event.type} again`);
    this.#remember(index, objectOf(event["item"]));
    out.push(this.#numbered(withFields(event, { output_index: index })));
  }

  #done(event: ResponsesInput, out: ResponsesInput[]): void {
    const index = this.#indexOf(event) ?? this.#nextIndex();
    const item = withTextArguments(objectOf(event["item"]));
    const known = this.#items.get(index);
    if (known?.done === true) return this.repairs.add("event_dropped", `${event.type} again`);
    if (known === undefined) this.#announce(index, item, out);
    this.#settle(index, item);
    out.push(this.#numbered(withFields(event, { output_index: index, item })));
  }

  /** The upstream's index; else that of the item with this id. A missing index is not 0. */
  #indexOf(event: JsonObject): number | undefined {
    const index = event["output_index"];
    if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < indexLimit)
      return index as number;
    const id = nonEmptyString(event["item_id"]) ?? nonEmptyString(objectOf(event["item"])["id"]);
    for (const [at, item] of this.#items) if (id !== undefined && item.id === id) return at;
    return undefined;
  }

  #nextIndex(): number {
    let last = -1;
    for (const index of this.#items.keys()) last = Math.max(last, index);
    return last + 1;
  }

  #follow(event: ResponsesInput): void {
    const said = this.#items.get(this.#indexOf(event) ?? -1)?.said;
    const delta = nonEmptyString(event["delta"]) ?? "";
    said?.set(event.type, (said.get(event.type) ?? "") + delta);
  }

  #remember(index: number, item: JsonObject): void {
    this.#items.set(index, {
      type: nonEmptyString(item["type"]),
      id: nonEmptyString(item["id"]),
      callId: nonEmptyString(item["call_id"]),
      item,
      said: new Map(),
      done: false,
    });
  }

  #announce(index: number, item: JsonObject, out: ResponsesInput[]): void {
    this.#remember(index, item);
    this.repairs.add("event_completed", `response.output_item.added ${index}`);
    const opening = { ...item, status: "in_progress" };
    out.push(
      this.#numbered({ type: "response.output_item.added", output_index: index, item: opening }),
    );
  }

  #settle(index: number, item: JsonObject): void {
    const known = this.#items.get(index);
    if (known === undefined) return;
    known.item = item;
    known.done = true;
  }

  /** Ends what is open, as the terminal event has it if it does, and adds what only the terminal event has. */
  #end(event: ResponsesInput, out: ResponsesInput[]): void {
    const given = listOf(objectOf(event["response"])["output"]).filter(isObject);
    const passing = [...this.#items].map(([index, item]) => ({ ...item, index }));
    const matches = matchTerminal(passing, given);
    for (const { index, ...item } of passing) {
      if (item.done) continue;
      const at = matches.findIndex((match) => match?.index === index);
      const told = given[at] ?? cutItem(item, event.type === "response.completed");
      this.#finishItem(index, withTextArguments(told), out);
    }
    given.forEach((item, at) => {
      if (matches[at] !== undefined) return;
      const index = this.#nextIndex();
      this.#announce(index, item, out);
      this.#finishItem(index, withTextArguments(item), out);
    });
    this.#state = "ended";
    const status = event.type.slice("response.".length);
    const inOrder = [...this.#items].toSorted(([a], [b]) => a - b);
    const output = inOrder.map(([, { item }]) => item);
    if (given.length === 0 && output.length > 0)
      this.repairs.add("event_completed", `${event.type} output`);
    const response = { ...this.#response, ...objectOf(event["response"]), status, output };
    out.push(this.#numbered({ ...event, response }));
  }

  #finishItem(index: number, item: JsonObject, out: ResponsesInput[]): void {
    this.repairs.add("event_completed", `response.output_item.done ${index}`);
    this.#settle(index, item);
    out.push(this.#numbered({ type: "response.output_item.done", output_index: index, item }));
  }

  #numbered(event: ResponsesInput): ResponsesInput {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return event["sequence_number"] === sequence_number ? event : { ...event, sequence_number };
  }
}

/** The event with these fields; the same object if it has them. */
function withFields(event: ResponsesInput, fields: JsonObject): ResponsesInput {
  const same = Object.entries(fields).every(([name, value]) => event[name] === value);
  return same ? event : { ...event, ...fields };
}

function isTerminal(type: string): boolean {
  return (
    type === "response.completed" ||
    type === "response.incomplete" ||
    type === "response.failed" ||
    type === "response.cancelled"
  );
}

/** Codex drops a call in silence whose arguments are an object. */
function withTextArguments(item: JsonObject): JsonObject {
  const given = item["arguments"];
  if (item["type"] !== "function_call" || typeof given !== "object" || given === null) return item;
  return { ...item, arguments: JSON.stringify(given) };
}
