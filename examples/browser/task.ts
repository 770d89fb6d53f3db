/*
 * Tasks in a page: what a page hands in, so that `createTaskStore` follows tasks over `fetch`, which can send a token, as
 * an EventSource cannot.
 */
import { createTaskStore, type Connect, type TaskStoreClient } from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";

/** `ask` is `fetch`, with a token where the gateway wants one. */
export function taskStore(api: string, ask: typeof fetch): TaskStoreClient {
  const schedule = (ms: number, run: () => void): (() => void) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  };
  return createTaskStore({ connect: eventsOf(api, ask), schedule, random: Math.random });
}

function eventsOf(api: string, ask: typeof fetch): Connect {
  return ({ task_id, after }, { event, closed, refused }) => {
    const leaving = new AbortController();
    read().then(closed, (error: unknown) => closed(String(error)));
    return { close: () => leaving.abort() };

    async function read(): Promise<string> {
      const query = after === undefined ? "" : `?after=${after}`;
      const address = `${api}/tasks/${task_id}/events${query}`;
      const response = await ask(address, { signal: leaving.signal });
      const { status, body } = response;
      // Nobody helps a reader whose task is not there or not for it; all else may be better soon.
      if ([400, 401, 403, 404].includes(status)) refused(await response.text());
      if (!response.ok || body === null) return `status ${status}`;
      const decoder = new SseDecoder({ utf8: new TextDecoder() });
      const frames: SseEvent[] = [];
      const reader = body.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        decoder.push(part.value, frames);
        for (const { data } of frames.splice(0)) event(JSON.parse(data));
      }
      return "the server ended the stream";
    }
  };
}
