import { failureOfEnd } from "../chat-upstream/ending.ts";
import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import type { StreamEnd, StreamMachine } from "../machine.ts";
import { upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { Repairs } from "../repairs.ts";
import type { ResponsesInput } from "../responses-upstream/body.ts";
import { objectOf } from "../responses-upstream/terminal.ts";

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
      this.#open.set(index, { item: event["item"], said: new Map() });
    else if (event.type === "response.output_item.done" && isObject(event["item"])) {
      this.#open.delete(index);
      this.#done[index] = event["item"];
    } else if (event.type.endsWith(".delta")) {
      const said = this.#open.get(index)?.said;
      const delta = nonEmptyString(event["delta"]) ?? "";
      said?.set(event.type, (said.get(event.type) ?? "") + delta);
    }
  }

  #end(event: ResponsesInput, out: ResponsesInput[]): void {
    for (const [output_index, open] of this.#open) {
      const item = cutItem(open, event.type === "response.completed");
      this.repairs.add("event_completed", `response.output_item.done ${output_index}`);
      this.#done[output_index] = item;
      out.push(this.#numbered({ type: "response.output_item.done", output_index, item }));
    }
    this.#state = "ended";
    const status = event.type.slice("response.".length);
    const response: JsonObject = { ...this.#response, ...objectOf(event["response"]), status };
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
  /** What its deltas said, joined, by the type of the event. */
  said: Map<string, string>;
}

function isTerminal(type: string): boolean {
  return (
    type === "response.completed" ||
    type === "response.incomplete" ||
    type === "response.failed" ||
    type === "response.cancelled"
  );
}

/** An item whose end never came, with what had come of it. Half a call is never completed, whatever the reply is. */
function cutItem({ item, said }: OpenItem, completed: boolean): JsonObject {
  const of = (name: string) => said.get(`response.${name}.delta`);
  const cut: JsonObject = { ...item, status: completed ? "completed" : "incomplete" };
  switch (item["type"]) {
    case "function_call": {
      const text = of("function_call_arguments") ?? "";
      return parseJson(text) === undefined
        ? { ...cut, arguments: text, status: "incomplete" }
        : { ...cut, arguments: text };
    }
    case "custom_tool_call":
      return { ...cut, input: of("custom_tool_call_input") ?? "", status: "incomplete" };
    case "message":
      return { ...cut, content: messageParts(of("output_text"), of("refusal")) };
    case "reasoning": {
      const [summary, raw] = [of("reasoning_summary_text"), of("reasoning_text")];
      return {
        ...cut,
        summary: summary === undefined ? [] : [{ type: "summary_text", text: summary }],
        ...(raw === undefined ? {} : { content: [{ type: "reasoning_text", text: raw }] }),
      };
    }
    default:
      return cut;
  }
}

function messageParts(text: string | undefined, refusal: string | undefined): JsonObject[] {
  return [
    ...(text === undefined ? [] : [{ type: "output_text", text, annotations: [], logprobs: [] }]),
    ...(refusal === undefined ? [] : [{ type: "refusal", refusal }]),
  ];
}
