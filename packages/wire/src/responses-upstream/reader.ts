import type { Piece } from "../chat-upstream/choice.ts";
import { LeakedCalls, type LeakPiece } from "../chat-upstream/leaked-calls.ts";
import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import { finishWithCalls, isCut, stronger, type Finish } from "../mapping/finish.ts";
import { upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import type { ReplyFlags } from "../profiles.ts";
import type { RepairCode, Repairs } from "../repairs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import { ToolCallAssembler } from "../tools/assembler.ts";
import type { ResponsesInput } from "./body.ts";
import { PassingItems, type PassingItem } from "./passing-items.ts";
import {
  errorOfEvent,
  finishOf,
  listOf,
  objectOf,
  terminalEvent,
  type TerminalType,
} from "./terminal.ts";
import { matchTerminal } from "./terminal-match.ts";

/** What a response said, in order; beside what a Chat choice can say, pictures and reasoning under seal. */
export type ResponsePiece =
  | Piece
  | { type: "reasoning.encrypted"; id: string | undefined; data: string };

export interface ResponseReaderOptions {
  repairs: Repairs;
  /** The tools that were offered; a custom call of another name was run by the upstream itself (xAI's x_search). */
  toolNames: ReadonlySet<string>;
  /** Call ids of the history, which no new call may have again. */
  usedCallIds: ReadonlySet<string>;
  /** Their parameters, by name: some models write calls whose values have no type of their own. */
  toolSchemas: ReadonlyMap<string, JsonObject>;
  newId: (prefix: string) => string;
  profile: ReplyFlags;
  budget: ReplyBudget;
}

/** Reads a Responses upstream's events: the inbound normaliser of that wire, as `ChoiceReader` is of the other. */
export class ResponseReader {
  /** The fields of the response that are read, as the last event has them. */
  readonly response: JsonObject = {};
  usage: JsonObject | undefined;
  readonly #options: ResponseReaderOptions;
  readonly #items: PassingItems;
  readonly #budget: ReplyBudget;
  readonly #calls: ToolCallAssembler;
  readonly #leaks: LeakedCalls | undefined;
  #finish: Finish | undefined;
  #callCount = 0;
  #hadCalls = false;
  #hasHalfCall = false;

  constructor(options: ResponseReaderOptions) {
    this.#options = options;
    const {
      toolNames: names,
      toolSchemas: schemas,
      usedCallIds,
      repairs,
      profile,
      budget,
    } = options;
    this.#budget = budget;
    this.#items = new PassingItems(budget);
    const newCallId = () => options.newId("call");
    this.#calls = new ToolCallAssembler({
      choice: 0,
      repairs,
      newCallId,
      toolNames: names,
      usedCallIds,
      budget,
    });
    if (profile.leakedCalls.length > 0)
      this.#leaks = new LeakedCalls(profile.leakedCalls, { names, schemas });
  }

  /** Whether there are calls is seen from the calls (decision 5). */
  get finish(): Finish | undefined {
    const any = this.#hadCalls || this.#calls.hasCalls;
    return this.#finish && finishWithCalls(this.#finish, { any, half: this.#hasHalfCall });
  }

  fail(failure: UpstreamFailure): void {
    this.#finish = stronger(this.#finish, { kind: "failed", ...failure });
  }

  read(event: ResponsesInput, out: ResponsePiece[]): void {
    if (this.#leaks === undefined) return this.#read(event, out);
    const said: ResponsePiece[] = [];
    this.#read(event, said);
    const leaked: LeakPiece[] = [];
    for (const piece of said)
      if (piece.type !== "text") out.push(piece);
      else {
        this.#leaks.push(piece.text, leaked);
        this.#putLeaked(leaked.splice(0), out);
      }
  }

  /** A call that the upstream's own parser missed, and let through as text. */
  #putLeaked(pieces: readonly LeakPiece[], out: ResponsePiece[]): void {
    for (const piece of pieces) {
      if (piece.type === "text") {
        out.push(textPiece(piece.text));
        continue;
      }
      this.#repair("call_leaked", piece.words);
      this.#calls.pushLeaked(piece.call, out);
    }
  }

  #read(event: ResponsesInput, out: ResponsePiece[]): void {
    switch (event.type) {
      case "response.output_item.added":
        return this.#added(event, out);
      case "response.output_item.done":
        return this.#done(this.#items.told(event), objectOf(event["item"]), out);
      case "response.output_text.delta":
        return this.#delta(event, `text ${partOf(event)}`, out, (text) => ({
          type: "text",
          text,
          logprobs: listOf(event["logprobs"]),
        }));
      case "response.output_text.done":
        return this.#rest(
          this.#items.of(event),
          `text ${partOf(event)}`,
          event["text"],
          out,
          textPiece,
        );
      case "response.output_text.annotation.added":
        return this.#annotation(this.#items.of(event), event["annotation"], out);
      case "response.refusal.delta":
        return this.#delta(event, `refusal ${partOf(event)}`, out, refusalPiece);
      case "response.refusal.done":
        return this.#rest(
          this.#items.of(event),
          `refusal ${partOf(event)}`,
          event["refusal"],
          out,
          refusalPiece,
        );
      case "response.reasoning_summary_text.delta":
        return this.#summary(event, event["delta"], out);
      case "response.reasoning_summary_text.done":
        if (this.#items.of(event).reasoningForm === "reasoning") return;
        return this.#rest(
          this.#items.of(event),
          `summary ${summaryOf(event)}`,
          event["text"],
          out,
          reasoningPiece,
        );
      case "response.reasoning_text.delta":
        if (this.#items.of(event).reasoningForm === "summary") return;
        return this.#delta(event, `reasoning ${partOf(event)}`, out, reasoningPiece);
      case "response.reasoning_text.done":
        if (this.#items.of(event).reasoningForm === "summary") return;
        return this.#rest(
          this.#items.of(event),
          `reasoning ${partOf(event)}`,
          event["text"],
          out,
          reasoningPiece,
        );
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#callDelta(this.#items.of(event), event["delta"], out);
      case "response.function_call_arguments.done":
        return this.#callRest(this.#items.of(event), event["arguments"], out);
      case "response.custom_tool_call_input.done":
        return this.#callRest(this.#items.of(event), event["input"], out);
      case "response.audio.delta":
        return this.#audio(event["delta"], undefined, out);
      case "response.audio.transcript.delta":
        return this.#audio(undefined, event["delta"], out);
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        this.#learn(objectOf(event["response"]));
        return;
      case "error":
        return this.#error(errorOfEvent(event));
      default: {
        const terminal = terminalEvent(event);
        if (terminal !== undefined) return this.#terminal(terminal, out);
        // Anything else is what servers do by themselves, or what we do not know yet.
        if (event.type.startsWith("response.")) this.#budget.addText(0);
      }
    }
  }

  /** The stream has ended: what was held back, and the end of the calls. */
  end(out: ResponsePiece[]): void {
    const leaked: LeakPiece[] = [];
    this.#leaks?.end(leaked);
    this.#putLeaked(leaked, out);
    this.#hadCalls = this.#calls.hasCalls;
    this.#hasHalfCall =
      this.#finish?.kind === "stop" && this.#calls.hasHalfCall(false, () => false);
    const cut = this.finish === undefined || isCut(this.finish);
    this.#calls.close({ cut, finished: !cut }, out);
  }

  #added(event: JsonObject, out: ResponsePiece[]): void {
    const item = objectOf(event["item"]);
    const passing = this.#items.told(event);
    if (passing.state === "open") this.#items.tell(passing, item);
    this.#openCall(passing, item, out);
  }

  #openCall(passing: PassingItem, item: JsonObject, out: ResponsePiece[]): void {
    const type = item["type"];
    if (passing.call !== undefined || passing.state === "done") return;
    if (type !== "function_call" && type !== "custom_tool_call") return;
    const name = nonEmptyString(item["name"]);
    if (name === undefined) return;
    const { toolNames } = this.#options;
    if (type === "custom_tool_call" && toolNames.size > 0 && !toolNames.has(name)) {
      passing.state = "done";
      return this.#repair("item_skipped", `${type} ${name}: run by the upstream`);
    }
    const kind = type === "custom_tool_call" ? "custom" : "function";
    passing.call = { index: this.#callCount, kind };
    this.#callCount += 1;
    this.#pushCall(passing.call, { id: nonEmptyString(item["call_id"]) ?? null, name }, out);
  }

  /** A fragment as the assembler reads it: the same decisions as for a Chat upstream's. */
  #pushCall(
    { index, kind }: { index: number; kind: "function" | "custom" },
    {
      id = null,
      name = null,
      text = "",
    }: { id?: string | null; name?: string | null; text?: string },
    out: ResponsePiece[],
  ): void {
    const described =
      kind === "custom"
        ? { custom: { name, input: text } }
        : { function: { name, arguments: text } };
    this.#calls.push({ index, id, type: kind, ...described }, out);
  }

  #callDelta(passing: PassingItem, delta: JsonValue | undefined, out: ResponsePiece[]): void {
    const text = nonEmptyString(delta);
    if (text === undefined || passing.call === undefined || passing.state === "done") return;
    passing.sent.set("call", (passing.sent.get("call") ?? "") + text);
    this.#budget.addText(0);
    this.#pushCall(passing.call, { text }, out);
  }

  #callRest(passing: PassingItem, given: JsonValue | undefined, out: ResponsePiece[]): void {
    const { call } = passing;
    if (call === undefined || passing.state === "done" || given === undefined || given === null)
      return;
    const final = typeof given === "string" ? given : JSON.stringify(given);
    if (final !== given) this.#repair("arguments_object", final);
    const sent = passing.sent.get("call") ?? "";
    if (!final.startsWith(sent)) return; // deltas that were no increments: the assembler has seen to it
    passing.sent.set("call", final);
    this.#pushCall(call, { text: final.slice(sent.length) }, out);
  }

  #delta(
    event: JsonObject,
    key: string,
    out: ResponsePiece[],
    piece: (text: string) => ResponsePiece,
  ): void {
    const text = nonEmptyString(event["delta"]);
    if (text === undefined) return;
    const passing = this.#items.of(event);
    this.#budget.addText(text.length);
    passing.type ??= key.startsWith("text") || key.startsWith("refusal") ? "message" : "reasoning";
    const sent = passing.sent.get(key);
    passing.sent.set(key, (sent ?? "") + text);
    if (sent === undefined) passing.reasoningForm ??= reasoningFormOf(key);
    out.push(piece(text));
  }

  /** Parts of a summary are paragraphs. */
  #summary(event: JsonObject, delta: JsonValue | undefined, out: ResponsePiece[]): void {
    const key = `summary ${summaryOf(event)}`;
    const passing = this.#items.of(event);
    if (nonEmptyString(delta) === undefined || passing.reasoningForm === "reasoning") return;
    if (!passing.sent.has(key) && summaryOf(event) > 0) out.push(reasoningPiece("\n\n"));
    this.#delta(event, key, out, reasoningPiece);
  }

  /** The end of a text: what its deltas left out goes out now; what they said otherwise cannot be unsaid. */
  #rest(
    passing: PassingItem,
    key: string,
    final: JsonValue | undefined,
    out: ResponsePiece[],
    piece: (text: string) => ResponsePiece,
  ): void {
    if (typeof final !== "string") return;
    const sent = passing.sent.get(key) ?? "";
    if (final === sent) return;
    if (!final.startsWith(sent)) return this.#repair("deltas_differ", final);
    this.#budget.addText(final.length - sent.length);
    passing.sent.set(key, final);
    passing.reasoningForm ??= reasoningFormOf(key);
    out.push(piece(final.slice(sent.length)));
  }

  #audio(
    data: JsonValue | undefined,
    transcript: JsonValue | undefined,
    out: ResponsePiece[],
  ): void {
    const audio = {
      data: nonEmptyString(data) ?? "",
      transcript: nonEmptyString(transcript) ?? "",
    };
    if (audio.data === "" && audio.transcript === "") return;
    this.#budget.addStored(audio.data.length + audio.transcript.length);
    out.push({ type: "audio", ...audio });
  }

  #done(passing: PassingItem, item: JsonObject, out: ResponsePiece[]): void {
    if (passing.state === "done") return;
    this.#budget.addValue(item);
    this.#items.tell(passing, item);
    switch (item["type"]) {
      case "message":
        this.#messageRest(passing, item, out);
        break;
      case "reasoning":
        this.#reasoningRest(passing, item, out);
        break;
      case "function_call":
      case "custom_tool_call":
        this.#openCall(passing, item, out);
        if (passing.call === undefined) break;
        this.#callRest(passing, item["arguments"] ?? item["input"], out);
        if (item["status"] === "incomplete") this.#calls.doubt(passing.call.index);
        else this.#calls.stateEnd(passing.call.index);
        break;
      case "image_generation_call": {
        const data = nonEmptyString(item["result"]);
        const format = nonEmptyString(item["output_format"]) ?? "png";
        if (data !== undefined)
          out.push({ type: "image", url: `data:image/${format};base64,${data}` });
        break;
      }
      default: {
        const type = nonEmptyString(item["type"]);
        // Chat has no form for what a client of the other wire would run (a shell, a patch), nor for a server's own.
        if (type?.endsWith("_call")) this.#repair("item_skipped", type);
      }
    }
    passing.state = "done";
  }

  #messageRest(passing: PassingItem, item: JsonObject, out: ResponsePiece[]): void {
    const { content } = item;
    if (typeof content === "string") return this.#rest(passing, "text 0", content, out, textPiece);
    listOf(content).forEach((part, index) => {
      if (!isObject(part)) return;
      const silent = !passing.sent.has(`text ${index}`);
      this.#rest(passing, `text ${index}`, part["text"], out, (text) => ({
        type: "text",
        text,
        logprobs: silent ? listOf(part["logprobs"]) : [],
      }));
      this.#rest(passing, `refusal ${index}`, part["refusal"], out, refusalPiece);
      listOf(part["annotations"])
        .slice(passing.annotations)
        .forEach((annotation) => this.#annotation(passing, annotation, out));
    });
  }

  #annotation(passing: PassingItem, annotation: JsonValue | undefined, out: ResponsePiece[]): void {
    this.#budget.addValue(annotation);
    passing.annotations += 1;
    out.push({ type: "annotation", annotation: chatAnnotation(annotation) });
  }

  #reasoningRest(passing: PassingItem, item: JsonObject, out: ResponsePiece[]): void {
    const raw = passing.reasoningForm === "reasoning";
    const summary = listOf(item["summary"]);
    const content = listOf(item["content"]);
    // Where there are both, the summary says again what the raw text said.
    const source = raw || summary.length === 0 ? content : summary;
    const kind = source === content ? "reasoning" : "summary";
    source.forEach((part, index) => {
      if (!isObject(part)) return;
      const key = `${kind} ${index}`;
      if (index > 0 && kind === "summary" && !passing.sent.has(key))
        out.push(reasoningPiece("\n\n"));
      this.#rest(passing, key, part["text"], out, reasoningPiece);
    });
    const data = nonEmptyString(item["encrypted_content"]);
    if (data !== undefined)
      out.push({ type: "reasoning.encrypted", id: nonEmptyString(item["id"]), data });
  }

  #terminal(event: ResponsesInput & { type: TerminalType }, out: ResponsePiece[]): void {
    this.#learn(objectOf(event["response"]));
    this.#terminalItems(listOf(this.response["output"]).filter(isObject), out);
    if (isObject(this.response["usage"])) this.usage = this.response["usage"];
    this.#finish = stronger(this.#finish, finishOf(event.type, this.response));
  }

  #learn(response: JsonObject): void {
    for (const field of responseFields)
      if (response[field] !== undefined) this.response[field] = response[field];
  }

  /** What came in no event of its own: a whole reply, or a server that sends items only here. */
  #terminalItems(output: JsonObject[], out: ResponsePiece[]): void {
    const matches = matchTerminal(this.#items.all, output);
    output.forEach((item, at) => this.#done(matches[at] ?? this.#items.add(), item, out));
  }

  /** `response.failed` follows with the same words, or nothing does. */
  #error(error: JsonValue): void {
    this.#finish ??= { kind: "failed", ...upstreamFailure(error) };
  }

  #repair(code: RepairCode, detail: string): void {
    this.#options.repairs.add(code, detail);
  }
}

/** The fields of a response object that are read. */
const responseFields = [
  "id",
  "created_at",
  "model",
  "output",
  "usage",
  "error",
  "incomplete_details",
] as const;

function reasoningFormOf(key: string): PassingItem["reasoningForm"] {
  if (key.startsWith("reasoning")) return "reasoning";
  return key.startsWith("summary") ? "summary" : undefined;
}

function textPiece(text: string): ResponsePiece {
  return { type: "text", text, logprobs: [] };
}

function refusalPiece(text: string): ResponsePiece {
  return { type: "refusal", text };
}

function reasoningPiece(text: string): ResponsePiece {
  return { type: "reasoning", text, inContent: false };
}

function partOf(event: JsonObject): number {
  return typeof event["content_index"] === "number" ? event["content_index"] : 0;
}

function summaryOf(event: JsonObject): number {
  return typeof event["summary_index"] === "number" ? event["summary_index"] : 0;
}

/** Responses has flat what Chat nests: `{type, url_citation: {url, title, …}}`. */
function chatAnnotation(annotation: JsonValue | undefined): JsonObject {
  const { type, ...rest } = objectOf(annotation);
  return type === "url_citation" ? { type, url_citation: rest } : { ...objectOf(annotation) };
}
