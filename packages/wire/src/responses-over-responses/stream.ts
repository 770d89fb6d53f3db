import { failureOfEnd } from "../chat-upstream/ending.ts";
import { WireError } from "../error.ts";
import { isDeepEqual, isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ClientTranslator, StreamEnd } from "../machine.ts";
import { finishWithCalls } from "../mapping/finish.ts";
import { reportsError, upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { isToldUsage, isWholeUsage, responseUsage } from "../mapping/usage.ts";
import { UsageEstimate } from "../chat-upstream/usage-estimate.ts";
import { Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type { ResponsesInput } from "../responses-upstream/body.ts";
import { matchTerminal } from "../responses-upstream/terminal-match.ts";
import {
  errorOfEvent,
  listOf,
  objectOf,
  terminalEvent,
  type TerminalType,
} from "../responses-upstream/terminal.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import { cutItem, isRunByClient, markedCall, storedDeltas } from "./cut-item.ts";
import { PassingItems, type PassingItem } from "./items.ts";

export interface ResponsesOverResponsesOptions {
  /** For an upstream that breaks off before it has said an id, and for `begin`. */
  responseId: string;
  /** Seconds since 1970, likewise. */
  createdAt: number;
  /** The name of the model that the client asked for: its name where the upstream gives none. */
  requestedModel?: string;
  /**
   * What becomes of a call that was cut, or that the upstream itself calls incomplete: an item that ends `incomplete`, or
   * no `output_item.done` at all, for clients that run every call they see done and never look at its status.
   */
  cutCalls?: "incomplete" | "withheld";
  /** The tokens of the request, for an upstream that does not tell what the reply cost (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
  /** Limits of the reply. Default: those of `replyLimits`. */
  budget?: ReplyBudget;
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
  /** The upstream itself called a call incomplete. */
  #hasHalfCall = false;
  readonly #budget: ReplyBudget;
  /** The type of the last delta. */
  #deltaType = "";

  constructor(options: ResponsesOverResponsesOptions) {
    this.repairs = options.repairs ?? new Repairs();
    this.#options = options;
    this.#budget = options.budget ?? new ReplyBudget();
    this.#response = {
      id: options.responseId,
      object: "response",
      created_at: options.createdAt,
      status: "in_progress",
      error: null,
      incomplete_details: null,
      model: options.requestedModel ?? "",
      output: [],
      usage: null,
    };
  }

  get progress(): number {
    return this.#budget.progress;
  }

  get usage(): ResponseUsage | null {
    const { usage } = this.#response;
    return isObject(usage) ? responseUsage(usage) : null;
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure;
  }

  /** After an `error` event only `response.failed` is to come. */
  get awaitsEnd(): boolean {
    return this.#state !== "ended" && this.#failure !== undefined;
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

  push(given: ResponsesInput, out: ResponsesInput[]): void {
    if (this.#state === "streaming" && this.#isPlainDelta(given))
      return this.#passDelta(given, out);
    const event = withoutEmptyErrors(this.#withModel(given));
    const type = nonEmptyString(event.type) ?? "";
    if (this.#state === "ended") return this.repairs.add("data_after_end", type);
    const repeated = type === "response.created" && this.#state === "streaming";
    if (type === "error") this.#failure ??= upstreamFailure(errorOfEvent(event));
    else if (!type.startsWith("response.") || repeated)
      return this.repairs.add("event_dropped", type);
    if (isObject(event["response"])) this.#learn(event["response"]);
    if (this.#state !== "streaming" && this.#isSaidByStart(type, out)) return;
    const terminal = type.startsWith("response.") ? terminalEvent(event) : undefined;
    if (terminal !== undefined) return this.#end(terminal, out);
    if (type === "response.output_item.added") return this.#added(event, out);
    if (type === "response.output_item.done") return this.#done(event, out);
    if (storedDeltas.has(type)) return this.#passDelta(event, out);
    const isSilent = type.endsWith(".delta") && nonEmptyString(event["delta"]) === undefined;
    if (!isSilent && !openings.has(type) && type !== "error") this.#budget.addText(0);
    this.#pass(this.#items.of(event), event, out);
  }

  end(how: StreamEnd, out: ResponsesInput[]): void {
    this.fail(failureOfEnd(how), out);
  }

  /** An error that the upstream has reported says more than `failure`. */
  fail(failure: UpstreamFailure, out: ResponsesInput[]): void {
    if (this.#state === "ended") return;
    const { code, message } = this.#failure ?? failure;
    this.#isSaidByStart("", out);
    const response = { ...this.#response, status: "failed", error: { code, message } };
    this.#end({ type: "response.failed", response }, out);
  }

  /** The event with the requested model where its response names none. */
  #withModel(event: ResponsesInput): ResponsesInput {
    const { response } = event;
    const { requestedModel: model } = this.#options;
    if (model === undefined || !isObject(response)) return event;
    if (nonEmptyString(response["model"]) !== undefined) return event;
    return { ...event, response: { ...response, model: this.#response["model"] ?? model } };
  }

  /** True for what nearly every event is: a delta with nothing to mend, of the same type as the last one. */
  #isPlainDelta(event: ResponsesInput): boolean {
    return (
      event.type === this.#deltaType &&
      event["error"] === undefined &&
      event["response"] === undefined
    );
  }

  /** The deltas of an item are stored in case its end does not come. */
  #passDelta(event: ResponsesInput, out: ResponsesInput[]): void {
    const passing = this.#items.of(event);
    const { delta } = event;
    if (typeof delta === "string" && delta !== "") {
      // One string for all events of a type: its hash is computed once.
      if (event.type !== this.#deltaType) this.#deltaType = event.type;
      this.#budget.addText(delta.length);
      passing?.said.set(this.#deltaType, (passing.said.get(this.#deltaType) ?? "") + delta);
    }
    this.#pass(passing, event, out);
  }

  #pass(passing: PassingItem | undefined, event: ResponsesInput, out: ResponsesInput[]): void {
    const moved = passing !== undefined && this.#items.areMoved;
    out.push(this.#numbered(moved ? withFields(event, { output_index: passing.index }) : event));
  }

  /** What an item says that its deltas did not. */
  #countItem(passing: PassingItem, item: JsonObject): void {
    let length = 0;
    for (const text of passing.said.values()) length += text.length;
    if (item !== passing.item) this.#budget.addValue(item);
    this.#budget.addText(Math.max(0, textLength(item) - length));
  }

  #learn(response: JsonObject): void {
    Object.assign(this.#response, response);
    if (Object.keys(this.#response).length > mostFields)
      throw new WireError(
        "reply_too_large",
        `the upstream's response object has more than ${mostFields} fields, which is the limit`,
      );
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
    const { index } = this.#open(event, objectOf(event["item"]));
    out.push(this.#numbered(withFields(event, { output_index: index })));
  }

  #done(event: ResponsesInput, out: ResponsesInput[]): void {
    const item = withTextArguments(objectOf(event["item"]));
    let passing = this.#items.told(event);
    if (passing !== undefined && passing.state !== "open")
      return this.repairs.add("event_dropped", `${event.type} again`);
    const withheld = this.#isWithheld(item, false);
    if (passing === undefined && withheld) passing = this.#open(event, item);
    passing ??= this.#announce(event, item, out);
    this.#items.learn(passing, nonEmptyString(item["id"]));
    this.#countItem(passing, item);
    this.#hasHalfCall ||= isHalfCall(item);
    passing.item = this.#marked(item);
    if (withheld) return this.#withhold(passing);
    passing.state = "done";
    const { index, item: marked } = passing;
    out.push(this.#numbered(withFields(event, { output_index: index, item: marked })));
  }

  #announce(event: JsonObject, item: JsonObject, out: ResponsesInput[]): PassingItem {
    const passing = this.#open(event, item);
    const { index } = passing;
    this.repairs.add("event_completed", `response.output_item.added ${index}`);
    const opening = { ...item, status: "in_progress" };
    out.push(
      this.#numbered({ type: "response.output_item.added", output_index: index, item: opening }),
    );
    return passing;
  }

  #open(event: JsonObject, item: JsonObject): PassingItem {
    this.#budget.addItem();
    this.#budget.addValue(item);
    return this.#items.open(event, item);
  }

  /** Ends what is open, as the terminal event has it if it does, and adds what only the terminal event has. */
  #end(terminal: ResponsesInput & { type: TerminalType }, out: ResponsesInput[]): void {
    const given = listOf(objectOf(terminal["response"])["output"]).filter(isObject);
    const passing = this.#items.inOrder;
    const matches = matchTerminal(passing, given);
    const event = this.#withoutHalfCalls(terminal, passing, given, matches);
    const cut = event.type !== "response.completed";
    const givenFor = new Map(matches.map((item, at) => [item, given[at]]));
    for (const item of passing) {
      if (item.state !== "open") continue;
      const told = givenFor.get(item) ?? cutItem(item, !cut);
      this.#finishItem(item, withTextArguments(told), cut, out);
    }
    given.forEach((item, at) => {
      if (matches[at] !== undefined) return;
      const told = withTextArguments(item);
      const silent = this.#isWithheld(told, cut);
      const late = silent ? this.#open({}, told) : this.#announce({}, item, out);
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
      ...(reportsError(objectOf(event["response"])["error"]) ? {} : { error: null }),
      output,
      ...(usage === undefined ? {} : { usage }),
    };
    this.#failure =
      status === "failed" ? upstreamFailure(this.#response["error"] ?? null) : undefined;
    // The same object if nothing had to change: then its bytes can be relayed, and it repeats all that was said.
    const isUnchanged = isDeepEqual(event["response"], this.#response);
    out.push(this.#numbered(isUnchanged ? event : { ...event, response: this.#response }));
  }

  /** A response with half a call was cut, though the upstream calls it complete. */
  #withoutHalfCalls(
    event: ResponsesInput,
    passing: readonly PassingItem[],
    given: readonly JsonObject[],
    matches: readonly (PassingItem | undefined)[],
  ): ResponsesInput {
    if (event.type !== "response.completed") return event;
    const stated = new Set(matches);
    const half =
      this.#hasHalfCall ||
      given.some(isHalfCall) ||
      passing.some(
        (item) => item.state === "open" && !stated.has(item) && isHalfCall(cutItem(item, true)),
      );
    const any = [...given, ...passing.map(({ item }) => item)].some(isRunByClient);
    const { kind } = finishWithCalls({ kind: "stop" }, { any, half });
    if (kind !== "length") return event;
    this.repairs.add("finish_corrected", event.type);
    const incomplete_details = { reason: "max_output_tokens" };
    const response = { ...objectOf(event["response"]), incomplete_details };
    return { ...event, type: "response.incomplete", response };
  }

  /** The usage as clients can read it, if the upstream's is not that. */
  #mendedUsage({ type }: ResponsesInput): JsonObject | undefined {
    const { usage } = this.#response;
    if (type !== "response.failed" && !isToldUsage(usage)) {
      const estimate = UsageEstimate.of(this.#options, this.repairs);
      for (const { item } of this.#items.inOrder) estimate?.addItem(item);
      const estimated = estimate?.unlessTold(usage);
      if (estimated !== undefined) return { ...estimated };
    }
    if (!isObject(usage) || isWholeUsage(usage)) return undefined;
    this.repairs.add("event_completed", `${type} usage`);
    return { ...usage, ...responseUsage(usage) };
  }

  #finishItem(passing: PassingItem, given: JsonObject, cut: boolean, out: ResponsesInput[]): void {
    this.#countItem(passing, given);
    const item = this.#marked(given);
    passing.item = item;
    if (this.#isWithheld(given, cut)) return this.#withhold(passing);
    const { index: output_index } = passing;
    this.repairs.add("event_completed", `response.output_item.done ${output_index}`);
    passing.state = "done";
    out.push(this.#numbered({ type: "response.output_item.done", output_index, item }));
  }

  #isWithheld(item: JsonObject, cut: boolean): boolean {
    if (this.#options.cutCalls !== "withheld" || !isRunByClient(item)) return false;
    return cut || item["status"] === "incomplete";
  }

  /** Clients that never look at a status tell the model themselves that the arguments are not JSON. */
  #marked(item: JsonObject): JsonObject {
    return this.#options.cutCalls === "withheld" ? item : markedCall(item);
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

/** A response object has about 30 fields. */
const mostFields = 500;

/** Characters of text and arguments in an item. */
function textLength(item: JsonObject): number {
  let length = 0;
  for (const field of ["arguments", "input"] as const)
    if (typeof item[field] === "string") length += item[field].length;
  for (const part of [...listOf(item["content"]), ...listOf(item["summary"])]) {
    const { text, refusal } = objectOf(part);
    if (typeof text === "string") length += text.length;
    if (typeof refusal === "string") length += refusal.length;
  }
  return length;
}

/** The event with these fields; the same object if it has them. */
function withFields(event: ResponsesInput, fields: JsonObject): ResponsesInput {
  const same = Object.entries(fields).every(([name, value]) => event[name] === value);
  return same ? event : { ...event, ...fields };
}

/** True for a call for the client that the upstream calls incomplete. */
function isHalfCall(item: JsonObject): boolean {
  return item["status"] === "incomplete" && isRunByClient(item);
}

/** Clients take any object in `error` for one, also on events that are none. The same event if there is nothing to do. */
function withoutEmptyErrors(event: ResponsesInput): ResponsesInput {
  const { error, response } = event;
  const isEmpty = error !== undefined && !reportsError(error);
  const within = isObject(response) ? response["error"] : null;
  const isEmptyWithin = within !== undefined && within !== null && !reportsError(within);
  if (!isEmpty && !isEmptyWithin) return event;
  const { error: _error, ...rest } = event;
  const clean = isEmpty ? (rest as ResponsesInput) : event;
  return isEmptyWithin ? { ...clean, response: { ...objectOf(response), error: null } } : clean;
}

/** Codex drops a call in silence whose arguments are an object. */
function withTextArguments(item: JsonObject): JsonObject {
  const given = item["arguments"];
  if (item["type"] !== "function_call" || typeof given !== "object" || given === null) return item;
  return { ...item, arguments: JSON.stringify(given) };
}
