import { ChoiceReader, type Piece } from "../chat-upstream/choice.ts";
import { choicesOf, errorIn } from "../chat-upstream/choices.ts";
import type { ChatInput } from "../chat-upstream/chunk-reader.ts";
import { failureOfEnd } from "../chat-upstream/ending.ts";
import { unreachable } from "../error.ts";
import { repeatableString, type JsonObject } from "../json.ts";
import { empty, type ClientTranslator, type StreamEnd } from "../machine.ts";
import type { ReasoningCarry, Seal } from "../mapping/reasoning.ts";
import { isCut, type Finish } from "../mapping/finish.ts";
import { upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { responseUsage, usageIn } from "../mapping/usage.ts";
import { UsageEstimate } from "../chat-upstream/usage-estimate.ts";
import { genericProfile, type ReplyFlags } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type {
  OutputItem,
  ResponseEvent,
  ResponseObject,
  ResponseUsage,
  TerminalEvent,
} from "../shapes/responses-reply.ts";
import { noTools, type ToolBridge } from "../tools/bridge.ts";
import { Calls } from "./calls.ts";
import { Output } from "./output.ts";
import { Runs } from "./runs.ts";

export interface ResponsesOverChatOptions {
  /** `resp_…` of the response. */
  responseId: string;
  /** Ids for its items and calls: `newId("msg")` might answer `msg_7f3a…`. */
  newId: (prefix: string) => string;
  /** Seconds since 1970. */
  createdAt: number;
  /** What the request asked for: its fields stand in the response object. */
  echo?: JsonObject;
  /** The model's name for the client; the upstream's own where it is not given. */
  model?: string;
  /** The name that the client asked for: its name where the upstream gives none. */
  requestedModel?: string;
  /** What the request translator made of the declared tools. */
  tools?: ToolBridge;
  /** Call ids of the history, which no new call may have again. */
  usedCallIds?: ReadonlySet<string>;
  /** Decision 39: as summary events, which every client knows, or as raw text. */
  reasoning?: "summary" | "text";
  /**
   * What becomes of a call that must not run, because the reply was cut or the call is not whole: an item that ends
   * `incomplete`, or no `output_item.done` at all, for clients that run every call they see done and never look at its
   * status. Codex is one.
   */
  cutCalls?: "incomplete" | "withheld";
  /** Packs what the upstream needs back into `encrypted_content`; without it that is lost. */
  seal?: Seal;
  /** Called with the response when it ends `completed` or `incomplete`. */
  onFinished?: (response: ResponseObject) => void;
  /** The tokens of the request, for an upstream that does not tell what the reply cost (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
  /** How the upstream's replies differ; the generic profile where it is not given. */
  profile?: ReplyFlags;
  /** Limits of the reply. Default: those of `replyLimits`. */
  budget?: ReplyBudget;
  repairs?: Repairs;
}

/**
 * A Responses client on a Chat upstream: chunks in, the full event sequence of the Responses API out. Text and
 * reasoning stream at once; calls stream too, but are done only at the end, when it is known that they are whole.
 */
export class ResponsesOverChat implements ClientTranslator<ChatInput, ResponseEvent> {
  readonly repairs: Repairs;
  readonly #options: ResponsesOverChatOptions;
  readonly #budget: ReplyBudget;
  readonly #choice: ChoiceReader;
  readonly #output = new Output();
  readonly #runs: Runs;
  readonly #calls: Calls;
  readonly #pieces: Piece[] = [];
  /** `begun`: the client has heard of the response, the upstream has said nothing yet. */
  #state: "new" | "begun" | "streaming" | "ended" = "new";
  #model: string | undefined;
  readonly #estimate: UsageEstimate | undefined;
  #usage: ResponseUsage | null = null;

  constructor(options: ResponsesOverChatOptions) {
    const { newId, tools = noTools, repairs = new Repairs() } = options;
    this.#options = options;
    this.repairs = repairs;
    this.#model = options.model;
    this.#estimate = UsageEstimate.of(options, repairs);
    this.#budget = options.budget ?? new ReplyBudget();
    this.#choice = new ChoiceReader(0, {
      repairs,
      newId,
      toolNames: tools.upstreamNames,
      toolSchemas: tools.schemas ?? new Map(),
      usedCallIds: options.usedCallIds ?? new Set(),
      tools,
      profile: options.profile ?? genericProfile,
      budget: this.#budget,
    });
    this.#runs = new Runs({
      output: this.#output,
      newId,
      reasoning: options.reasoning ?? "summary",
      sealed: () => this.#seal(this.#choice.takeCarry()),
      budget: this.#budget,
    });
    const { cutCalls = "incomplete" } = options;
    this.#calls = new Calls({ output: this.#output, newId, tools, cutCalls, repairs });
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  get failure(): UpstreamFailure | undefined {
    return this.#choice.failure;
  }

  get awaitsEnd(): boolean {
    return this.#state === "streaming" && this.#choice.hasFinished;
  }

  get progress(): number {
    return this.#budget.progress;
  }

  get usage(): ResponseUsage | null {
    return this.#usage;
  }

  begin(out: ResponseEvent[]): void {
    if (this.#state !== "new") return;
    this.#state = "begun";
    const response = this.#response("in_progress", []);
    out.push({ type: "response.created", ...this.#output.next(), response });
    out.push({ type: "response.in_progress", ...this.#output.next(), response });
  }

  keepAlive(out: ResponseEvent[]): void {
    if (this.#state === "new") return this.begin(out);
    if (this.#state === "ended") return;
    const response = this.#response("in_progress", []);
    out.push({ type: "response.in_progress", ...this.#output.next(), response });
  }

  push(input: ChatInput, out: ResponseEvent[]): void {
    if (this.#state === "ended") {
      if (input !== "[DONE]") this.repairs.add("data_after_end", JSON.stringify(input));
      return;
    }
    if (input === "[DONE]") {
      this.#choice.finishByRule();
      return this.#finish(out);
    }
    if (this.#state !== "streaming") this.#start(input.model, out);
    for (const choice of choicesOf(input)) {
      if (choice.index !== 0) continue; // a Responses client knows of one choice only (decision 11)
      this.#choice.read(choice, this.#pieces);
      this.#translate(out);
    }
    const usage = usageIn(input);
    if (usage !== undefined) this.#usage = responseUsage(usage);
    const error = errorIn(input);
    if (error !== undefined) this.#choice.failUnlessCut(upstreamFailure(error));
  }

  end(how: StreamEnd, out: ResponseEvent[]): void {
    if (this.#state === "ended") return;
    if (!this.#choice.hasFinished || how === "aborted") {
      this.#choice.fail(failureOfEnd(how));
    }
    this.#finish(out);
  }

  fail(failure: UpstreamFailure, out: ResponseEvent[]): void {
    if (this.#state === "ended") return;
    this.#choice.failUnlessCut(failure);
    this.#finish(out);
  }

  #translate(out: ResponseEvent[]): void {
    if (this.#pieces.length === 0) return;
    this.#estimate?.addPieces(this.#pieces);
    for (const piece of this.#pieces) {
      switch (piece.type) {
        case "text":
          this.#runs.text(piece.text, piece.logprobs, out);
          break;
        case "refusal":
          this.#runs.refusal(piece.text, out);
          break;
        case "reasoning":
          this.#runs.reasoning(piece.text, out);
          break;
        case "annotation":
          this.#runs.annotation(piece.annotation, out);
          break;
        case "audio":
          this.#runs.audio(piece.data, piece.transcript, out);
          break;
        case "call.opened":
          this.#runs.close("completed", out);
          this.#calls.open(piece.call, out);
          break;
        case "call.arguments":
          this.#calls.arguments(piece.call, piece.delta, out);
          break;
        case "call.closed":
          this.#calls.close(piece, out);
          break;
        case "image":
          this.#runs.close("completed", out);
          this.#runs.image(piece.url, out);
          break;
        case "call.fields":
        case "reasoning.repeated":
          break; // there is no place for them on this wire; signatures among them travel sealed
        default:
          unreachable(piece);
      }
    }
    empty(this.#pieces);
  }

  #start(model: string | undefined, out: ResponseEvent[]): void {
    this.#model ??= repeatableString(model);
    this.begin(out);
    this.#state = "streaming";
  }

  #finish(out: ResponseEvent[]): void {
    this.begin(out);
    const finish = this.#choice.end(this.#pieces);
    this.#translate(out);
    this.#carryLate(out);
    this.#runs.close(isCut(finish) ? "incomplete" : "completed", out);
    this.#state = "ended";
    if (finish.kind !== "failed")
      this.#usage = this.#estimate?.unlessTold(this.#usage) ?? this.#usage;
    const terminal = this.#terminal(finish);
    out.push(terminal);
    if (finish.kind !== "failed") this.#options.onFinished?.(terminal.response);
  }

  /** Signatures that came after the reasoning had closed, or with a call, need an item to travel in. */
  #carryLate(out: ResponseEvent[]): void {
    if (this.#choice.peekCarry() === undefined) return;
    if (this.#options.seal === undefined) this.#seal(this.#choice.takeCarry());
    else this.#runs.carrier(out);
  }

  #seal(carry: ReasoningCarry | undefined): string | undefined {
    if (carry === undefined) return undefined;
    const sealed = this.#options.seal?.(carry);
    if (sealed === undefined) this.repairs.add("carry_lost", Object.keys(carry).join(", "));
    return sealed;
  }

  #terminal(finish: Finish): TerminalEvent {
    const next = this.#output.next();
    switch (finish.kind) {
      case "stop":
      case "tool_calls":
        return {
          type: "response.completed",
          ...next,
          response: this.#response("completed", this.#output.items),
        };
      case "length":
      case "content_filter": {
        const response = this.#response("incomplete", this.#output.items);
        const reason = finish.kind === "length" ? "max_output_tokens" : "content_filter";
        response.incomplete_details = { reason };
        return { type: "response.incomplete", ...next, response };
      }
      case "failed": {
        const response = this.#response("failed", this.#output.items);
        response.error = { code: finish.code, message: finish.message };
        return { type: "response.failed", ...next, response };
      }
      default:
        return unreachable(finish);
    }
  }

  #response(status: ResponseObject["status"], output: OutputItem[]): ResponseObject {
    return {
      ...this.#options.echo,
      id: this.#options.responseId,
      object: "response",
      created_at: this.#options.createdAt,
      status,
      error: null,
      incomplete_details: null,
      model: this.#model ?? this.#options.requestedModel ?? "",
      output,
      usage: this.#usage,
    };
  }
}
