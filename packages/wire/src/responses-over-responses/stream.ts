import { failureOfEnd } from "../chat-upstream/ending.ts";
import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ClientTranslator, StreamEnd } from "../machine.ts";
import { upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { isToldUsage, isWholeUsage, responseUsage } from "../mapping/usage.ts";
import { UsageEstimate } from "../mapping/usage-estimate.ts";
import { Repairs } from "../repairs.ts";
import type { ResponsesInput } from "../responses-upstream/body.ts";
import { matchTerminal } from "../responses-upstream/terminal-match.ts";
import { listOf, objectOf } from "../responses-upstream/terminal.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import { cutItem, isRunByClient } from "./cut-item.ts";
import { PassingItems, type PassingItem } from "./items.ts";

export interface ResponsesOverResponsesOptions {
  /** For an upstream that breaks off before it has said an id, and for `begin`. */
  responseId: string;
  /** Seconds since 1970, likewise. */
  createdAt: number;
  /**
   * What becomes of a call that was cut, or that the upstream itself calls incomplete: an item that ends `incomplete`, or
   * no `output_item.done` at all, for clients that run every call they see done and never look at its status.
   */
  cutCalls?: "incomplete" | "withheld";
  /** The tokens of the request, for an upstream that does not tell what the reply cost (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
  repairs?: Repairs;
}

/**
 * A Responses client on a Responses upstream: the same events, repaired. Event types and fields that we do not know
 * pass; events are numbered densely, the first is `response.created`, every item is added and done under an index of its
 * own, there is one terminal event, the last, and its output is what was streamed. What is no event of this wire is
 * dropped.
 */
export class ResponsesOverResponses implements ClientTranslator<ResponsesInput, ResponsesInput> {
  readonly repairs: Repairs;
  readonly #options: ResponsesOverResponsesOptions;
  /** `begun`: the client has heard of the response, the upstream has said nothing yet. */
  #state: "new" | "begun" | "streaming" | "ended" = "new";
  #sequence = 0;
  #response: JsonObject;
  #failure: UpstreamFailure | undefined;
  readonly #items = new PassingItems();

  constructor(options: ResponsesOverResponsesOptions) {
    this.repairs = options.repairs ?? new Repairs();
    this.#options = options;
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

  get usage(): ResponseUsage | null {
    const { usage } = this.#response;
    return isObject(usage) ? responseUsage(usage) : null;
  }

  begin(out: ResponsesInput[]): void {
    if (this.#state !== "new") return;
    this.#state = "begun";
    out.push(this.#saysInProgress("response.created"));
    out.push(this.#saysInProgress("response.in_progress"));
  }

  keepAlive(out: ResponsesInput[]): void {
    if (this.#state === "new") this.begin(out);
    else if (this.#state !== "ended") out.push(this.#saysInProgress("response.in_progress"));
  }

  push(event: ResponsesInput, out: ResponsesInput[]): void {
    const type = nonEmptyString(event.type) ?? "";
    if (this.#state === "ended") return this.repairs.add("data_after_end", type);
    const repeated = type === "response.created" && this.#state === "streaming";
    if (type === "error") this.#failure ??= upstreamFailure(event["error"] ?? event);
    else if (!type.startsWith("response.") || repeated)
      return this.repairs.add("event_dropped", type);
    if (isObject(event["response"])) this.#response = { ...this.#response, ...event["response"] };
    if (this.#state !== "streaming" && this.#isSaidByStart(type, out)) return;
    if (isTerminal(type)) return this.#end(event, out);
    if (type === "response.output_item.added") return this.#added(event, out);
    if (type === "response.output_item.done") return this.#done(event, out);
    const passing = this.#items.of(event);
    if (passing !== undefined && type.endsWith(".delta")) follow(passing, event);
    const moved = passing !== undefined && this.#items.areMoved;
    out.push(this.#numbered(moved ? withFields(event, { output_index: passing.index }) : event));
  }

  end(how: StreamEnd, out: ResponsesInput[]): void {
    if (this.#state === "ended") return;
    const { code, message } = this.#failure ?? failureOfEnd(how);
    this.#isSaidByStart("", out);
    const response = { ...this.#response, status: "failed", error: { code, message } };
    this.#end({ type: "response.failed", response }, out);
  }

  /** Makes sure that the response has begun; true for an event that says no more than that, if `begin` has said it. */
  #isSaidByStart(type: string, out: ResponsesInput[]): boolean {
    const opens = openings.has(type);
    if (this.#state === "begun" && opens) return true;
    const begun = this.#state !== "new";
    this.#state = "streaming";
    if (begun || type === "response.created") return false;
    this.repairs.add("event_completed", "response.created");
    out.push(this.#saysInProgress("response.created"));
    if (!opens) out.push(this.#saysInProgress("response.in_progress"));
    return false;
  }

  #saysInProgress(type: "response.created" | "response.in_progress"): ResponsesInput {
    const response = { ...this.#response, status: "in_progress", output: [], usage: null };
    return this.#numbered({ type, response });
  }

  #added(event: ResponsesInput, out: ResponsesInput[]): void {
    if (this.#items.told(event) !== undefined)
      return this.repairs.add("event_dropped", `${event.type} again`);
    const { index } = this.#items.open(event, objectOf(event["item"]));
    out.push(this.#numbered(withFields(event, { output_index: index })));
  }

  #done(event: ResponsesInput, out: ResponsesInput[]): void {
    const item = withTextArguments(objectOf(event["item"]));
    let passing = this.#items.told(event);
    if (passing !== undefined && passing.state !== "open")
      return this.repairs.add("event_dropped", `${event.type} again`);
    const withheld = this.#isWithheld(item, false);
    if (passing === undefined && withheld) passing = this.#items.open(event, item);
    passing ??= this.#announce(event, item, out);
    this.#items.learn(passing, nonEmptyString(item["id"]));
    passing.item = item;
    if (withheld) return this.#withhold(passing);
    passing.state = "done";
    out.push(this.#numbered(withFields(event, { output_index: passing.index, item })));
  }

  #announce(event: JsonObject, item: JsonObject, out: ResponsesInput[]): PassingItem {
    const passing = this.#items.open(event, item);
    const { index } = passing;
    this.repairs.add("event_completed", `response.output_item.added ${index}`);
    const opening = { ...item, status: "in_progress" };
    out.push(
      this.#numbered({ type: "response.output_item.added", output_index: index, item: opening }),
    );
    return passing;
  }

  /** Ends what is open, as the terminal event has it if it does, and adds what only the terminal event has. */
  #end(event: ResponsesInput, out: ResponsesInput[]): void {
    const cut = event.type !== "response.completed";
    const given = listOf(objectOf(event["response"])["output"]).filter(isObject);
    const passing = this.#items.inOrder;
    const matches = matchTerminal(passing, given);
    for (const item of passing) {
      if (item.state !== "open") continue;
      const told = given[matches.indexOf(item)] ?? cutItem(item, !cut);
      this.#finishItem(item, withTextArguments(told), cut, out);
    }
    given.forEach((item, at) => {
      if (matches[at] !== undefined) return;
      const told = withTextArguments(item);
      const silent = this.#isWithheld(told, cut);
      const late = silent ? this.#items.open({}, told) : this.#announce({}, item, out);
      this.#finishItem(late, told, cut, out);
    });
    this.#state = "ended";
    const status = event.type.slice("response.".length);
    const output = this.#items.inOrder
      .filter(({ state }) => state === "done")
      .map(({ item }) => item);
    if (given.length === 0 && output.length > 0)
      this.repairs.add("event_completed", `${event.type} output`);
    const usage = this.#mendedUsage(event);
    this.#response = {
      ...this.#response,
      ...objectOf(event["response"]),
      status,
      output,
      ...(usage === undefined ? {} : { usage }),
    };
    out.push(this.#numbered({ ...event, response: this.#response }));
  }

  /** The usage as clients can read it, if the upstream's is not that. */
  #mendedUsage({ type }: ResponsesInput): JsonObject | undefined {
    const { usage } = this.#response;
    const finished = type === "response.completed" || type === "response.incomplete";
    if (finished && !isToldUsage(usage)) {
      const estimate = UsageEstimate.of(this.#options, this.repairs);
      for (const { item } of this.#items.inOrder) estimate?.addItem(item);
      const estimated = estimate?.unlessTold(usage);
      if (estimated !== undefined) return { ...estimated };
    }
    if (!isObject(usage) || isWholeUsage(usage)) return undefined;
    this.repairs.add("event_completed", `${type} usage`);
    return { ...usage, ...responseUsage(usage) };
  }

  #finishItem(passing: PassingItem, item: JsonObject, cut: boolean, out: ResponsesInput[]): void {
    passing.item = item;
    if (this.#isWithheld(item, cut)) return this.#withhold(passing);
    const { index: output_index } = passing;
    this.repairs.add("event_completed", `response.output_item.done ${output_index}`);
    passing.state = "done";
    out.push(this.#numbered({ type: "response.output_item.done", output_index, item }));
  }

  #isWithheld(item: JsonObject, cut: boolean): boolean {
    if (this.#options.cutCalls !== "withheld" || !isRunByClient(item)) return false;
    return cut || item["status"] === "incomplete";
  }

  #withhold(passing: PassingItem): void {
    passing.state = "withheld";
    const name = nonEmptyString(passing.item["name"]) ?? passing.type ?? "";
    this.repairs.add("call_withheld", name);
  }

  #numbered(event: ResponsesInput): ResponsesInput {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return event["sequence_number"] === sequence_number ? event : { ...event, sequence_number };
  }
}

/** Events that only say that the response has begun. */
const openings = new Set(["response.created", "response.queued", "response.in_progress"]);

function follow({ said }: PassingItem, event: ResponsesInput): void {
  const delta = nonEmptyString(event["delta"]) ?? "";
  said.set(event.type, (said.get(event.type) ?? "") + delta);
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
