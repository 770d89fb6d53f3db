import {
  createTaskStore,
  EventClient,
  createFetchTransport,
  type StreamEvent,
  type TaskEvent,
  type TaskStore,
} from "@deltawire/tasks";

/** Creates the client of the page for a server that may be down. `onEvent` gets events before the client does. */
export function createFollower(
  getServerUrl: () => string | undefined,
  onEvent: (event: TaskEvent | StreamEvent) => void = () => undefined,
): TaskStore {
  const schedule = (ms: number, run: () => void): (() => void) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
  const client = new EventClient({
    transport(request, handlers) {
      const baseUrl = getServerUrl();
      if (baseUrl === undefined) throw new Error("the server is down");
      return createFetchTransport(globalThis, { baseUrl })(request, handlers);
    },
    schedule,
    random: Math.random,
  });
  client.open();
  return createTaskStore({ client, schedule, onEvent: (_taskId, event) => onEvent(event) });
}
