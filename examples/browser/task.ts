/*
 * Tasks in a page: what a page hands in, so that `createTaskStore` follows tasks on one connection over `fetch`, which can
 * send a token, as an EventSource cannot.
 */
import {
  createTaskStore,
  EventClient,
  eventsOverFetch,
  type TaskStoreClient,
} from "@deltawire/tasks";

/** `base` is the address of the gateway, `ask` is `fetch`, with a token where the gateway wants one. */
export function taskStore(base: string, ask: typeof fetch): TaskStoreClient {
  const schedule = (ms: number, run: () => void): (() => void) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
  const transport = eventsOverFetch({ AbortController, TextDecoder, fetch: ask }, { base });
  const client = new EventClient({ transport, schedule, random: Math.random });
  client.open();
  return createTaskStore({ client, schedule });
}
