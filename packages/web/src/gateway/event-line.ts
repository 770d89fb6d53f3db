import type { Connect } from "@deltawire/tasks";
import type { ConnectChats } from "@deltawire/tasks/chats";
import { cell, type Cell } from "../state/cell.ts";
import { LineSources, type Word } from "./line-sources.ts";
import { SseReader } from "./read-sse.ts";
import type { StoreTrouble } from "../state/page.ts";
import { waitAfter } from "./waits.ts";
import type { World } from "./world.ts";

export type LineState =
  | { readonly is: "connecting" }
  | { readonly is: "live" }
  | {
      readonly is: "lost";
      readonly reason: string;
      readonly retryAt: number;
      readonly store?: StoreTrouble;
    }
  /** Lost, and the browser says that there is no network. It is tried all the same: a gateway of this machine needs none. */
  | { readonly is: "offline" }
  /** Nobody looks: the stream was let go. */
  | { readonly is: "asleep" }
  /** The gateway wants a token. Nothing is tried until `open`. */
  | { readonly is: "refused" };

/** How long a page that nobody looks at keeps its stream: a browser has six connections to a host, for all tabs. */
const hiddenForMs = 60_000;
/** A stream that lived this long ends a row of failures. */
const provenMs = 5_000;
const usualHeartbeatMs = 15_000;

/**
 * The one stream of this page: the chats, and all tasks that are looked at. Whoever follows hears what came, and nothing of
 * the connections below: the line opens another one where the last ended, or where more is to be followed, and knows
 * itself how far each of them is.
 */
