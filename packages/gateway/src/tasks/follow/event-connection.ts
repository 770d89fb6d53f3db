import type { ServerResponse } from "node:http";
import type { Beating, Heartbeat } from "../../upstream/heartbeat.ts";
import { streamHeaders } from "../../relay/receiver.ts";
import { SharedTurn } from "./shared-turn.ts";

/** What is told on a connection. It holds no events: it knows where it stands and reads on from there. */
export interface StreamSource {
  /** Whether there is more that it could write now. */
  readonly isBehind: boolean;
  /** The last event that there will ever be has been written. */
  readonly isOver: boolean;
  /** Writes the next piece. */
  step(): Promise<void>;
  /** What says that it lives, after a silence. */
  sign(): string;
}

/** Fifteen seconds and a minute, where a beat is a second. */
export const silences = {
  /** Beats without a frame after which a sign of life is sent. */
  quiet: 15,
  /** Beats in which nothing of what was written has gone out, after which the reader is given up. */
  stuck: 60,
};

/** A store that answers in place and sockets that take all would let nobody else have a turn. */
const sharedTurn = new SharedTurn();
/** Larger texts go out piece by piece, so that a reader who is slow can be told from one who has stopped. */
const largestWrite = 256 * 1024;

/**
 * A client's open stream. It is written to as long as the socket takes it; once that is full nothing is queued here, and
 * whoever has more to tell is asked again when it has drained.
 */
export class EventConnection implements Beating {
  readonly #response: ServerResponse;
  readonly #heartbeat: Heartbeat;
  readonly #onFirst: () => void;
  #sources: readonly StreamSource[] = [];
  /** Whose turn it is, where several have something to tell. */
  #turn = 0;
  #rest: Buffer | undefined;
  #isFull = false;
  #isPumping = false;
  #state: "waiting" | "open" | "ending" | "closed" = "waiting";
  #quietBeats = 0;
  #stuckBeats = 0;
  #fail: (error: unknown) => void = () => undefined;

  constructor(response: ServerResponse, heartbeat: Heartbeat, onFirst: () => void) {
    this.#response = response;
    this.#heartbeat = heartbeat;
    this.#onFirst = onFirst;
  }

  get takesMore(): boolean {
    return this.#state === "open" && !this.#isFull && !this.#response.destroyed;
  }

  /** Resolves when the client has all that there will be, or has left. */
  async serve(sources: readonly StreamSource[]): Promise<void> {
    const response = this.#response;
    this.#sources = sources;
    try {
      // One that left while its tasks were looked up will not close once more.
      if (response.destroyed) return;
      this.#state = "open";
      this.#heartbeat.add(this);
      response.on("drain", () => this.#drained());
      await new Promise<void>((resolve, reject) => {
        response.once("close", resolve);
        this.#fail = reject;
        this.wake();
      });
    } finally {
      this.#state = "closed";
      this.#rest = undefined;
      this.#heartbeat.remove(this);
    }
  }

  /** Only what was begun before the socket was full: then it waits behind what goes out in pieces. */
  write(text: string): void {
    if (this.#state !== "open") return;
    this.#quietBeats = 0;
    if (!this.#response.headersSent) {
      this.#onFirst();
      this.#response.writeHead(200, streamHeaders);
    }
    if (this.#rest !== undefined) this.#rest = Buffer.concat([this.#rest, Buffer.from(text)]);
    else if (text.length <= largestWrite) this.#isFull = !this.#response.write(text);
    else {
      this.#rest = Buffer.from(text);
      this.#writeRest();
    }
  }

  /** Somebody has more to tell, or has told all. */
  wake(): void {
    if (!this.#isPumping && this.takesMore) void this.#pump();
  }

  beat(): void {
    if (this.#isFull || this.#state === "ending") {
      this.#stuckBeats += 1;
      if (this.#stuckBeats >= silences.stuck) this.#response.destroy();
      return;
    }
    this.#quietBeats += 1;
    if (this.#quietBeats < silences.quiet || !this.#response.headersSent) return;
    this.write(this.#sources.map((each) => each.sign()).join(""));
  }

  /** The gateway stops: a reader who is there comes back, one who does not read is not waited for. */
  close(): void {
    if (this.takesMore && this.#response.headersSent) this.#end();
    else this.#response.destroy();
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    try {
      while (this.takesMore && this.#sources.some(({ isBehind }) => isBehind))
        await sharedTurn.run(async () => this.#nextBehind()?.step());
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isPumping = false;
    }
    this.#endWhenOver();
  }

  #nextBehind(): StreamSource | undefined {
    if (!this.takesMore) return undefined;
    const { length } = this.#sources;
    for (let tried = 0; tried < length; tried += 1) {
      this.#turn = (this.#turn + 1) % length;
      const one = this.#sources[this.#turn];
      if (one?.isBehind === true) return one;
    }
    return undefined;
  }

  #drained(): void {
    this.#stuckBeats = 0;
    this.#isFull = false;
    this.#writeRest();
    this.wake();
  }

  #writeRest(): void {
    while (this.#rest !== undefined && !this.#isFull) {
      const piece = this.#rest.subarray(0, largestWrite);
      this.#rest = piece.length < this.#rest.length ? this.#rest.subarray(largestWrite) : undefined;
      this.#isFull = !this.#response.write(piece);
    }
  }

  #endWhenOver(): void {
    if (this.#state !== "open" || this.#rest !== undefined) return;
    if (!this.#sources.every(({ isOver }) => isOver)) return;
    this.#end();
  }

  #end(): void {
    this.#state = "ending";
    this.#response.end();
  }
}
