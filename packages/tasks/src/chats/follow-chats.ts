import { EventClient, type Subscription } from "../connection/event-client.ts";
import type {
  ConnectionInfo,
  Schedule,
  TransportHandlers,
} from "../connection/reconnecting-stream.ts";
import type { ChatFeedEvent } from "./api.ts";
import type { ChatChange } from "./chat-store.ts";

/** Opens `GET /api/chats/events`, with `?after=` unless it is undefined. */
export type ConnectChats = (
  after: number | undefined,
  handlers: TransportHandlers<ChatFeedEvent | ChatChange>,
) => { close(): void };

export interface ChatsHandlers {
  change: (change: ChatChange) => void;
  /** It is not known what was missed: the list has to be read anew. It is up to date as of now. */
  reset: () => void;
  connection?: (connection: ConnectionInfo) => void;
  /** Receives each event of the feed, after it was applied. */
  event?: (event: ChatFeedEvent | ChatChange) => void;
}

/** Of a connection for the chats alone. */
export interface FollowChatsOptions {
  schedule: Schedule;
  /** Spreads the waits, so that the readers of a server that comes back do not all come at once: `Math.random`. */
  random?: () => number;
  /** The stamp of the last change that is known; undefined: what happens from now on. */
  after?: number;
}

export interface FollowedChats {
  /** The last change that was told of; undefined before the connection is open for the first time. */
  readonly stamp: number | undefined;
  readonly connection: ConnectionInfo;
  close(): void;
}

/**
 * Follows the changes of all chats, and reconnects where it got to. The first argument is the client whose connection it
 * shares, or opens a connection of its own, which needs a `schedule`.
 *
 * ```ts
 * const followed = followChats(client, {
 *   change: (change) => list.apply(change),
 *   reset: () => list.reload(),
 * });
 * ```
 */
export function followChats(
  client: EventClient,
  handlers: ChatsHandlers,
  options?: Pick<FollowChatsOptions, "after">,
): FollowedChats;
export function followChats(
  connect: ConnectChats,
  handlers: ChatsHandlers,
  options: FollowChatsOptions,
): FollowedChats;
export function followChats(
  source: EventClient | ConnectChats,
  handlers: ChatsHandlers,
  { after, ...options }: Partial<FollowChatsOptions> = {},
): FollowedChats {
  if (source instanceof EventClient) return new ChatsFollower(source, handlers, after);
  const { schedule, random = () => 1 } = options as FollowChatsOptions;
  const client = new EventClient({
    schedule,
    random,
    transport: ({ chats }, transportHandlers) => source(chats?.after, transportHandlers),
  });
  const follower = new ChatsFollower(client, handlers, after);
  client.open();
  return follower;
}

class ChatsFollower implements FollowedChats {
  readonly #handlers: ChatsHandlers;
  readonly #subscription: Subscription;
  #stamp: number | undefined;

  constructor(client: EventClient, handlers: ChatsHandlers, after: number | undefined) {
    this.#handlers = handlers;
    this.#stamp = after;
    this.#subscription = client.followChats({
      cursor: () => this.#stamp,
      event: (event) => this.#receive(event as ChatFeedEvent | ChatChange),
      onConnection: () => handlers.connection?.(this.connection),
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
        // Without a cursor the feed begins at its head.
        this.#stamp ??= event.head;
        break;
      case "chats.reset":
        this.#stamp = event.head;
        this.#handlers.reset();
        break;
      case "chat.changed":
      case "chat.removed":
        this.#subscription.succeeded();
        this.#stamp = event.stamp;
        this.#handlers.change(event);
        break;
      default: // a heartbeat, or a type that is not known yet
    }
    this.#handlers.event?.(event);
  }
}
