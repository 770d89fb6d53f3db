import type { StreamEvent, TaskEvent } from "../events.ts";
import {
  backoffMs,
  ReconnectingStream,
  type ConnectionInfo,
  type Schedule,
  type StreamHost,
  type TransportHandlers,
} from "./reconnecting-stream.ts";

/** A position in the events of a task and its sub-agents. */
export interface TaskCursor {
  task_id: string;
  /** Number of the last known event; undefined requests a snapshot. */
  after: number | undefined;
}

/** What one connection subscribes to. */
export interface EventsRequest {
  /** Absent: no changes of chats. `after: undefined`: only changes from now on. */
  readonly chats?: { readonly after: number | undefined };
  readonly tasks: readonly TaskCursor[];
}

export type TaskStreamEvent = TaskEvent | StreamEvent;
/** `ChatFeedEvent` and `ChatChange` of the chats, which the client only passes on. */
export interface ChatFeedMessage {
  readonly type: `chat.${string}` | `chats.${string}` | "approvals.changed";
}

/** Opens one stream of events: `createFetchTransport`, or your own. Reports after `close` are ignored. */
export type EventTransport = (
  request: EventsRequest,
  handlers: TransportHandlers<TaskStreamEvent | ChatFeedMessage>,
) => { close(): void };

export interface EventClientOptions {
  transport: EventTransport;
  schedule: Schedule;
  /** Jitter for the backoff, so that clients do not all reconnect at once: `Math.random`. Default: no jitter. */
  random?: () => number;
  /** If set, the client reacts to the network state and to a hidden tab. */
  host?: StreamHost;
}

/** The receiver of the events of one task, or of the chats. */
export interface EventSubscriber<Event> {
  /** Called for each new connection. Returns the position after which events are requested. */
  getCursor: () => number | undefined;
  onEvent: (event: Event) => void;
  /** Called when `connection` of the subscription has changed. */
  onConnection: () => void;
}

export interface TaskSubscriber extends EventSubscriber<TaskStreamEvent> {
  /** True if the task is a sub-agent of the subscribed task. The events of sub-agents contain only their own task id. */
  includesTask: (taskId: string) => boolean;
}

/** The gateway's limit for one connection. */
const maxTasks = 100;
/** After this time, a new connection includes the tasks beyond the limit. */
const rotationMs = 18_000;

/**
 * One connection for everything that a page follows: tasks and the changes of chats. Reconnects automatically and resumes
 * each subscription at its cursor. Pass it to `createTaskStore` (one store per client) and to `followChats`, then call `open`.
 */
export class EventClient {
  readonly #options: EventClientOptions;
  readonly #stream: ReconnectingStream<EventsRequest, TaskStreamEvent | ChatFeedMessage>;
  readonly #tasks = new Map<string, ClientSubscription<TaskSubscriber>>();
  #chats: ClientSubscription<EventSubscriber<ChatFeedMessage>> | undefined;
  readonly #listeners = new Set<() => void>();
  #cancelRotation: (() => void) | undefined;

