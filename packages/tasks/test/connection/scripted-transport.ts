import {
  createTaskStore,
  EventClient,
  type EventsRequest,
  type EventTransport,
  type TaskStore,
} from "@deltawire/tasks";
import { Clock } from "../clock.ts";

type Handlers = Parameters<EventTransport>[1];

export interface FakeConnection {
  readonly request: EventsRequest;
  readonly handlers: Handlers;
  isClosed: boolean;
}

/** A client with a fake clock, host and transport, which the test controls. */
export class ScriptedClient {
  readonly clock = new Clock();
  readonly connections: FakeConnection[] = [];
  readonly client: EventClient;
  readonly store: TaskStore;
  readonly #host = { online: true, visible: true };
  readonly #listeners = new Set<() => void>();

  constructor() {
    const schedule = this.clock.schedule;
    this.client = new EventClient({
      schedule,
      host: {
        now: () => this.clock.now,
        isOnline: () => this.#host.online,
        isVisible: () => this.#host.visible,
        onChange: (listener) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
      },
      transport: (request, handlers) => {
        const connection = { request, handlers, isClosed: false };
        this.connections.push(connection);
        return { close: () => void (connection.isClosed = true) };
      },
    });
    this.store = createTaskStore({ client: this.client, schedule });
  }

  get lastConnection(): FakeConnection {
    const last = this.connections.at(-1);
    if (last === undefined) throw new Error("no connection was opened");
    return last;
  }

  /** Changes the network state or the visibility of the page. */
  setHost(state: { online?: boolean; visible?: boolean }): void {
    Object.assign(this.#host, state);
    for (const listener of this.#listeners) listener();
  }

  /** Waits until the subscriptions of this turn are sent as one request. */
  async settle(): Promise<void> {
    await Promise.resolve();
    await Promise.resolve();
    this.clock.advance();
  }

  send(...events: Parameters<Handlers["onEvent"]>[0][]): void {
    for (const event of events) this.lastConnection.handlers.onEvent(event);
    this.clock.advance();
  }
}
