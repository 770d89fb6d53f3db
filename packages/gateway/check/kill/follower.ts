import {
  createTaskStore,
  EventClient,
  eventsOverFetch,
  type StreamEvent,
  type TaskEvent,
  type TaskStoreClient,
} from "@deltawire/tasks";

/** The client that a page would have, on a server that may be down. `onEvent` sees what comes before the client does. */
export function follower(
  address: () => string | undefined,
  onEvent: (event: TaskEvent | StreamEvent) => void = () => undefined,
): TaskStoreClient {
  const schedule = (ms: number, run: () => void): (() => void) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
  const client = new EventClient({
    transport(request, handlers) {
      const base = address();
      if (base === undefined) throw new Error("the server is down");
      return eventsOverFetch(globalThis, { base })(request, handlers);
    },
    schedule,
    random: Math.random,
  });
  client.open();
  return createTaskStore({ client, schedule, onEvent: (_taskId, event) => onEvent(event) });
}
