import {
  Reconnecting,
  type ConnectionInfo,
  type LineHandlers,
  type Schedule,
} from "../reconnecting.ts";
import type { ChatFeedEvent } from "./api.ts";
import type { ChatChange } from "./chat-store.ts";

/** Opens `GET /api/chats/events`, with `?after=` unless it is undefined. */
export type ConnectChats = (
  after: number | undefined,
  handlers: LineHandlers<ChatFeedEvent | ChatChange>,
) => { close(): void };

export interface ChatsHandlers {
  change: (change: ChatChange) => void;
  /** It is not known what was missed: the list has to be read anew. It is up to date as of now. */
  reset: () => void;
  connection?: (connection: ConnectionInfo) => void;
}

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
 * Follows the changes of all chats, and takes a cut connection up again where it ended.
 *
 * ```ts
 * const followed = followChats(
 *   (after, { event, closed }) => {
 *     const source = new EventSource(`/api/chats/events${after === undefined ? "" : `?after=${after}`}`);
 *     source.onmessage = ({ data }) => event(JSON.parse(data));
 *     source.onerror = () => { source.close(); closed("the connection was lost"); };
 *     return source;
 *   },
 *   { change: (change) => list.take(change), reset: () => list.readAnew() },
 *   { schedule },
 * );
 * ```
 */
export function followChats(
  connect: ConnectChats,
  handlers: ChatsHandlers,
  options: FollowChatsOptions,
): FollowedChats {
  return new ChatsFollower(connect, handlers, options);
}

class ChatsFollower implements FollowedChats {
  readonly #handlers: ChatsHandlers;
  readonly #line: Reconnecting<ChatFeedEvent | ChatChange>;
  #stamp: number | undefined;

  constructor(connect: ConnectChats, handlers: ChatsHandlers, options: FollowChatsOptions) {
    const { schedule, random = () => 1, after } = options;
    this.#handlers = handlers;
    this.#stamp = after;
    this.#line = new Reconnecting({
      schedule,
      random,
      connect: (line) => connect(this.#stamp, line),
      onEvent: (event) => this.#receive(event),
      onChange: () => handlers.connection?.(this.#line.connection),
    });
    this.#line.open();
  }

  get stamp(): number | undefined {
    return this.#stamp;
  }

  get connection(): ConnectionInfo {
    return this.#line.connection;
  }

  close(): void {
    this.#line.close();
  }

  #receive(event: ChatFeedEvent | ChatChange): void {
    this.#line.isLiveNow();
    switch (event.type) {
      case "chats.opened":
        this.#line.heartbeatMs = event.heartbeat_ms;
        // Without one the feed begins at its head.
        this.#stamp ??= event.head;
        break;
      case "chats.reset":
        this.#stamp = event.head;
        this.#handlers.reset();
        break;
      case "chats.heartbeat":
        this.#line.succeeded();
        break;
      case "chat.changed":
      case "chat.removed":
        this.#line.succeeded();
        this.#stamp = event.stamp;
        this.#handlers.change(event);
        break;
      default: // a word that is not known yet
    }
    this.#line.heard();
  }
}
