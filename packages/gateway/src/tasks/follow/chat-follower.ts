import { encodeTaskEvent } from "@deltawire/tasks";
import type { ChatChange, ChatFeedEvent, ChatStore } from "@deltawire/tasks/chats";
import type { EventConnection, StreamSource } from "./event-connection.ts";

/** What a follower reads from. */
export interface ChatFeed {
  store: Pick<ChatStore, "chatChanges" | "chatStamps">;
  subscribe(listener: (change: ChatChange) => void): () => void;
  /** Of what waits for people, in chats and outside of them. */
  subscribePending(listener: () => void): () => void;
}

export interface FollowChatsOptions {
  /** The last change that the reader has; undefined: what happens from now on. */
  after: number | undefined;
  heartbeatMs: number;
  /** What a reader sends back to go on behind this change. */
  idOf: (stamp: number) => string | number;
}

/** What is read and written at once: a summary is about half a kilobyte. */
const changesAtOnce = 200;

/**
 * The changes of all chats on one connection. None of them is kept here: it knows what it has sent, and the store has of
 * each chat the last change. So whoever reads slowly is told less often, and misses nothing.
 */
export class ChatFollower implements StreamSource {
  readonly #feed: ChatFeed;
  readonly #options: FollowChatsOptions;
  readonly #connection: Pick<EventConnection, "write">;
  readonly #unsubscribe: readonly (() => void)[];
  #isOpen = false;
  /** Everything up to here has been written, or has been overtaken by a later change of the same chat. */
  #sent = 0;
  /** The last change that is known to be in the store. */
  #head = 0;
  /** Something else may wait for people than when it was last told. */
  #asksAnew = false;
  readonly isOver = false;

  constructor(
    feed: ChatFeed,
    options: FollowChatsOptions,
    connection: Pick<EventConnection, "write" | "wake">,
  ) {
    this.#feed = feed;
    this.#options = options;
    this.#connection = connection;
    this.#unsubscribe = [
      feed.subscribe(({ stamp }) => {
        this.#head = Math.max(this.#head, stamp);
        connection.wake();
      }),
      feed.subscribePending(() => {
        this.#asksAnew = true;
        connection.wake();
      }),
    ];
  }

  /** Undefined before anything was written to a reader who begins now. */
  get cursor(): number | undefined {
    return this.#isOpen ? this.#sent : this.#options.after;
  }

  get isBehind(): boolean {
    return !this.#isOpen || this.#asksAnew || this.#sent < this.#head;
  }

  async step(): Promise<void> {
    if (!this.#isOpen) return this.#open();
    // First: whoever waits for a person has waited long enough.
    if (this.#asksAnew) this.#tellPending();
    if (this.#sent < this.#head) await this.#tellChanges();
  }

  sign(): string {
    return this.#frame({ type: "chats.heartbeat", head: this.#head });
  }

  /** To be called once, whatever became of it. */
  release(): void {
    for (const stop of this.#unsubscribe) stop();
  }

  async #open(): Promise<void> {
    const { after, heartbeatMs: heartbeat_ms } = this.#options;
    const { head, oldest } = await this.#feed.store.chatStamps();
    const isKnown = after !== undefined && after >= oldest && after <= head;
    this.#head = Math.max(this.#head, head);
    this.#sent = isKnown ? after : head;
    this.#isOpen = true;
    const opened = { type: "chats.opened", head, heartbeat_ms } as const;
    // With an id where the reader stands at the head now: it comes back with it, also if it has heard nothing else.
    this.#connection.write(
      after === undefined
        ? this.#frame(opened, head)
        : this.#frame(opened) + (isKnown ? "" : this.#frame({ type: "chats.reset", head }, head)),
    );
  }

  #tellPending(): void {
    this.#asksAnew = false;
    this.#connection.write(this.#frame({ type: "approvals.changed" }));
  }

  async #tellChanges(): Promise<void> {
    const head = this.#head;
    const changes = await this.#feed.store.chatChanges(this.#sent, changesAtOnce);
    if (changes.length > 0)
      this.#connection.write(changes.map((change) => this.#frame(change, change.stamp)).join(""));
    const last = changes.at(-1)?.stamp ?? this.#sent;
    this.#sent = changes.length < changesAtOnce ? Math.max(last, head) : last;
  }

  #frame(event: ChatFeedEvent | ChatChange, stamp?: number): string {
    const id = stamp === undefined ? undefined : this.#options.idOf(stamp);
    return encodeTaskEvent(JSON.stringify(event), id);
  }
}
