import { ChatFollower, type ChatFeed } from "../tasks/follow/chat-follower.ts";
import { OpenConnections } from "../tasks/follow/open-connections.ts";
import type { Call } from "./call.ts";
import { readStamp } from "./read-stamp.ts";
import { headerOf } from "./task-calls.ts";

/** Everybody who follows the changes of chats. */
export class ChatStreams {
  readonly #feed: ChatFeed;
  readonly #connections: OpenConnections;

  constructor(feed: ChatFeed, beatMs?: number) {
    this.#feed = feed;
    this.#connections = new OpenConnections(beatMs);
  }

  /** Resolves when the stream has ended, whoever ended it. */
  async serve(call: Call): Promise<void> {
    const { heartbeatMs } = this.#connections;
    const after = stampOf(call);
    const connection = this.#connections.of(call);
    const idOf = (stamp: number): number => stamp;
    const follower = new ChatFollower(this.#feed, { after, heartbeatMs, idOf }, connection);
    try {
      await this.#connections.serve(call, connection, [follower]);
    } finally {
      follower.release();
    }
  }

  /** Ends all streams, and begins no more. */
  close(): void {
    this.#connections.close();
  }
}

/** An EventSource that comes back still has the address that it began with. */
function stampOf({ request, url }: Call): number | undefined {
  const lastEventId = headerOf(request.headers["last-event-id"]);
  const text = lastEventId ?? url.searchParams.get("after");
  if (text === null) return undefined;
  return readStamp(text, lastEventId === undefined ? "after" : "Last-Event-ID");
}
