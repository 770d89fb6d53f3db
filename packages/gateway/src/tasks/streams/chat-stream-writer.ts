import { encodeTaskEvent } from "@deltawire/tasks";
import type { ChatChange, ChatFeedEvent, ChatStore } from "@deltawire/tasks/chats";
import type { EventConnection, StreamSource } from "./event-connection.ts";

/** The source of a stream of chat changes. */
export interface ChatFeed {
  store: Pick<ChatStore, "listChatChanges" | "getChatStamps">;
  /** Calls the listener with the stamp of the last known change when chats have changed. */
  subscribe(listener: (stamp: number) => void): () => void;
  /** Calls the listener when the pending approvals of this owner's tasks may have changed. */
  subscribePending(listener: () => void, owner: string): () => void;
}

export interface ChatStreamWriterOptions {
  /** Only changes of this owner's chats and approvals are sent. */
  owner: string;
  /** Stamp of the last change that the client has. Undefined: only new changes are sent. */
  after: number | undefined;
  heartbeatMs: number;
  /** Returns the event id with which a client resumes after this change. */
  formatId: (stamp: number) => string | number;
}

/** Maximum number of changes that are read and written at once. A summary has about 0.5 KB. */
const changesPerWrite = 200;

/**
 * Streams the changes of all chats on one connection. Changes are not buffered but read from the store, which has only the last
 * change of each chat. So a slow client receives fewer events, but always the latest state.
 */
export class ChatStreamWriter implements StreamSource {
  readonly #feed: ChatFeed;
  readonly #options: ChatStreamWriterOptions;
  readonly #connection: Pick<EventConnection, "write">;
  readonly #unsubscribers: readonly (() => void)[];
  #isOpen = false;
  /** Every change up to this stamp was written, or replaced by a later change of the same chat. */
  #sentStamp = 0;
  /** Stamp of the latest known change in the store. */
  #headStamp = 0;
  /** True if pending approvals may have changed since the last event about them. */
  #hasApprovalChanges = false;
  readonly isDone = false;

  constructor(
    feed: ChatFeed,
    options: ChatStreamWriterOptions,
    connection: Pick<EventConnection, "write" | "wake">,
  ) {
    this.#feed = feed;
    this.#options = options;
    this.#connection = connection;
    this.#unsubscribers = [
      feed.subscribe((stamp) => {
        this.#headStamp = Math.max(this.#headStamp, stamp);
        connection.wake();
      }),
      feed.subscribePending(() => {
        this.#hasApprovalChanges = true;
        connection.wake();
      }, options.owner),
    ];
  }

  /** Undefined for a new client until the first event is written. */
  get cursor(): number | undefined {
    return this.#isOpen ? this.#sentStamp : this.#options.after;
  }

  get isBehind(): boolean {
    return !this.#isOpen || this.#hasApprovalChanges || this.#sentStamp < this.#headStamp;
  }

  async writeNext(): Promise<void> {
    if (!this.#isOpen) return this.#open();
    // Approvals first, because tasks wait for them.
    if (this.#hasApprovalChanges) this.#writeApprovalsChanged();
    if (this.#sentStamp < this.#headStamp) await this.#writeChanges();
  }

  formatKeepAlive(): string {
    return this.#formatFrame({ type: "chats.heartbeat", head: this.#headStamp });
  }

  /** Must be called once, even after a failure. */
  release(): void {
    for (const unsubscribe of this.#unsubscribers) unsubscribe();
  }

  async #open(): Promise<void> {
    const { after, heartbeatMs: heartbeat_ms } = this.#options;
    const { head, oldest } = await this.#feed.store.getChatStamps();
    const canResume = after !== undefined && after >= oldest && after <= head;
    this.#headStamp = Math.max(this.#headStamp, head);
    this.#sentStamp = canResume ? after : head;
    this.#isOpen = true;
    const openedEvent = { type: "chats.opened", head, heartbeat_ms } as const;
    // The id lets a client that is at the head resume from here, even if it gets no other event.
    this.#connection.write(
      after === undefined
        ? this.#formatFrame(openedEvent, head)
        : this.#formatFrame(openedEvent) +
            (canResume ? "" : this.#formatFrame({ type: "chats.reset", head }, head)),
    );
  }

  #writeApprovalsChanged(): void {
    this.#hasApprovalChanges = false;
    this.#connection.write(this.#formatFrame({ type: "approvals.changed" }));
  }

  async #writeChanges(): Promise<void> {
    const head = this.#headStamp;
    const changes = await this.#feed.store.listChatChanges(
      this.#options.owner,
      this.#sentStamp,
      changesPerWrite,
    );
    if (changes.length > 0)
      this.#connection.write(
        changes.map((change) => this.#formatFrame(change, change.stamp)).join(""),
      );
    const lastStamp = changes.at(-1)?.stamp ?? this.#sentStamp;
    this.#sentStamp = changes.length < changesPerWrite ? Math.max(lastStamp, head) : lastStamp;
  }

  #formatFrame(event: ChatFeedEvent | ChatChange, stamp?: number): string {
    const id = stamp === undefined ? undefined : this.#options.formatId(stamp);
    return encodeTaskEvent(JSON.stringify(event), id);
  }
}
