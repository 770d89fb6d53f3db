import type { JsonObject } from "../json.ts";
import type { Finish } from "../mapping/finish-reason.ts";
import type { OpaqueReasoning } from "../mapping/reasoning.ts";
import type { UpstreamFailure } from "../mapping/upstream-error.ts";
import type { Repairs } from "../repairs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import type { ReplyFlags } from "../upstream-profile.ts";
import type { ReplyPiece } from "./reply-piece.ts";

export interface ReplyReaderOptions {
  repairs: Repairs;
  newId: (prefix: string) => string;
  /** Names of the offered tools. */
  toolNames: ReadonlySet<string>;
  /** Parameter schemas of the offered tools that have one. */
  toolSchemas: ReadonlyMap<string, JsonObject>;
  /** Call ids of the history, which new calls must not use. */
  usedCallIds: ReadonlySet<string>;
  /** The client's declared tools, if they were offered in another form. */
  tools?: ToolTranslation | undefined;
  profile: ReplyFlags;
  budget: ReplyBudget;
}

/** The values of the upstream's reply object. Untrusted; undefined until the upstream has sent them. */
export interface ReplyEnvelope {
  readonly id: unknown;
  /** In seconds since 1970. */
  readonly createdAt: unknown;
  readonly model: unknown;
  /** In the words of the OpenAI APIs. */
  readonly serviceTier: unknown;
}

/** Reads the events of one wire into pieces. There is one reader per wire. */
export interface ReplyReader<Input> extends ReplyEnvelope {
  /** True once the upstream has reported how the reply ends, or an error. */
  readonly hasFinished: boolean;
  /** Why the reply failed; undefined if it has not failed so far. */
  readonly failure: UpstreamFailure | undefined;
  /**
   * The latest usage with a count, in the fields of either OpenAI API: input tokens include cached ones. Undefined until the
   * upstream has sent one.
   */
  readonly usage: JsonObject | undefined;
  /** The stop sequence that ended the reply, if the upstream reports it. */
  readonly stopSequence: string | undefined;
  /** Reads one event. Returns true if it was the last one of the reply. */
  read(input: Input, out: ReplyPiece[]): boolean;
  /** Emits what was buffered, closes all calls and returns how the reply ended. Call it once, at the end of the stream. */
  end(out: ReplyPiece[]): Finish;
  /** Records that the stream ended before the reply had finished. */
  failAtEnd(failure: UpstreamFailure): void;
  /** Records a failure that the upstream did not report itself. */
  fail(failure: UpstreamFailure): void;
  /** Returns the signatures and encrypted reasoning since the last `takeOpaqueReasoning`. */
  peekOpaqueReasoning(): OpaqueReasoning | undefined;
  takeOpaqueReasoning(): OpaqueReasoning | undefined;
  /** Describes an event after the end of the reply; undefined if it is harmless. */
  describeExtra(input: Input): string | undefined;
}
