import type { JsonObject } from "../json.ts";
import type { UpstreamFailure } from "../mapping/upstream-error.ts";
import { toResponseUsage } from "../mapping/usage.ts";
import type { Repairs } from "../repairs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import { failureFromStreamEnd } from "../stream-end-failure.ts";
import { clearArray, type ClientTranslator, type StreamEndReason } from "../stream-machine.ts";
import type { ReplyPiece } from "./reply-piece.ts";
import type { ReplyReader } from "./reply-reader.ts";
import type { ReplyWriter } from "./reply-writer.ts";
import type { UsageEstimator } from "./usage-estimator.ts";

export interface ReplyTranslatorParts<Input, Output> {
  reader: ReplyReader<Input>;
  writer: ReplyWriter<Output>;
  budget: ReplyBudget;
  repairs: Repairs;
  estimator: UsageEstimator | undefined;
}

/** Serves a client of one wire from an upstream of another: a reader and a writer, with pieces between them. */
export class ReplyTranslator<Input, Output> implements ClientTranslator<Input, Output> {
  readonly repairs: Repairs;
  readonly #reader: ReplyReader<Input>;
  readonly #writer: ReplyWriter<Output>;
  readonly #budget: ReplyBudget;
  readonly #estimator: UsageEstimator | undefined;
  readonly #pieces: ReplyPiece[] = [];
  #state: "new" | "streaming" | "ended" = "new";
  /** Set if the writer failed a reply that did not fail upstream. */
  #clientFailure: UpstreamFailure | undefined;
  /** Set if the upstream reported no usage. */
  #estimatedUsage: ResponseUsage | undefined;

  constructor({ reader, writer, budget, repairs, estimator }: ReplyTranslatorParts<Input, Output>) {
    this.repairs = repairs;
    this.#reader = reader;
    this.#writer = writer;
    this.#budget = budget;
    this.#estimator = estimator;
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  get failure(): UpstreamFailure | undefined {
    return this.#reader.failure ?? this.#clientFailure;
  }

  get awaitsEnd(): boolean {
    return this.#state === "streaming" && this.#reader.hasFinished;
  }

  get progress(): number {
    return this.#budget.progress;
  }

  get usage(): ResponseUsage | null {
    const usage = this.#getUsage();
    return usage === undefined ? null : toResponseUsage(usage);
  }

  begin(out: Output[]): void {
    if (this.#state !== "ended") this.#writer.begin?.(out);
  }

  keepAlive(out: Output[]): void {
    if (this.#state !== "ended") this.#writer.keepAlive?.(this.#getUsage(), out);
  }

  push(input: Input, out: Output[]): void {
    if (this.#state === "ended") {
      const extra = this.#reader.describeExtra(input);
      if (extra !== undefined) this.repairs.add("data_after_end", extra);
      return;
    }
    const isLast = this.#reader.read(input, this.#pieces);
    if (this.#state === "new") {
      this.#state = "streaming";
      this.#writer.open(out);
    }
    this.#write(out);
    if (isLast) this.#finish(out);
  }

  end(reason: StreamEndReason, out: Output[]): void {
    if (this.#state === "ended") return;
    if (!this.#reader.hasFinished || reason === "aborted")
      this.#reader.failAtEnd(failureFromStreamEnd(reason));
    this.#finish(out);
  }

  fail(failure: UpstreamFailure, out: Output[]): void {
    if (this.#state === "ended") return;
    this.#reader.fail(failure);
    this.#finish(out);
  }

  #write(out: Output[]): void {
    if (this.#pieces.length === 0) return;
    this.#estimator?.addPieces(this.#pieces);
    this.#writer.write(this.#pieces, out);
    clearArray(this.#pieces);
  }

  #finish(out: Output[]): void {
    this.#writer.begin?.(out);
    const upstreamFinish = this.#reader.end(this.#pieces);
    this.#write(out);
    const finish = this.#writer.resolveFinish?.(upstreamFinish) ?? upstreamFinish;
    if (finish.kind === "failed") this.#clientFailure = finish;
    if (finish.kind !== "failed")
      this.#estimatedUsage = this.#estimator?.estimateUnlessReported(this.#reader.usage);
    this.#state = "ended";
    this.#writer.finish(finish, this.#getUsage(), out);
  }

  #getUsage(): JsonObject | undefined {
    return (this.#estimatedUsage as JsonObject | undefined) ?? this.#reader.usage;
  }
}
