import { failureFromStreamEnd } from "../stream-end-failure.ts";
import { WireError } from "../error.ts";
import { isDeepEqual, isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ClientTranslator, StreamEndReason } from "../stream-machine.ts";
import { resolveFinish } from "../mapping/resolve-finish.ts";
import { completeResponse } from "../mapping/response-resource.ts";
import {
  isErrorValue,
  parseUpstreamFailure,
  type UpstreamFailure,
} from "../mapping/upstream-error.ts";
import { isReportedUsage, isCompleteUsage, toResponseUsage } from "../mapping/usage.ts";
import { UsageEstimator } from "../reply/usage-estimator.ts";
import { Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type { UpstreamResponseEvent } from "../responses-upstream/body.ts";
import { matchTerminalItems } from "../responses-upstream/match-terminal-items.ts";
import {
  getEventError,
  asArray,
  asObject,
  normalizeTerminalEvent,
  type TerminalEventType,
} from "../responses-upstream/terminal-event.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import { createNotAllowedFailure, type AllowedTools } from "../tools/allowed-tools.ts";
import {
  buildTruncatedItem,
  isClientCall,
  markInvalidCall,
  storedDeltaTypes,
} from "./truncated-item.ts";
import { PassthroughItems, type PassthroughItem } from "./passthrough-items.ts";

export interface ResponsesOverResponsesOptions {
  /** Id of the response, for `begin` and for an upstream that fails before it sends one. */
  responseId: string;
  /** Creation time in seconds since 1970, for the same cases. */
  createdAt: number;
  /** Model name of the request, used if the upstream sends none. */
  requestedModel?: string;
  /**
   * Returns the request fields that the response object echoes where the upstream omits them (`buildRequestEcho`). Default: those of an empty request.
   */
  getEcho?: () => JsonObject;
  /** Returns the current time in seconds since 1970, for a missing `completed_at`. Default: `createdAt`. */
  getTime?: () => number;
  /**
   * How calls are sent that were truncated or that the upstream marks as incomplete. `incomplete` (default): as items with
   * that status. `withheld`: without `output_item.done`, for clients that run every finished item and ignore its status.
   */
  truncatedCalls?: "incomplete" | "withheld";
  /** Withholds calls of other tools. Default: all calls are sent. */
  allowedTools?: AllowedTools | undefined;
  /** Estimates the input tokens, for upstreams that report no usage (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
  /** Enforces limits on the reply. Default: a new budget with `defaultReplyLimits`. */
  budget?: ReplyBudget;
  repairs?: Repairs;
}

/**
 * Serves a Responses client from a Responses upstream: the same events, repaired. Unknown event types and fields pass
 * through. Events are numbered without gaps, the first is `response.created`, every item has an `added` and a `done` event
 * with a unique index, and only the last event is terminal; its output equals the streamed items. Anything that is not an
 * event of the Responses API is dropped.
 */
export class ResponsesOverResponses implements ClientTranslator<
  UpstreamResponseEvent,
  UpstreamResponseEvent
> {
  readonly repairs: Repairs;
  readonly #options: ResponsesOverResponsesOptions;
  /** `begun`: `response.created` was sent, but the upstream has not sent any event. */
  #state: "new" | "begun" | "streaming" | "ended" = "new";
  #nextSequenceNumber = 0;
  #response: JsonObject;
  /** True once the fields that the upstream omits have been recorded as a repair. */
  #hasRecordedFields = false;
  #failure: UpstreamFailure | undefined;
  readonly #items = new PassthroughItems();
  /** The name of the first call that is not allowed. */
  #notAllowedName: string | undefined;
  /** True if the upstream marked a call as incomplete. */
  #hasIncompleteCall = false;
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
    return isObject(usage) ? toResponseUsage(usage) : null;
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure;
  }

  /** True after an `error` event: only `response.failed` may follow. */
  get awaitsEnd(): boolean {
    return this.#state !== "ended" && this.#failure !== undefined;
  }

  begin(out: UpstreamResponseEvent[]): void {
    if (this.#state !== "new") return;
    this.#state = "begun";
    out.push(this.#buildProgressEvent("response.created"));
    out.push(this.#buildProgressEvent("response.in_progress"));
  }

  keepAlive(out: UpstreamResponseEvent[]): void {
    if (this.#state === "new") this.begin(out);
    else if (this.#state !== "ended") out.push(this.#buildProgressEvent("response.in_progress"));
  }

  push(receivedEvent: UpstreamResponseEvent, out: UpstreamResponseEvent[]): void {
    if (this.#state === "streaming" && this.#isPlainDelta(receivedEvent))
      return this.#forwardDelta(receivedEvent, out);
    const event = this.#withCompleteResponse(withoutEmptyErrors(receivedEvent));
    const type = nonEmptyString(event.type) ?? "";
    if (this.#state === "ended") return this.repairs.add("data_after_end", type);
    const isRepeated = type === "response.created" && this.#state === "streaming";
    if (type === "error") this.#failure ??= parseUpstreamFailure(getEventError(event));
    else if (!type.startsWith("response.") || isRepeated)
      return this.repairs.add("event_dropped", type);
    if (isObject(event["response"])) this.#mergeResponse(event["response"]);
    if (this.#state !== "streaming" && this.#handleOpening(type, out)) return;
    const terminal = type.startsWith("response.") ? normalizeTerminalEvent(event) : undefined;
    if (terminal !== undefined) return this.#finish(terminal, out);
    if (type === "response.output_item.added") return this.#handleItemAdded(event, out);
    if (type === "response.output_item.done") return this.#handleItemDone(event, out);
    if (storedDeltaTypes.has(type)) return this.#forwardDelta(event, out);
    const isEmptyDelta = type.endsWith(".delta") && nonEmptyString(event["delta"]) === undefined;
    // Other events with content only count as progress.
    if (!isEmptyDelta && !openingEventTypes.has(type) && type !== "error") this.#budget.addText(0);
    this.#forward(this.#items.findByDelta(event), event, out);
  }

  end(reason: StreamEndReason, out: UpstreamResponseEvent[]): void {
    this.fail(failureFromStreamEnd(reason), out);
  }

  /** Fails the response. An error that the upstream reported takes precedence over `failure`. */
  fail(failure: UpstreamFailure, out: UpstreamResponseEvent[]): void {
    if (this.#state === "ended") return;
    const { code, message } = this.#failure ?? failure;
    this.#handleOpening("", out);
    const failed = { ...this.#response, status: "failed", error: { code, message } };
    const response = this.#completeResponse(failed, "response.failed", []);
    this.#finish({ type: "response.failed", response }, out);
  }

  /** Adds the model and the required fields that the response of the event lacks. */
  #withCompleteResponse(event: UpstreamResponseEvent): UpstreamResponseEvent {
    if (!isObject(event["response"])) return event;
    const added: string[] = [];
    const response = this.#completeResponse(event["response"], event.type, added);
    if (added.length > 0 && !this.#hasRecordedFields) {
      this.#hasRecordedFields = true;
      this.repairs.add("response_completed", added.join(", "));
    }
    return response === event["response"] ? event : { ...event, response };
  }

  #completeResponse(response: JsonObject, type: string, added: string[]): JsonObject {
    const { getEcho, getTime, createdAt } = this.#options;
    const completed = completeResponse(
      response,
      () => ({
        ...getEcho?.(),
        ...this.#response,
        ...(type === "response.completed" ? { completed_at: getTime?.() ?? createdAt } : {}),
      }),
      added,
    );
    if (!openingEventTypes.has(type) || (completed["status"] && completed["output"]))
      return completed;
    added.push("status, output");
    const status = type === "response.queued" ? "queued" : "in_progress";
    return { ...completed, status: completed["status"] ?? status, output: [] };
  }

  /** True for the most frequent event: a delta of the same type as the last one, without fields that need a repair. */
  #isPlainDelta(event: UpstreamResponseEvent): boolean {
    return (
      event.type === this.#deltaType &&
      event["error"] === undefined &&
      event["response"] === undefined
    );
  }

  /** Stores the deltas of an item in case its `done` event never arrives. */
  #forwardDelta(event: UpstreamResponseEvent, out: UpstreamResponseEvent[]): void {
    const passthroughItem = this.#items.findByDelta(event);
    const { delta } = event;
    if (typeof delta === "string" && delta !== "") {
      // One string object for all events of a type, so that its hash is computed once.
      if (event.type !== this.#deltaType) this.#deltaType = event.type;
      this.#budget.addText(delta.length);
      passthroughItem?.deltaTexts.set(
        this.#deltaType,
        (passthroughItem.deltaTexts.get(this.#deltaType) ?? "") + delta,
      );
    }
    this.#forward(passthroughItem, event, out);
  }

  #forward(
    passthroughItem: PassthroughItem | undefined,
    event: UpstreamResponseEvent,
    out: UpstreamResponseEvent[],
  ): void {
    if (passthroughItem?.state === "withheld") return;
    const isMoved = passthroughItem !== undefined && this.#items.hasMovedItems;
    out.push(
      this.#withSequenceNumber(
        isMoved ? withFields(event, { output_index: passthroughItem.index }) : event,
      ),
    );
  }

  /** Counts the text of an item that its deltas did not contain. */
  #countItem(passthroughItem: PassthroughItem, item: JsonObject): void {
    let length = 0;
    for (const text of passthroughItem.deltaTexts.values()) length += text.length;
    if (item !== passthroughItem.item) this.#budget.addValue(item);
    this.#budget.addText(Math.max(0, countTextLength(item) - length));
  }

  #mergeResponse(response: JsonObject): void {
    Object.assign(this.#response, response);
    if (Object.keys(this.#response).length > maxResponseFields)
      throw new WireError(
        "reply_too_large",
        `the upstream's response object exceeds the limit of ${maxResponseFields} fields`,
      );
  }

  /** Ensures that the response has begun. True for an opening event that repeats what `begin` sent. */
  #handleOpening(type: string, out: UpstreamResponseEvent[]): boolean {
    const isOpening = openingEventTypes.has(type);
    if (this.#state === "begun" && isOpening) return true;
    const hasBegun = this.#state !== "new";
    this.#state = "streaming";
    if (hasBegun || type === "response.created") return false;
    this.repairs.add("event_completed", "response.created");
    out.push(this.#buildProgressEvent("response.created"));
    if (!isOpening) out.push(this.#buildProgressEvent("response.in_progress"));
    return false;
  }

  #buildProgressEvent(type: "response.created" | "response.in_progress"): UpstreamResponseEvent {
    const progress = { ...this.#response, status: "in_progress", output: [], usage: null };
    const response = this.#completeResponse(progress, type, []);
    return this.#withSequenceNumber({ type, response });
  }

  #handleItemAdded(event: UpstreamResponseEvent, out: UpstreamResponseEvent[]): void {
    if (this.#items.findByItemEvent(event) !== undefined)
      return this.repairs.add("event_dropped", `${event.type} again`);
    const passthroughItem = this.#openItem(event, withoutNullSeal(asObject(event["item"])));
    const { index, item } = passthroughItem;
    if (!this.#isAllowed(item)) return this.#withhold(passthroughItem);
    out.push(this.#withSequenceNumber(withFields(event, { output_index: index, item })));
  }

  #handleItemDone(event: UpstreamResponseEvent, out: UpstreamResponseEvent[]): void {
    const item = withStringArguments(withoutNullSeal(asObject(event["item"])));
    let passthroughItem = this.#items.findByItemEvent(event);
    if (passthroughItem?.state === "withheld") return;
    if (passthroughItem !== undefined && passthroughItem.state !== "open")
      return this.repairs.add("event_dropped", `${event.type} again`);
    const isWithheld = this.#isWithheld(item, false);
    if (passthroughItem === undefined && isWithheld) passthroughItem = this.#openItem(event, item);
    passthroughItem ??= this.#emitItemAdded(event, item, out);
    this.#items.addId(passthroughItem, nonEmptyString(item["id"]));
    this.#countItem(passthroughItem, item);
    this.#hasIncompleteCall ||= isIncompleteCall(item);
    passthroughItem.item = this.#markCall(item);
    if (isWithheld) return this.#withhold(passthroughItem);
    passthroughItem.state = "done";
    const { index, item: markedItem } = passthroughItem;
    out.push(
      this.#withSequenceNumber(withFields(event, { output_index: index, item: markedItem })),
    );
  }

  #emitItemAdded(
    event: JsonObject,
    item: JsonObject,
    out: UpstreamResponseEvent[],
  ): PassthroughItem {
    const passthroughItem = this.#openItem(event, item);
    const { index } = passthroughItem;
    this.repairs.add("event_completed", `response.output_item.added ${index}`);
    const opening = { ...item, status: "in_progress" };
    out.push(
      this.#withSequenceNumber({
        type: "response.output_item.added",
        output_index: index,
        item: opening,
      }),
    );
    return passthroughItem;
  }

  #openItem(event: JsonObject, item: JsonObject): PassthroughItem {
    this.#budget.addItem();
    this.#budget.addValue(item);
    return this.#items.open(event, item);
  }

  /**
   * Ends open items (with their content from the terminal event, if it includes them), adds items that only the terminal
   * event has, and emits the terminal event.
   */
  #finish(
    terminal: UpstreamResponseEvent & { type: TerminalEventType },
    out: UpstreamResponseEvent[],
  ): void {
    const receivedItems = asArray(asObject(terminal["response"])["output"])
      .filter(isObject)
      .map(withoutNullSeal);
    const passthroughItems = this.#items.sortedItems;
    const matches = matchTerminalItems(passthroughItems, receivedItems);
    let event = this.#correctIncompleteCalls(terminal, passthroughItems, receivedItems, matches);
    const isTruncated = event.type !== "response.completed";
    const terminalItemByItem = new Map(matches.map((item, index) => [item, receivedItems[index]]));
    for (const item of passthroughItems) {
      if (item.state !== "open") continue;
      const finalItem = terminalItemByItem.get(item) ?? buildTruncatedItem(item, !isTruncated);
      this.#finishItem(item, withStringArguments(finalItem), isTruncated, out);
    }
    receivedItems.forEach((item, index) => {
      if (matches[index] !== undefined) return;
      const finalItem = withStringArguments(item);
      const isWithheld = this.#isWithheld(finalItem, isTruncated);
      const lateItem = isWithheld
        ? this.#openItem({}, finalItem)
        : this.#emitItemAdded({}, item, out);
      this.#finishItem(lateItem, finalItem, isTruncated, out);
    });
    this.#state = "ended";
    const output = this.#items.sortedItems
      .filter(({ state }) => state === "done")
      .map(({ item }) => item);
    if (receivedItems.length === 0 && output.length > 0)
      this.repairs.add("event_completed", `${event.type} output`);
    if (this.#notAllowedName !== undefined && event.type === "response.completed")
      event = failIfOnlyReasoning(event, output, this.#notAllowedName);
    const status = event.type.slice("response.".length);
    const usage = this.#repairUsage(event);
    this.#response = {
      ...this.#response,
      ...asObject(event["response"]),
      status,
      ...(isErrorValue(asObject(event["response"])["error"]) ? {} : { error: null }),
      output,
      ...(usage === undefined ? {} : { usage }),
    };
    this.#failure =
      status === "failed" ? parseUpstreamFailure(this.#response["error"] ?? null) : undefined;
    // An unchanged event is emitted as the same object, so that its bytes can be forwarded.
    const isUnchanged = isDeepEqual(event["response"], this.#response);
    out.push(
      this.#withSequenceNumber(isUnchanged ? event : { ...event, response: this.#response }),
    );
  }

  /** Marks a response with an incomplete call as truncated, even if the upstream reports it as completed. */
  #correctIncompleteCalls(
    event: UpstreamResponseEvent,
    passthroughItems: readonly PassthroughItem[],
    receivedItems: readonly JsonObject[],
    matches: readonly (PassthroughItem | undefined)[],
  ): UpstreamResponseEvent {
    if (event.type !== "response.completed") return event;
    const matchedItems = new Set(matches);
    const hasIncompleteCall =
      this.#hasIncompleteCall ||
      receivedItems.some(isIncompleteCall) ||
      passthroughItems.some(
        (item) =>
          item.state === "open" &&
          !matchedItems.has(item) &&
          isIncompleteCall(buildTruncatedItem(item, true)),
      );
    const hasCalls = [...receivedItems, ...passthroughItems.map(({ item }) => item)].some(
      isClientCall,
    );
    const { kind } = resolveFinish({ kind: "stop" }, { hasCalls, hasIncompleteCall });
    if (kind !== "length") return event;
    this.repairs.add("finish_corrected", event.type);
    const incomplete_details = { reason: "max_output_tokens" };
    const response = { ...asObject(event["response"]), incomplete_details };
    return { ...event, type: "response.incomplete", response };
  }

  /** Returns the usage in a valid form; undefined if the upstream's is valid. */
  #repairUsage({ type }: UpstreamResponseEvent): JsonObject | undefined {
    const { usage } = this.#response;
    if (type !== "response.failed" && !isReportedUsage(usage)) {
      const estimate = UsageEstimator.create(this.#options, this.repairs);
      for (const { item } of this.#items.sortedItems) estimate?.addItem(item);
      const estimated = estimate?.estimateUnlessReported(usage);
      if (estimated !== undefined) return { ...estimated };
    }
    if (!isObject(usage) || isCompleteUsage(usage)) return undefined;
    this.repairs.add("event_completed", `${type} usage`);
    return { ...usage, ...toResponseUsage(usage) };
  }

  #finishItem(
    passthroughItem: PassthroughItem,
    receivedItem: JsonObject,
    isTruncated: boolean,
    out: UpstreamResponseEvent[],
  ): void {
    this.#countItem(passthroughItem, receivedItem);
    const item = this.#markCall(receivedItem);
    passthroughItem.item = item;
    if (this.#isWithheld(receivedItem, isTruncated)) return this.#withhold(passthroughItem);
    const { index: output_index } = passthroughItem;
    this.repairs.add("event_completed", `response.output_item.done ${output_index}`);
    passthroughItem.state = "done";
    out.push(this.#withSequenceNumber({ type: "response.output_item.done", output_index, item }));
  }

  #isWithheld(item: JsonObject, isTruncated: boolean): boolean {
    if (!this.#isAllowed(item)) return true;
    if (this.#options.truncatedCalls !== "withheld" || !isClientCall(item)) return false;
    return isTruncated || item["status"] === "incomplete";
  }

  #isAllowed(item: JsonObject): boolean {
    return this.#options.allowedTools?.allowsItem(item) ?? true;
  }

  /** Marks calls with invalid arguments, except for clients that ignore the status and report invalid JSON to the model. */
  #markCall(item: JsonObject): JsonObject {
    return this.#options.truncatedCalls === "withheld" ? item : markInvalidCall(item);
  }

  #withhold(passthroughItem: PassthroughItem): void {
    passthroughItem.state = "withheld";
    const name = nonEmptyString(passthroughItem.item["name"]) ?? passthroughItem.type ?? "";
    if (this.#isAllowed(passthroughItem.item)) return this.repairs.add("call_withheld", name);
    this.repairs.add("call_withheld", `${name}: not in allowed_tools`);
    this.#notAllowedName ??= name;
  }

  #withSequenceNumber(event: UpstreamResponseEvent): UpstreamResponseEvent {
    const sequence_number = this.#nextSequenceNumber;
    this.#nextSequenceNumber += 1;
    return event["sequence_number"] === sequence_number ? event : { ...event, sequence_number };
  }
}

/** Events that only announce the response. */
const openingEventTypes = new Set(["response.created", "response.queued", "response.in_progress"]);

/** A normal response object has about 30 fields. */
const maxResponseFields = 500;

/** Fails a response of which nothing is left but reasoning, because its calls are not allowed. */
function failIfOnlyReasoning(
  event: UpstreamResponseEvent,
  output: readonly JsonObject[],
  name: string,
): UpstreamResponseEvent {
  if (output.some(({ type }) => type !== "reasoning")) return event;
  const { code, message } = createNotAllowedFailure(name);
  const response = { ...asObject(event["response"]), completed_at: null, error: { code, message } };
  return { ...event, type: "response.failed", response };
}

/** Counts the characters of text and arguments in an item. */
function countTextLength(item: JsonObject): number {
  let length = 0;
  for (const field of ["arguments", "input"] as const)
    if (typeof item[field] === "string") length += item[field].length;
  for (const part of [...asArray(item["content"]), ...asArray(item["summary"])]) {
    const { text, refusal } = asObject(part);
    if (typeof text === "string") length += text.length;
    if (typeof refusal === "string") length += refusal.length;
  }
  return length;
}

/** Sets fields of an event. Returns the same object if nothing changes. */
function withFields(event: UpstreamResponseEvent, fields: JsonObject): UpstreamResponseEvent {
  const isUnchanged = Object.entries(fields).every(([name, value]) => event[name] === value);
  return isUnchanged ? event : { ...event, ...fields };
}

/** True for a client tool call that the upstream marks as incomplete. */
function isIncompleteCall(item: JsonObject): boolean {
  return item["status"] === "incomplete" && isClientCall(item);
}

/** Removes empty `error` objects, which some clients treat as errors. Returns the same event if there are none. */
function withoutEmptyErrors(event: UpstreamResponseEvent): UpstreamResponseEvent {
  const { error, response } = event;
  const isErrorEmpty = error !== undefined && !isErrorValue(error);
  const responseError = isObject(response) ? response["error"] : null;
  const isResponseErrorEmpty =
    responseError !== undefined && responseError !== null && !isErrorValue(responseError);
  if (!isErrorEmpty && !isResponseErrorEmpty) return event;
  const { error: _error, ...rest } = event;
  const withoutError = isErrorEmpty ? (rest as UpstreamResponseEvent) : event;
  return isResponseErrorEmpty
    ? { ...withoutError, response: { ...asObject(response), error: null } }
    : withoutError;
}

/** Removes a null `encrypted_content` (Copilot), which the specification allows only as a string. */
function withoutNullSeal(item: JsonObject): JsonObject {
  if (item["encrypted_content"] !== null) return item;
  const { encrypted_content: _none, ...rest } = item;
  return rest;
}

/** Stringifies arguments: Codex silently drops a call whose arguments are an object. */
function withStringArguments(item: JsonObject): JsonObject {
  const receivedArguments = item["arguments"];
  if (
    item["type"] !== "function_call" ||
    typeof receivedArguments !== "object" ||
    receivedArguments === null
  )
    return item;
  return { ...item, arguments: JSON.stringify(receivedArguments) };
}
