import { failureOfEnd } from "../chat-upstream/ending.ts";
import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import type { StreamEnd, StreamMachine } from "../machine.ts";
import { upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { Repairs } from "../repairs.ts";
import type { ResponsesInput } from "../responses-upstream/body.ts";

export interface ResponsesOverResponsesOptions {
  /** For an upstream that breaks off before it has said an id. */
  responseId: string;
  /** Seconds since 1970, likewise. */
  createdAt: number;
  repairs?: Repairs;
}

/**
 * A Responses client on a Responses upstream: the same events, repaired. Event types and fields that we do not know
 * pass; events are numbered densely, the first is `response.created`, there is one terminal event, the last, and its
 * output is what was streamed. What is no event of this wire (keep-alives, `[DONE]`) is dropped.
 */
export class ResponsesOverResponses implements StreamMachine<ResponsesInput, ResponsesInput> {
  readonly repairs: Repairs;
  #state: "new" | "streaming" | "ended" = "new";
  #sequence = 0;
  #response: JsonObject;
  #failure: UpstreamFailure | undefined;
  readonly #open = new Map<number, OpenItem>();
  readonly #done: JsonObject[] = [];

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
    if (this.#state === "ended") return this.repairs.add("data_after_end", event.type);
    if (event.type === "error") this.#failure ??= upstreamFailure(event["error"] ?? event);
    else if (!event.type.startsWith("response."))
      return this.repairs.add("event_dropped", event.type);
    if (isObject(event["response"])) this.#response = { ...this.#response, ...event["response"] };
    this.#start(event.type, out);
    this.#follow(event);
    if (isTerminal(event.type)) this.#end(event, out);
    else out.push(this.#numbered(event));
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

  /** Remembers what is open, and what has been done. */
  #follow(event: ResponsesInput): void {
    const index = event["output_index"];
    if (typeof index !== "number") return;
    if (event.type === "response.output_item.added" && isObject(event["item"]))
      this.#open.set(index, { item: event["item"], text: "" });
    else if (event.type === "response.output_item.done" && isObject(event["item"])) {
      this.#open.delete(index);
      this.#done[index] = event["item"];
    } else if (event.type.endsWith(".delta")) {
      const open = this.#open.get(index);
      if (open !== undefined) open.text += nonEmptyString(event["delta"]) ?? "";
    }
  }

  #end(event: ResponsesInput, out: ResponsesInput[]): void {
    const cut = event.type !== "response.completed";
    for (const [output_index, open] of this.#open) {
      const item = cutItem(open, cut ? "incomplete" : "completed");
      this.repairs.add("event_completed", `response.output_item.done ${output_index}`);
      this.#done[output_index] = item;
      out.push(this.#numbered({ type: "response.output_item.done", output_index, item }));
    }
    this.#state = "ended";
    const response = { ...this.#response, ...objectOf(event["response"]) };
    const given = Array.isArray(response["output"]) ? response["output"] : [];
    const streamed = this.#done.filter((item) => item !== undefined);
    // Where ids change between events, the seal of reasoning belongs to the id with which its item was done.
    if (streamed.length >= given.length && streamed.length > 0) {
      if (given.length === 0) this.repairs.add("event_completed", `${event.type} output`);
      response["output"] = streamed;
    }
    out.push(this.#numbered({ ...event, response }));
  }

  #numbered(event: ResponsesInput): ResponsesInput {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return event["sequence_number"] === sequence_number ? event : { ...event, sequence_number };
  }
}

interface OpenItem {
  item: JsonObject;
  text: string;
}

function isTerminal(type: string): boolean {
  return (
    type === "response.completed" ||
    type === "response.incomplete" ||
    type === "response.failed" ||
    type === "response.cancelled"
  );
}

/** An item whose end never came, with what had come of it. */
function cutItem({ item, text }: OpenItem, status: string): JsonObject {
  const cut: JsonObject = { ...item, status };
  if (text === "") return cut;
  switch (item["type"]) {
    case "function_call":
      return { ...cut, arguments: text };
    case "custom_tool_call":
      return { ...cut, input: text };
    case "message":
      return { ...cut, content: [{ type: "output_text", text, annotations: [], logprobs: [] }] };
    case "reasoning":
      return { ...cut, summary: [{ type: "summary_text", text }] };
    default:
      return cut;
  }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