export class EventLine {
  readonly #world: World;
  readonly #random: number;
  readonly #state = cell<LineState>({ is: "connecting" });
  readonly #sources = new LineSources(() => this.#reopenSoon());
  #isOpen = false;
  #wasOnline: boolean;
  #stream: AbortController | undefined;
  #failures = 0;
  #liveSince = 0;
  #heardAt = 0;
  #heartbeatMs = usualHeartbeatMs;
  #cancelOpening: (() => void) | undefined;
  #cancelRetry: (() => void) | undefined;
  #cancelWatch: (() => void) | undefined;
  #cancelSleep: (() => void) | undefined;
  readonly #leave: () => void;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random();
    this.#wasOnline = world.isOnline();
    this.#leave = world.onChange(() => this.#lookAround());
  }

  get state(): Cell<LineState> {
    return this.#state;
  }

  /** Begins, or begins again after the gateway wanted a token. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#failures = 0;
    this.#state.set({ is: "connecting" });
    this.#lookAround();
    this.#reopenSoon();
  }

  /** Somebody does not want to wait for the next try. */
  retry(): void {
    if (this.#cancelRetry === undefined) return;
    this.#cancelRetry();
    this.#cancelRetry = undefined;
    this.#state.set({ is: "connecting" });
    this.#reopenSoon();
  }

  /** Nothing is followed until it is opened again. */
  shut(): void {
    this.#isOpen = false;
    this.#hangUp();
    this.#cancelSleep?.();
    this.#cancelSleep = undefined;
  }

  close(): void {
    this.shut();
    this.#leave();
    this.#sources.clear();
  }

  get connectTask(): Connect {
    return this.#sources.connectTask;
  }

  get connectChats(): ConnectChats {
    return this.#sources.connectChats;
  }

  /** One time for all that is followed, or no longer, in this turn. */
  #reopenSoon(): void {
    // Whoever waits for the next try, or sleeps, comes with all there is anyway.
    if (!this.#isOpen || this.#cancelRetry !== undefined) return;
    if (this.#state.get().is === "asleep" || this.#cancelOpening !== undefined) return;
    let isWanted = true;
    this.#cancelOpening = () => void (isWanted = false);
    queueMicrotask(() => {
      if (!isWanted) return;
      this.#cancelOpening = undefined;
      this.#connect();
    });
  }

  #connect(): void {
    this.#hangUp();
    const { query } = this.#sources;
    if (query === undefined) return;
    const stream = new AbortController();
    this.#stream = stream;
    this.#heardAt = this.#world.now();
    this.#watch();
    this.#read(query, stream).then(
      (reason) => this.#lost(stream, reason),
      (error: unknown) =>
        this.#lost(
          stream,
          error instanceof Error ? error.message : String(error),
          error instanceof StoreProblem ? error.store : undefined,
        ),
    );
  }

  /** Answers with why it is over. */
  async #read(query: string, stream: AbortController): Promise<string> {
    const { base, fetch } = this.#world;
    const { signal } = stream;
    const reply = await fetch(`${base}/api/events?${query}`, {
      signal,
      cache: "no-store",
      headers: { accept: "text/event-stream" },
    });
    if (this.#stream !== stream) return "";
    if (reply.status === 401) {
      this.shut();
      this.#state.set({ is: "refused" });
      return "";
    }
    if (!reply.ok || reply.body === null) {
      throw await refusalIn(reply);
    }
    this.#liveSince = this.#world.now();
    if (this.#state.get().is !== "live") this.#state.set({ is: "live" });
    const sse = new SseReader();
    const reader = reply.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return "the gateway has ended the connection";
      // What comes from a connection that was given up is told by the next one.
      if (this.#stream !== stream) return "";
      this.#heardAt = this.#world.now();
      for (const data of sse.push(value)) {
        this.#hear(JSON.parse(data) as Word);
        if (this.#stream !== stream) return "";
      }
    }
  }

  #hear(word: Word): void {
    if ("heartbeat_ms" in word) this.#heartbeatMs = word.heartbeat_ms;
    this.#sources.hear(word);
  }

  #lost(stream: AbortController, reason: string, store?: StoreTrouble): void {
    if (this.#stream !== stream) return;
    this.#hangUp();
    const { now, schedule, isOnline } = this.#world;
    if (this.#state.get().is === "live" && now() - this.#liveSince >= provenMs) this.#failures = 0;
    const wait = waitAfter(this.#failures, this.#random);
    this.#failures += 1;
    this.#cancelRetry = schedule(wait, () => this.#connect());
    this.#state.set(
      isOnline()
        ? {
            is: "lost",
            reason,
            retryAt: Math.round(now() + wait),
            ...(store === undefined ? {} : { store }),
          }
        : { is: "offline" },
    );
  }

  /** The network or the eye of the person may have come back, or gone. */
  #lookAround(): void {
    if (!this.#isOpen) return;
    const { isOnline, isVisible, schedule } = this.#world;
    this.#cancelSleep?.();
    this.#cancelSleep = isVisible() ? undefined : schedule(hiddenForMs, () => this.#sleep());
    const hasTurned = isOnline() !== this.#wasOnline;
    this.#wasOnline = isOnline();
    const state = this.#state.get().is;
    if (state === "asleep" && !isVisible()) return;
    // A machine that has slept, or lost its network, has streams that never end and never say anything.
    if (state === "live" && !hasTurned && !this.#isSilentFor(1.2 * this.#heartbeatMs)) return;
    if (state === "connecting" && this.#stream !== undefined) return;
    this.#failures = 0;
    if (state !== "live") this.#state.set({ is: "connecting" });
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#reopenSoon();
  }

  #sleep(): void {
    this.#cancelSleep = undefined;
    this.#hangUp();
    this.#state.set({ is: "asleep" });
  }

  #watch(): void {
    const silence = 2.5 * this.#heartbeatMs;
    this.#cancelWatch = this.#world.schedule(silence / 2, () => {
      const stream = this.#stream;
      if (stream !== undefined && this.#isSilentFor(silence))
        return this.#lost(stream, `nothing was heard for ${Math.round(silence / 1000)} s`);
      if (this.#sources.takeTurns()) this.#reopenSoon();
      this.#watch();
    });
  }

  #isSilentFor(ms: number): boolean {
    return this.#world.now() - this.#heardAt > ms;
  }

  #hangUp(): void {
    this.#cancelOpening?.();
    this.#cancelOpening = undefined;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#cancelWatch?.();
    this.#cancelWatch = undefined;
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.abort();
  }
}

/** The gateway answers, but has no chats: its store cannot be opened. */
class StoreProblem extends Error {
  readonly store: StoreTrouble;

  constructor(store: StoreTrouble) {
    super(store.message);
    this.store = store;
  }
}

async function refusalIn(reply: Response): Promise<Error> {
  const body = (await reply.json().catch(() => undefined)) as
    | { error?: { code?: unknown; message?: unknown }; reason?: unknown; detail?: unknown }
    | undefined;
  const { code, message } = body?.error ?? {};
  if (code === "store_unavailable" && typeof message === "string")
    return new StoreProblem(
      body?.reason === "store_in_use"
        ? { isInUse: true, message: typeof body.detail === "string" ? body.detail : message }
        : { isInUse: false, message },
    );
  return new Error(`the gateway answered with status ${reply.status}`);
}
