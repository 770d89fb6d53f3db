import type { JsonObject } from "../json.ts";
import type { Finish } from "../mapping/finish-reason.ts";
import type { ReplyPiece } from "./reply-piece.ts";

/** Writes pieces as the events of one client wire. There is one writer per wire. */
export interface ReplyWriter<Output> {
  /** Called after the upstream's first event was read: emits the opening events, unless `begin` did. */
  open(out: Output[]): void;
  write(pieces: readonly ReplyPiece[], out: Output[]): void;
  /** Returns how the reply ends for the client, if a rule of this writer fails it. Called once, before `finish`. */
  resolveFinish?(finish: Finish): Finish;
  /** Emits the rest of the reply and its last event. `usage` is undefined if it is unknown. */
  finish(finish: Finish, usage: JsonObject | undefined, out: Output[]): void;
  /** Emits the opening events for an upstream that has not sent any event. */
  begin?(out: Output[]): void;
  /** Emits an event without content. */
  keepAlive?(usage: JsonObject | undefined, out: Output[]): void;
}
