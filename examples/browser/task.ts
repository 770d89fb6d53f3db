/*
 * Creates a task store for a web page. It follows tasks on one connection with `fetch`, which can send a token, unlike
 * EventSource.
 */
import {
  createTaskStore,
  EventClient,
  createFetchTransport,
  type TaskStore,
} from "@deltawire/tasks";

/**
 * `baseUrl` is the URL of the gateway. `fetchWithToken` is `fetch`, with an authorization header if the gateway requires
 * one.
 */
export function createPageTaskStore(baseUrl: string, fetchWithToken: typeof fetch): TaskStore {
  const schedule = (ms: number, run: () => void): (() => void) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
  const transport = createFetchTransport(
    { AbortController, TextDecoder, fetch: fetchWithToken },
    { baseUrl },
  );
  const client = new EventClient({ transport, schedule, random: Math.random });
  client.open();
  return createTaskStore({ client, schedule });
}
