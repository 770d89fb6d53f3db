import type { StreamEvent, TaskEvent } from "../events.ts";
import {
  backoff,
  ReconnectingStream,
  type ConnectionInfo,
  type Schedule,
  type StreamHost,
  type TransportHandlers,
} from "./reconnecting-stream.ts";

/** A position in the events of a task and its sub-agents. */
export interface Cursor {
  task_id: string;
  /** Number of the last known event; undefined requests a snapshot. */
  after: number | undefined;
}

/** What one connection subscribes to. */
export interface EventsRequest {
  /** Absent: no changes of chats. `after: undefined`: only changes from now on. */
  readonly chats?: { readonly after: number | undefined };
  readonly tasks: readonly Cursor[];
}

export type TaskStreamEvent = TaskEvent | StreamEvent;
/** `ChatFeedEvent` and `ChatChange` of the chats, which the client only passes on. */
export interface ChatsStreamEvent {
  readonly type: `chat.${string}` | `chats.${string}` | "approvals.changed";
}

/** Opens one stream of events: `eventsOverFetch`, or your own. Reports after `close` are ignored. */
export type EventTransport = (
  request: EventsRequest,
  handlers: TransportHandlers<TaskStreamEvent | ChatsStreamEvent>,
) => { close(): void };

export interface EventClientOptions {
  transport: EventTransport;
  schedule: Schedule;
  /** Jitter for the backoff, so that clients do not all reconnect at once: `Math.random`. */
  random?: () => number;
  /** If set, the client reacts to the network state and to a hidden tab. */
  host?: StreamHost;
}

/** The receiver of the events of one task, or of the chats. */
export interface Subscriber<Event> {
  /** Called for each connection. */
  cursor: () => number | undefined;
  event: (event: Event) => void;
  /** Called when `connection` of the subscription has changed. */
  onConnection: () => void;
}

export interface TaskSubscriber extends Subscriber<TaskStreamEvent> {
  /** True if the task is one of its sub-agents, whose events carry only their own id. */
  includes: (taskId: string) => boolean;
}

/** The gateway's limit for one connection. */
const maxTasks = 100;
/** Tasks beyond the limit are rotated in after this time. */
const turnMs = 18_000;

/**
 * One connection for everything that a page follows: tasks and the changes of chats. Reconnects automatically and resumes
 * each of them at its cursor. Pass it to `createTaskStore` (one store per client) and to `followChats`, then call `open`.
 */
export class EventClient {
  readonly #options: EventClientOptions;
  readonly #stream: ReconnectingStream<EventsRequest, TaskStreamEvent | ChatsStreamEvent>;
  readonly #tasks = new Map<string, OneSubscription<TaskSubscriber>>();
  #chats: OneSubscription<Subscriber<ChatsStreamEvent>> | undefined;
  readonly #listeners = new Set<() => void>();
  #cancelTurn: (() => void) | undefined;

  constructor(options: EventClientOptions) {
    const { transport, schedule, random = () => 1, host } = options;
    this.#options = options;
    this.#stream = new ReconnectingStream({
      connect: transport,
      schedule,
      random,
      host,
      request: () => this.#request(),
      onEvent: (event, request) => this.#dispatch(event, request),
      onChange: () => {
        for (const { isActive, subscriber } of this.#subscriptions())
          if (isActive) subscriber.onConnection();
        for (const listener of this.#listeners) listener();
      },
    });
  }

  get connection(): ConnectionInfo {
    return this.#stream.connection;
  }

  /** Calls the listener when `connection` has changed. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects, also again after a refusal (an expired session). */
  open(): void {
    this.#stream.open();
  }

  /** Reconnects now instead of after the wait. */
  retryNow(): void {
    this.#stream.retryNow();
  }

  /** Closes the connection until `open`. Subscriptions and their cursors stay. */
  shut(): void {
    this.#stream.shut();
  }

  close(): void {
    this.#listeners.clear();
    this.#stream.close();
    this.#cancelTurn?.();
    for (const each of this.#subscriptions()) each.cancelRetry();
    this.#tasks.clear();
    this.#chats = undefined;
  }

  /** For `createTaskStore`. */
  followTask(taskId: string, subscriber: TaskSubscriber): Subscription {
    const subscription = this.#subscription(subscriber, () => {
      if (this.#tasks.get(taskId) !== subscription) return false;
      return this.#tasks.delete(taskId);
    });
    this.#tasks.set(taskId, subscription);
    this.#stream.connectSoon();
    return subscription;
  }

