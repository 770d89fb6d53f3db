import type { ServerResponse } from "node:http";
import type { TickListener, Ticker } from "../../upstream/ticker.ts";
import { sseHeaders } from "../../relay/receiver.ts";
import { EventLoopBudget } from "./event-loop-budget.ts";

/** Writes events to a connection. Buffers none of them: a source tracks its position and continues to read from there. */
export interface StreamSource {
  /** True if there is more to write now. */
  readonly isBehind: boolean;
  /** True if the last event has been written and no more will follow. */
  readonly isDone: boolean;
  /** Writes the next part. */
  writeNext(): Promise<void>;
  /** Returns the text that is sent after a period without output. */
  formatKeepAlive(): string;
}

/** Limits in ticks, which are seconds outside of tests. */
export const tickLimits = {
  /** Ticks without an event after which a keep-alive is sent. */
  keepAlive: 15,
  /** Ticks after which a client that has stopped reading is disconnected. */
  disconnect: 60,
};

/** Without a budget, a store that answers synchronously and fast sockets would block the event loop. */
const eventLoopBudget = new EventLoopBudget();
/** Longer strings are written in chunks, to distinguish slow clients from those that have stopped reading. */
const maxWriteBytes = 256 * 1024;

/**
 * An event stream of a client. Sources write to it until the socket's buffer is full, and continue after "drain": nothing is
 * queued in between.
 */
export class EventConnection implements TickListener {
  readonly #response: ServerResponse;
  readonly #ticker: Ticker;
  readonly #onFirstByte: () => void;
  #sources: readonly StreamSource[] = [];
  /** Index of the source that wrote last. Sources take turns. */
  #sourceIndex = 0;
  #unwritten: Buffer | undefined;
  #isFull = false;
  #isPumping = false;
  #state: "waiting" | "open" | "ending" | "closed" = "waiting";
  #quietTicks = 0;
  #stuckTicks = 0;
  #fail: (error: unknown) => void = () => undefined;

  constructor(response: ServerResponse, ticker: Ticker, onFirstByte: () => void) {
    this.#response = response;
    this.#ticker = ticker;
    this.#onFirstByte = onFirstByte;
  }

  get canWrite(): boolean {
    return this.#state === "open" && !this.#isFull && !this.#response.destroyed;
  }

  /** Resolves when everything has been sent or the client has disconnected. */
  async serve(sources: readonly StreamSource[]): Promise<void> {
    const response = this.#response;
    this.#sources = sources;
    try {
      // "close" is not emitted again for a client that has already disconnected.
      if (response.destroyed) return;
      this.#state = "open";
      this.#ticker.add(this);
      response.on("drain", () => this.#onDrain());
      await new Promise<void>((resolve, reject) => {
        response.once("close", resolve);
        this.#fail = reject;
        this.wake();
      });
    } finally {
      this.#state = "closed";
      this.#unwritten = undefined;
      this.#ticker.remove(this);
    }
  }

  /** Must be called only while `canWrite`, or to complete a write that began before the socket was full. */
  write(text: string): void {
    if (this.#state !== "open") return;
    this.#quietTicks = 0;
    if (!this.#response.headersSent) {
      this.#onFirstByte();
      this.#response.writeHead(200, sseHeaders);
    }
    if (this.#unwritten !== undefined)
      this.#unwritten = Buffer.concat([this.#unwritten, Buffer.from(text)]);
    else if (text.length <= maxWriteBytes) this.#isFull = !this.#response.write(text);
    else {
      this.#unwritten = Buffer.from(text);
      this.#writeUnwritten();
    }
  }

  /** Must be called when a source has more to write or is done. */
  wake(): void {
    if (!this.#isPumping && this.canWrite) void this.#pump();
  }

  onTick(): void {
    if (this.#isFull || this.#state === "ending") {
      this.#stuckTicks += 1;
      if (this.#stuckTicks >= tickLimits.disconnect) this.#response.destroy();
      return;
    }
    this.#quietTicks += 1;
    if (this.#quietTicks < tickLimits.keepAlive || !this.#response.headersSent) return;
    this.write(this.#sources.map((source) => source.formatKeepAlive()).join(""));
  }

  /** Ends the stream because the gateway stops. A client that has stopped reading is disconnected. */
  close(): void {
    if (this.canWrite && this.#response.headersSent) this.#end();
    else this.#response.destroy();
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    try {
      while (this.canWrite && this.#sources.some(({ isBehind }) => isBehind))
        await eventLoopBudget.run(async () => this.#findNextSource()?.writeNext());
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isPumping = false;
    }
    this.#endWhenDone();
  }

  #findNextSource(): StreamSource | undefined {
    if (!this.canWrite) return undefined;
    const { length } = this.#sources;
    for (let count = 0; count < length; count += 1) {
      this.#sourceIndex = (this.#sourceIndex + 1) % length;
      const source = this.#sources[this.#sourceIndex];
      if (source?.isBehind === true) return source;
    }
    return undefined;
  }

  #onDrain(): void {
    this.#stuckTicks = 0;
    this.#isFull = false;
    this.#writeUnwritten();
    this.wake();
  }

  #writeUnwritten(): void {
    while (this.#unwritten !== undefined && !this.#isFull) {
      const chunk = this.#unwritten.subarray(0, maxWriteBytes);
      this.#unwritten =
        chunk.length < this.#unwritten.length ? this.#unwritten.subarray(maxWriteBytes) : undefined;
      this.#isFull = !this.#response.write(chunk);
    }
  }

  #endWhenDone(): void {
    if (this.#state !== "open" || this.#unwritten !== undefined) return;
    if (!this.#sources.every(({ isDone }) => isDone)) return;
    this.#end();
  }

  #end(): void {
    this.#state = "ending";
    this.#response.end();
  }
}
