import type { Finish } from "../mapping/finish-reason.ts";
import type { OpaqueReasoning } from "../mapping/reasoning.ts";
import { parseUpstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { findUsage } from "../mapping/usage.ts";
import type { JsonObject } from "../json.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyReader, ReplyReaderOptions } from "../reply/reply-reader.ts";
import { ChoiceReader } from "./choice-reader.ts";
import { findChunkError, getIndexedChoices } from "./chunk-fields.ts";
import type { UpstreamChatEvent } from "./chunk-reader.ts";

/** Reads the chunks of a Chat upstream. Only the first choice: the other wires have no more (decision 11). */
export class ChatReader implements ReplyReader<UpstreamChatEvent> {
  readonly #choice: ChoiceReader;
  id: unknown;
  createdAt: unknown;
  model: unknown;
  serviceTier: unknown;
  usage: JsonObject | undefined;

  constructor(options: ReplyReaderOptions) {
    this.#choice = new ChoiceReader(0, options);
  }

  get hasFinished(): boolean {
    return this.#choice.hasFinished;
  }

  get failure(): UpstreamFailure | undefined {
    return this.#choice.failure;
  }

  get stopSequence(): string | undefined {
    return this.#choice.stopSequence;
  }

  read(input: UpstreamChatEvent, out: ReplyPiece[]): boolean {
    if (input === "[DONE]") {
      this.#choice.finishWithoutReason();
      return true;
    }
    this.id ??= input.id;
    this.createdAt ??= input.created;
    this.model ??= input.model;
    for (const choice of getIndexedChoices(input))
      if (choice.index === 0) this.#choice.read(choice, out);
    const usage = findUsage(input);
    // The tier may be known only with the usage.
    if (usage !== undefined) this.serviceTier = input["service_tier"] ?? this.serviceTier;
    else this.serviceTier ??= input["service_tier"];
    this.usage = usage ?? this.usage;
    const error = findChunkError(input);
    if (error !== undefined) this.#choice.failUnlessTruncated(parseUpstreamFailure(error));
    return false;
  }

  end(out: ReplyPiece[]): Finish {
    return this.#choice.end(out);
  }

  failAtEnd(failure: UpstreamFailure): void {
    this.#choice.fail(failure);
  }

  fail(failure: UpstreamFailure): void {
    this.#choice.failUnlessTruncated(failure);
  }

  peekOpaqueReasoning(): OpaqueReasoning | undefined {
    return this.#choice.peekOpaqueReasoning();
  }

  takeOpaqueReasoning(): OpaqueReasoning | undefined {
    return this.#choice.takeOpaqueReasoning();
  }

  describeExtra(input: UpstreamChatEvent): string | undefined {
    return input === "[DONE]" ? undefined : JSON.stringify(input);
  }
}
