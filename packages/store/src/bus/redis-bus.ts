import { setTimeout as sleep } from "node:timers/promises";
import type { MessageBus } from "@deltawire/tasks";
import { ThrottledWarning } from "./throttled-warning.ts";
import { parseBusUrl, type RedisAddress } from "./parse-bus-url.ts";
import { RedisConnection } from "./redis-connection.ts";

export interface MessageBusOptions {
  /** A Redis server, version 6 or later: `redis://user:password@host:6379`, or `rediss://` for TLS. */
  url: string;
  /** Prefix of all channel names, so that several installations can share a server; default "deltawire". */
  prefix?: string;
  /** Called when the server becomes unreachable, and when it is back. Messages do not contain the password. */
  onWarning?: (message: string) => void;
}

/**
 * Opens a bus on a Redis server. Returns immediately, throws only if the URL is invalid, and reconnects whenever the
 * connection is lost. Messages published while it is disconnected are lost. A process also receives its own messages.
 */
export function openMessageBus({
  url,
  prefix = "deltawire",
  onWarning = () => {},
}: MessageBusOptions): MessageBus {
  return new RedisBus({ address: parseBusUrl(url), prefix: `${prefix}:`, warn: onWarning });
}

const minRetryMs = 100;
const maxRetryMs = 5000;
/** A connection that lasted longer than this resets the retry delay. */
const stableMs = 10_000;

type Listener = (message: string) => void;

class RedisBus implements MessageBus {
  readonly #address: RedisAddress;
  readonly #prefix: string;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #outages: ThrottledWarning;
  readonly #droppedMessages: ThrottledWarning;
  readonly #failedListeners: ThrottledWarning;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #connection: RedisConnection | undefined;

  constructor(options: { address: RedisAddress; prefix: string; warn: (message: string) => void }) {
    this.#address = options.address;
    this.#prefix = options.prefix;
    this.#outages = new ThrottledWarning(options.warn);
    this.#droppedMessages = new ThrottledWarning(options.warn);
    this.#failedListeners = new ThrottledWarning(options.warn);
    this.#running = this.#run();
  }

  get isConnected(): boolean {
    return this.#connection?.isResponsive ?? false;
  }

  publish(channel: string, message: string): void {
    if (this.#connection?.publish(this.#prefix + channel, message) === false)
      this.#droppedMessages.report(
        `${this.#address.displayUrl} cannot keep up; messages to other processes are dropped`,
      );
  }

  subscribe(channel: string, listener: Listener): () => void {
    let listeners = this.#listeners.get(channel);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(channel, listeners);
      void this.#connection?.subscribe([this.#prefix + channel]);
    }
    // The same function may subscribe twice.
    const entry: Listener = (message) => listener(message);
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      if (listeners.size > 0 || this.#listeners.get(channel) !== listeners) return;
      this.#listeners.delete(channel);
      this.#connection?.unsubscribe(this.#prefix + channel);
    };
  }

  async close(): Promise<void> {
    const isFirstCall = !this.#closing.signal.aborted;
    this.#closing.abort();
    if (isFirstCall) await this.#connection?.close();
    await this.#running;
  }

  /** Connects until the bus is closed. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const { displayUrl } = this.#address;
    let retryMs = minRetryMs;
    while (!signal.aborted) {
      const { reason, connectedMs } = await this.#connect();
      this.#connection = undefined;
      if (signal.aborted) return;
      this.#outages.report(describeFailure(displayUrl, reason));
      retryMs = connectedMs > stableMs ? minRetryMs : Math.min(retryMs * 2, maxRetryMs);
      // Jitter, so that processes do not reconnect all at once after the server restarts.
      await sleep(retryMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
    }
  }

  /** Resolves when the connection could not be opened or has ended. */
  async #connect(): Promise<{ reason: unknown; connectedMs: number }> {
    const { signal } = this.#closing;
    const onMessage = (channel: string, message: string) => this.#deliver(channel, message);
    try {
      const connection = await RedisConnection.open({ address: this.#address, onMessage }, signal);
      const connectedAt = performance.now();
      const channels = this.#listChannels();
      await connection.subscribe(channels);
      // Otherwise `close`, which could not close it, would wait for its end forever.
      if (signal.aborted) await connection.close();
      this.#connection = connection;
      // Listeners may have changed in between. Subscribing twice has no effect.
      void connection.subscribe(this.#listChannels());
      const currentChannels = new Set(this.#listChannels());
      for (const channel of channels)
        if (!currentChannels.has(channel)) connection.unsubscribe(channel);
      if (connection.isResponsive)
        this.#outages.resolve(`${this.#address.displayUrl} is connected again`);
      const reason = await connection.lost;
      return { reason, connectedMs: performance.now() - connectedAt };
    } catch (reason) {
      return { reason, connectedMs: 0 };
    }
  }

  #listChannels(): string[] {
    return [...this.#listeners.keys()].map((channel) => this.#prefix + channel);
  }

  #deliver(prefixedChannel: string, message: string): void {
    const channel = prefixedChannel.slice(this.#prefix.length);
    // Copied, because a listener may subscribe or unsubscribe.
    for (const listener of Array.from(this.#listeners.get(channel) ?? []))
      try {
        listener(message);
      } catch (error) {
        this.#failedListeners.report(
          `a listener of the channel ${channel} failed: ${describeReason(error)}`,
        );
      }
  }
}

function describeFailure(displayUrl: string, error: unknown): string {
  const reason = describeReason(error);
  const advice = /^(?:WRONGPASS|NOAUTH|NOPERM)\b|without any password/.test(reason)
    ? "correct the user name, password or permissions"
    : "check that Redis is running and the address is correct";
  return `${displayUrl} cannot be used: ${reason}; ${advice}. Until it is connected again, other processes receive live events with a delay`;
}

/** Node reports failed attempts for several addresses of a host together, with an empty message. */
function describeReason(error: unknown): string {
  if (error instanceof AggregateError && error.message === "")
    return error.errors.map(describeReason).join(", ");
  return error instanceof Error ? error.message : String(error);
}
