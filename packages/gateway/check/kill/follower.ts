import {
  createTaskStore,
  type StreamEvent,
  type TaskEvent,
  type TaskStoreClient,
} from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";

/** The client that a page would have, on a server that may be down. `onEvent` sees what comes before the client does. */
export function follower(
  address: () => string | undefined,
  onEvent: (event: TaskEvent | StreamEvent) => void = () => undefined,
): TaskStoreClient {
  return createTaskStore({
    connect({ task_id, after }, { event, closed, refused }) {
      const stop = new AbortController();
      const read = async (): Promise<void> => {
        const url = address();
        if (url === undefined) return closed("the server is down");
        const query = after === undefined ? "" : `?after=${after}`;
        const { signal } = stop;
        const reply = await fetch(`${url}/api/tasks/${task_id}/events${query}`, { signal });
        if (reply.status === 404) return refused(await reply.text());
        if (!reply.ok || reply.body === null) return closed(`status ${reply.status}`);
        const utf8 = new TextDecoder();
        const decoder = new SseDecoder({ utf8, maxEventLength: Number.POSITIVE_INFINITY });
        const frames: SseEvent[] = [];
        for await (const bytes of reply.body) {
          decoder.push(bytes as Uint8Array, frames);
          for (const { data } of frames.splice(0)) {
            const one = JSON.parse(data) as TaskEvent | StreamEvent;
            onEvent(one);
            event(one);
          }
        }
        closed();
      };
      read().catch((error: unknown) => closed(String(error)));
      return { close: () => stop.abort() };
    },
    schedule(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
  });
}