  /** For `followChats`. */
  followChats(subscriber: Subscriber<ChatsStreamEvent>): Subscription {
    const subscription = this.#subscription(subscriber, () => {
      if (this.#chats !== subscription) return false;
      this.#chats = undefined;
      return true;
    });
    this.#chats = subscription;
    this.#stream.connectSoon();
    return subscription;
  }

  #subscription<S extends Subscriber<never>>(
    subscriber: S,
    remove: () => boolean,
  ): OneSubscription<S> {
    const { schedule, random = () => 1 } = this.#options;
    return new OneSubscription(subscriber, {
      schedule,
      random,
      remove,
      stream: this.#stream,
      hangUpIfIdle: () => {
        const isIdle = this.#isIdle();
        if (isIdle) this.#stream.hangUp();
        return isIdle;
      },
    });
  }

  #subscriptions(): OneSubscription[] {
    return [...(this.#chats === undefined ? [] : [this.#chats]), ...this.#tasks.values()];
  }

  #isIdle(): boolean {
    return this.#subscriptions().every(({ isActive }) => !isActive);
  }

  #request(): EventsRequest | undefined {
    const active = [...this.#tasks].filter(([, task]) => task.isActive);
    const chats = this.#chats?.isActive ? { after: this.#chats.subscriber.cursor() } : undefined;
    if (this.#isIdle()) return undefined;
    this.#takeTurns(active.slice(0, -maxTasks).map(([taskId]) => taskId));
    const tasks = active
      .slice(-maxTasks)
      .map(([task_id, { subscriber }]) => ({ task_id, after: subscriber.cursor() }));
    return chats === undefined ? { tasks } : { chats, tasks };
  }

  /** Tasks that do not fit into this request go first in the next one. */
  #takeTurns(waiting: readonly string[]): void {
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    if (waiting.length === 0) return;
    this.#cancelTurn = this.#options.schedule(turnMs, () => {
      for (const taskId of waiting) {
        const task = this.#tasks.get(taskId);
        if (task === undefined) continue;
        this.#tasks.delete(taskId);
        this.#tasks.set(taskId, task);
      }
      this.#stream.connectSoon();
    });
  }

  #dispatch(event: TaskStreamEvent | ChatsStreamEvent, request: EventsRequest): void {
    if (event.type.endsWith(".heartbeat")) this.#stream.succeeded();
    if (isOfChats(event)) {
      if (this.#chats?.isActive) this.#chats.subscriber.event(event);
      return;
    }
    const task = this.#taskOf(event, request);
    if (task?.isActive) task.subscriber.event(event);
  }

  #taskOf(event: TaskStreamEvent, { tasks }: EventsRequest) {
    const [only] = tasks;
    if (only !== undefined && tasks.length === 1) return this.#tasks.get(only.task_id);
    const own = this.#tasks.get(event.task_id);
    if (own !== undefined) return own;
    if (event.type === "task.created") return this.#tasks.get(event.task.root_task_id);
    for (const task of this.#tasks.values())
      if (task.subscriber.includes(event.task_id)) return task;
    return undefined;
  }
}

/** The connection as one subscriber sees it. */
export interface Subscription {
  /** Its own state if it waits, has ended or was refused; else that of the client. */
  readonly connection: ConnectionInfo;
  /** Resets the backoff, after a new event. */
  succeeded(): void;
  /** Subscribes again at the current cursor, with backoff, because the received events cannot be used. */
  retry(reason: string): void;
  /** Ends the subscription but keeps its state visible. */
  stop(connection: ConnectionInfo): void;
  close(): void;
}

interface SubscriptionOptions {
  schedule: Schedule;
  random: () => number;
  stream: Pick<
    ReconnectingStream<never, never>,
    "connection" | "connect" | "connectSoon" | "succeeded"
  >;
  /** Returns false if it was removed before. */
  remove: () => boolean;
  /** Returns true if no active subscription is left. */
  hangUpIfIdle: () => boolean;
}

class OneSubscription<S extends Subscriber<never> = Subscriber<never>> implements Subscription {
  readonly subscriber: S;
  readonly #options: SubscriptionOptions;
  /** Undefined: the state of the client applies. */
  #own: ConnectionInfo | undefined;
  #failures = 0;
  #cancelRetry: (() => void) | undefined;

  constructor(subscriber: S, options: SubscriptionOptions) {
    this.subscriber = subscriber;
    this.#options = options;
  }

  get connection(): ConnectionInfo {
    return this.#own ?? this.#options.stream.connection;
  }

  get isActive(): boolean {
    return this.#own === undefined;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#options.stream.succeeded();
  }

  retry(reason: string): void {
    const { schedule, random, stream } = this.#options;
    const wait = backoff(this.#failures, random());
    this.#failures += 1;
    this.stop({ state: "waiting", reason });
    this.#cancelRetry = schedule(wait, () => {
      this.#own = undefined;
      stream.connect();
      this.subscriber.onConnection();
    });
  }

  /** The stream stays open for the others; events for this subscription are ignored. */
  stop(connection: ConnectionInfo): void {
    this.cancelRetry();
    this.#own = connection;
    this.#options.hangUpIfIdle();
    this.subscriber.onConnection();
  }

  close(): void {
    this.cancelRetry();
    const { remove, hangUpIfIdle, stream } = this.#options;
    if (remove() && !hangUpIfIdle() && this.isActive) stream.connectSoon();
  }

  cancelRetry(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }
}

function isOfChats(event: TaskStreamEvent | ChatsStreamEvent): event is ChatsStreamEvent {
  return event.type.startsWith("chat") || event.type === "approvals.changed";
}