  constructor(options: EventClientOptions) {
    const { transport, schedule, random = () => 1, host } = options;
    this.#options = options;
    this.#stream = new ReconnectingStream({
      connect: transport,
      schedule,
      random,
      host,
      buildRequest: () => this.#buildRequest(),
      onEvent: (event, request) => this.#dispatch(event, request),
      onChange: () => {
        for (const { isActive, subscriber } of this.#listSubscriptions())
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

  /** Connects. Call it again after a rejection, such as an expired session. */
  open(): void {
    this.#stream.open();
  }

  /** Reconnects now instead of waiting for the next attempt. */
  retryNow(): void {
    this.#stream.retryNow();
  }

  /** Closes the connection until `open`. Subscriptions and their cursors stay. */
  disconnect(): void {
    this.#stream.disconnect();
  }

  close(): void {
    this.#listeners.clear();
    this.#stream.close();
    this.#cancelRotation?.();
    for (const subscription of this.#listSubscriptions()) subscription.cancelRetry();
    this.#tasks.clear();
    this.#chats = undefined;
  }

  /** Used by `createTaskStore`. */
  followTask(taskId: string, subscriber: TaskSubscriber): EventSubscription {
    const subscription = this.#createSubscription(subscriber, () => {
      if (this.#tasks.get(taskId) !== subscription) return false;
      return this.#tasks.delete(taskId);
    });
    this.#tasks.set(taskId, subscription);
    this.#stream.connectSoon();
    return subscription;
  }

  /** Used by `followChats`. */
  followChats(subscriber: EventSubscriber<ChatFeedMessage>): EventSubscription {
    const subscription = this.#createSubscription(subscriber, () => {
      if (this.#chats !== subscription) return false;
      this.#chats = undefined;
      return true;
    });
    this.#chats = subscription;
    this.#stream.connectSoon();
    return subscription;
  }

  #createSubscription<S extends EventSubscriber<never>>(
    subscriber: S,
    remove: () => boolean,
  ): ClientSubscription<S> {
    const { schedule, random = () => 1 } = this.#options;
    return new ClientSubscription(subscriber, {
      schedule,
      random,
      remove,
      stream: this.#stream,
      goIdleIfUnused: () => {
        const isIdle = this.#isIdle();
        if (isIdle) this.#stream.goIdle();
        return isIdle;
      },
    });
  }

  #listSubscriptions(): ClientSubscription[] {
    return [...(this.#chats === undefined ? [] : [this.#chats]), ...this.#tasks.values()];
  }

  #isIdle(): boolean {
    return this.#listSubscriptions().every(({ isActive }) => !isActive);
  }

  #buildRequest(): EventsRequest | undefined {
    const activeTasks = [...this.#tasks].filter(([, task]) => task.isActive);
    const chats = this.#chats?.isActive ? { after: this.#chats.subscriber.getCursor() } : undefined;
    if (this.#isIdle()) return undefined;
    this.#scheduleRotation(activeTasks.slice(0, -maxTasks).map(([taskId]) => taskId));
    const tasks = activeTasks
      .slice(-maxTasks)
      .map(([task_id, { subscriber }]) => ({ task_id, after: subscriber.getCursor() }));
    return chats === undefined ? { tasks } : { chats, tasks };
  }

  /** Schedules a reconnect that includes the tasks beyond the limit. */
  #scheduleRotation(omittedTaskIds: readonly string[]): void {
    this.#cancelRotation?.();
    this.#cancelRotation = undefined;
    if (omittedTaskIds.length === 0) return;
    this.#cancelRotation = this.#options.schedule(rotationMs, () => {
      for (const taskId of omittedTaskIds) {
        const task = this.#tasks.get(taskId);
        if (task === undefined) continue;
        // Moves the task to the end: a request includes the last tasks.
        this.#tasks.delete(taskId);
        this.#tasks.set(taskId, task);
      }
      this.#stream.connectSoon();
    });
  }

  #dispatch(event: TaskStreamEvent | ChatFeedMessage, request: EventsRequest): void {
    if (event.type.endsWith(".heartbeat")) this.#stream.resetBackoff();
    if (isChatFeedMessage(event)) {
      if (this.#chats?.isActive) this.#chats.subscriber.onEvent(event);
      return;
    }
    const task = this.#findTaskSubscription(event, request);
    if (task?.isActive) task.subscriber.onEvent(event);
  }

  #findTaskSubscription(event: TaskStreamEvent, { tasks }: EventsRequest) {
    const [onlyTask] = tasks;
    if (onlyTask !== undefined && tasks.length === 1) return this.#tasks.get(onlyTask.task_id);
    const subscription = this.#tasks.get(event.task_id);
    if (subscription !== undefined) return subscription;
    if (event.type === "task.created") return this.#tasks.get(event.task.root_task_id);
    for (const task of this.#tasks.values())
      if (task.subscriber.includesTask(event.task_id)) return task;
    return undefined;
  }
}

/** The subscription to one task, or to the chats. */
export interface EventSubscription {
  /** The state of the subscription if it is waiting, has ended or was rejected; otherwise the state of the client. */
  readonly connection: ConnectionInfo;
  /** Resets the backoff. Call it after each new event. */
  resetBackoff(): void;
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
    "connection" | "connect" | "connectSoon" | "resetBackoff"
  >;
  /** Returns false if the subscription was already removed. */
  remove: () => boolean;
  /** Returns true if no active subscription remains. */
  goIdleIfUnused: () => boolean;
}

class ClientSubscription<
  S extends EventSubscriber<never> = EventSubscriber<never>,
> implements EventSubscription {
  readonly subscriber: S;
  readonly #options: SubscriptionOptions;
  /** If set, replaces the state of the client. */
  #connectionOverride: ConnectionInfo | undefined;
  #failureCount = 0;
  #cancelRetry: (() => void) | undefined;

  constructor(subscriber: S, options: SubscriptionOptions) {
    this.subscriber = subscriber;
    this.#options = options;
  }

  get connection(): ConnectionInfo {
    return this.#connectionOverride ?? this.#options.stream.connection;
  }

  get isActive(): boolean {
    return this.#connectionOverride === undefined;
  }

  resetBackoff(): void {
    this.#failureCount = 0;
    this.#options.stream.resetBackoff();
  }

  retry(reason: string): void {
    const { schedule, random, stream } = this.#options;
    const wait = backoffMs(this.#failureCount, random());
    this.#failureCount += 1;
    this.stop({ state: "waiting", reason });
    this.#cancelRetry = schedule(wait, () => {
      this.#connectionOverride = undefined;
      stream.connect();
      this.subscriber.onConnection();
    });
  }

  /** The stream stays open for the other subscriptions; events for this subscription are ignored. */
  stop(connection: ConnectionInfo): void {
    this.cancelRetry();
    this.#connectionOverride = connection;
    this.#options.goIdleIfUnused();
    this.subscriber.onConnection();
  }

  close(): void {
    this.cancelRetry();
    const { remove, goIdleIfUnused, stream } = this.#options;
    if (remove() && !goIdleIfUnused() && this.isActive) stream.connectSoon();
  }

  cancelRetry(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }
}

function isChatFeedMessage(event: TaskStreamEvent | ChatFeedMessage): event is ChatFeedMessage {
  return event.type.startsWith("chat") || event.type === "approvals.changed";
}
