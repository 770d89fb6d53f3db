import type { RedisAddress } from "./parse-bus-url.ts";

type RedisClient = Awaited<ReturnType<typeof createRedisClient>>;

export interface RedisConnectionOptions {
  address: RedisAddress;
  /** Must not throw. */
  onMessage: (channel: string, message: string) => void;
}

const connectTimeoutMs = 5000;
const pingIntervalMs = 1000;
/** The connection is closed after this number of pings without a reply, and no message in between. */
const maxUnansweredPings = 4;
const closeTimeoutMs = 1000;

/** Maximum number of sent characters without a reply. Beyond it the server cannot keep up, and messages are dropped. */
const maxPendingSize = 8_000_000;
/** Added to the length of each message, for the memory that it needs besides its text. */
const messageOverhead = 500;

/** One connection to a Redis server, for publishing and for all subscriptions. It does not reconnect. */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #onMessage: RedisConnectionOptions["onMessage"];
  readonly #lost = Promise.withResolvers<unknown>();
  #pingTimer: NodeJS.Timeout | undefined;
  #isOpen = true;
  #unansweredPings = 0;
  #pendingSize = 0;

  private constructor(client: RedisClient, { onMessage }: RedisConnectionOptions) {
    this.#client = client;
    this.#onMessage = onMessage;
    client.on("error", (error) => this.#fail(error));
  }

  /** Rejects if the server cannot be reached, rejects the login, or does not reply for five seconds. */
  static async open(
    options: RedisConnectionOptions,
    signal: AbortSignal,
  ): Promise<RedisConnection> {
    const client = await createRedisClient(options.address);
    const connection = new RedisConnection(client, options);
    const abort = () => connection.#fail(new Error("closed"));
    signal.addEventListener("abort", abort);
    // The client only limits the time until the connection is accepted.
    const timer = setTimeout(
      () => connection.#fail(new Error(`no reply for ${connectTimeoutMs / 1000} s`)),
      connectTimeoutMs,
    );
    try {
      if (signal.aborted) abort();
      else await Promise.race([client.connect(), connection.lost]);
    } catch (error) {
      connection.#fail(error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
    if (!connection.#isOpen) throw await connection.lost;
    connection.#startPings();
    return connection;
  }

  /** Resolves with the reason when the connection has ended. */
  get lost(): Promise<unknown> {
    return this.#lost.promise;
  }

  /** True if the connection is open and the server has replied within the last seconds. */
  get isResponsive(): boolean {
    return this.#isOpen && this.#unansweredPings <= 1;
  }

  /** Returns false if the message was dropped because the server cannot keep up. */
  publish(channel: string, message: string): boolean {
    const size = message.length + messageOverhead;
    if (this.#pendingSize + size > maxPendingSize) return false;
    this.#pendingSize += size;
    // The client sends all commands of one turn of the event loop together.
    void this.#send(this.#client.sendCommand(["PUBLISH", channel, message])).finally(() => {
      this.#pendingSize -= size;
    });
    return true;
  }

  /** Resolves once messages on these channels are delivered, or the connection has ended. */
  async subscribe(channels: readonly string[]): Promise<void> {
    if (channels.length > 0) await this.#send(this.#client.subscribe([...channels], this.#deliver));
  }

  unsubscribe(channel: string): void {
    void this.#send(this.#client.unsubscribe(channel, this.#deliver));
  }

  /** Waits up to a second for messages that were published before. */
  async close(): Promise<void> {
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, closeTimeoutMs);
    if (this.#client.isReady)
      await Promise.race([this.#client.close(), this.#lost.promise, timeout.promise]);
    clearTimeout(timer);
    this.#fail(new Error("closed"));
  }

  readonly #deliver = (message: string, channel: string): void => {
    this.#unansweredPings = 0;
    this.#onMessage(channel, message);
  };

  /** A rejected command, for example for lack of permissions, ends the connection: a new one may succeed. */
  async #send(reply: Promise<unknown>): Promise<void> {
    try {
      await reply;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends a connection whose server was suspended, or whose network was cut. TCP would notice it after many minutes. */
  #startPings(): void {
    this.#pingTimer = setInterval(() => {
      if (this.#unansweredPings >= maxUnansweredPings) {
        this.#fail(new Error(`no reply for ${(maxUnansweredPings * pingIntervalMs) / 1000} s`));
        return;
      }
      void this.#send(this.#ping());
    }, pingIntervalMs);
  }

  async #ping(): Promise<void> {
    this.#unansweredPings += 1;
    await this.#client.sendCommand(["PING"]);
    this.#unansweredPings = 0;
  }

  #fail(error: unknown): void {
    this.#isOpen = false;
    clearInterval(this.#pingTimer);
    this.#lost.resolve(error);
    this.#client.destroy();
  }
}

async function createRedisClient({ host, port, tls, username, password }: RedisAddress) {
  // Imported on demand: most installations use no bus.
  const { createClient } = await import("@redis/client");
  const socket = {
    host,
    port,
    connectTimeout: connectTimeoutMs,
    reconnectStrategy: false,
  } as const;
  return createClient({
    socket: tls ? { ...socket, tls } : socket,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    // One connection can both publish and subscribe.
    RESP: 3,
    name: "deltawire",
    disableClientInfo: true,
    maintNotifications: "disabled",
    // By default each command has a timer. Pings find out whether the server replies.
    commandOptions: { timeout: 0 },
  });
}
