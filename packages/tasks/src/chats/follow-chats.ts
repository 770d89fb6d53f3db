import { EventClient, type EventSubscription } from "../connection/event-client.ts";
import type {
  ConnectionInfo,
  Schedule,
  TransportHandlers,
} from "../connection/reconnecting-stream.ts";
import type { ChatFeedEvent } from "./api-types.ts";
import type { ChatChange } from "./chat-store.ts";

/** Opens `GET /api/chats/events`, with `?after=` if it is defined. */
export type ConnectChats = (
  after: number | undefined,
  handlers: TransportHandlers<ChatFeedEvent | ChatChange>,
) => { close(): void };

export interface ChatFeedHandlers {
  onChange: (change: ChatChange) => void;
  /** Changes were missed: reload the list. Later changes are reported as usual. */
  onReset: () => void;
  onConnection?: (connection: ConnectionInfo) => void;
  /** Called with each event of the feed after it was applied. */
  onEvent?: (event: ChatFeedEvent | ChatChange) => void;
}

/** Options for a separate connection. With a shared client, only `after` applies. */
export interface FollowChatsOptions {
  schedule: Schedule;
  /** Jitter for reconnects, so that clients do not all reconnect at once: `Math.random`. Default: none. */
  random?: () => number;
  /** Stamp of the last known change. Undefined: only changes from now on. */
  after?: number;
}

export interface ChatFeedSubscription {
  /** Position in the feed: the stamp of the last change, at first `after`. Without `after`, undefined until the feed opens. */
  readonly stamp: number | undefined;
  readonly connection: ConnectionInfo;
  close(): void;
}

/**
 * Follows changes to all chats; after a reconnect it resumes from the last received change. The first argument is a client
 * whose connection is shared, or a function that opens a separate connection, which requires `schedule`.
 *
 * ```ts
 * const subscription = followChats(client, {
 *   onChange: (change) => list.apply(change),
 *   onReset: () => list.reload(),
 * });
 * ```
 */
export function followChats(
  client: EventClient,
  handlers: ChatFeedHandlers,
  options?: Pick<FollowChatsOptions, "after">,
): ChatFeedSubscription;
export function followChats(
  connect: ConnectChats,
  handlers: ChatFeedHandlers,
  options: FollowChatsOptions,
): ChatFeedSubscription;
export function followChats(
  source: EventClient | ConnectChats,
  handlers: ChatFeedHandlers,
  { after, ...options }: Partial<FollowChatsOptions> = {},
): ChatFeedSubscription {
  if (source instanceof EventClient) return new ChatFeedFollower(source, handlers, after);
  const { schedule, random = () => 1 } = options as FollowChatsOptions;
  const client = new EventClient({
    schedule,
    random,
    transport: ({ chats }, transportHandlers) => source(chats?.after, transportHandlers),
  });
  const follower = new ChatFeedFollower(client, handlers, after);
  client.open();
  return follower;
}

class ChatFeedFollower implements ChatFeedSubscription {
  readonly #handlers: ChatFeedHandlers;
  readonly #subscription: EventSubscription;
  #stamp: number | undefined;

  constructor(client: EventClient, handlers: ChatFeedHandlers, after: number | undefined) {
    this.#handlers = handlers;
    this.#stamp = after;
    this.#subscription = client.followChats({
      getCursor: () => this.#stamp,
      onEvent: (event) => this.#receive(event as ChatFeedEvent | ChatChange),
      onConnection: () => handlers.onConnection?.(this.connection),
    });
  }

  get stamp(): number | undefined {
    return this.#stamp;
  }

  get connection(): ConnectionInfo {
    return this.#subscription.connection;
  }

  close(): void {
    this.#subscription.close();
  }

  #receive(event: ChatFeedEvent | ChatChange): void {
    switch (event.type) {
      case "chats.opened":
        // Without a cursor the feed starts at its head.
        this.#stamp ??= event.head;
        break;
      case "chats.reset":
        this.#stamp = event.head;
        this.#handlers.onReset();
        break;
      case "chat.changed":
      case "chat.removed":
        this.#subscription.resetBackoff();
        this.#stamp = event.stamp;
        this.#handlers.onChange(event);
        break;
      default: // a heartbeat or an unknown type
    }
    this.#handlers.onEvent?.(event);
  }
}
