import {
  createTaskStore,
  EventClient,
  type EventsRequest,
  type EventTransport,
  type TaskStoreClient,
} from "@deltawire/tasks";
import { Clock } from "../clock.ts";

type Handlers = Parameters<EventTransport>[1];

export interface Opening {
  readonly request: EventsRequest;
  readonly handlers: Handlers;
  isClosed: boolean;
}

/** A client on a clock that is turned by hand, on a machine and with streams of which a test says what happens. */
export class ScriptedClient {
  readonly clock = new Clock();
  readonly openings: Opening[] = [];
  readonly client: EventClient;
  readonly store: TaskStoreClient;
  readonly #machine = { online: true, visible: true };
  readonly #listeners = new Set<() => void>();

  constructor() {
    const schedule = this.clock.schedule;
    this.client = new EventClient({
      schedule,
      host: {
        now: () => this.clock.now,
        isOnline: () => this.#machine.online,
        isVisible: () => this.#machine.visible,
        onChange: (listener) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
      },
      transport: (request, handlers) => {
        const opening = { request, handlers, isClosed: false };
        this.openings.push(opening);
        return { close: () => void (opening.isClosed = true) };
      },
    });
    this.store = createTaskStore({ client: this.client, schedule });
  }

  get last(): Opening {
    const last = this.openings.at(-1);
    if (last === undefined) throw new Error("nothing was opened");
    return last;
  }

  /** The network of the machine, or whether the tab is shown, changes. */
  turn(to: { online?: boolean; visible?: boolean }): void {
    Object.assign(this.#machine, to);
    for (const listener of this.#listeners) listener();
  }

  /** All that was asked for in this turn goes into one request. */
  async settle(): Promise<void> {
    await Promise.resolve();
    await Promise.resolve();
    this.clock.pass();
  }

  send(...events: Parameters<Handlers["event"]>[0][]): void {
    for (const event of events) this.last.handlers.event(event);
    this.clock.pass();
  }
}
