import { errorOf, type ChatApiError } from "../api-error.ts";
import type {
  ChatsStreamEvent,
  EventsRequest,
  EventTransport,
  TaskStreamEvent,
} from "./event-client.ts";
import { messageOf } from "./reconnecting-stream.ts";
import { SseReader, type Utf8Decoder } from "./sse-reader.ts";

/** What is needed of the platform: `globalThis` of browsers, workers and Node fits. */
export interface FetchPlatform<Signal> {
  readonly fetch: (
    url: string,
    request: { signal: Signal; cache: "no-store"; headers: Record<string, string> },
  ) => Promise<StreamReply>;
  readonly AbortController: new () => { readonly signal: Signal; abort(): void };
  readonly TextDecoder: new () => Utf8Decoder;
}

interface StreamReply {
  readonly status: number;
  readonly body: { getReader(): { read(): Promise<StreamChunk> } } | null;
  text(): Promise<string>;
}

type StreamChunk = { readonly done: boolean; readonly value?: Uint8Array | undefined };

type Handlers = Parameters<EventTransport>[1];

export interface FetchEventsOptions {
  /** Where the gateway is, without a slash at the end; "" for a page of its own. */
  base: string;
  token?: string;
}

/** The transport of an `EventClient` over `GET /api/events`. Only 401 is a refusal: all else may be better soon. */
export function eventsOverFetch<Signal>(
  { fetch, AbortController, TextDecoder }: FetchPlatform<Signal>,
  { base, token }: FetchEventsOptions,
): EventTransport {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (request, handlers) => {
    const aborting = new AbortController();
    const read = async (): Promise<void> => {
      const reply = await fetch(`${base}/api/events?${queryOf(request)}`, {
        signal: aborting.signal,
        cache: "no-store",
        headers: { accept: "text/event-stream", ...authorization },
      });
      const { status, body } = reply;
      if (status !== 200 || body === null)
        return refuse(request, errorOf(status, await reply.text()), handlers);
      const sse = new SseReader(new TextDecoder());
      const reader = body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || value === undefined) return handlers.closed();
        handlers.activity();
        for (const data of sse.push(value))
          handlers.event(JSON.parse(data) as TaskStreamEvent | ChatsStreamEvent);
      }
    };
    read().catch((error: unknown) => handlers.closed(messageOf(error)));
    return { close: () => aborting.abort() };
  };
}

/** Codes of a request of which no task can be followed. */
const noSuchTask = new Set(["task_not_found", "not_a_root_task"]);

function refuse(request: EventsRequest, error: ChatApiError, handlers: Handlers): void {
  const { status, code, message } = error;
  if (status === 401) return handlers.refused(message);
  if (noSuchTask.has(code))
    for (const { task_id } of request.tasks)
      handlers.event({ type: "task.stream.refused", task_id, code, message });
  handlers.closed(message, error);
}

function queryOf({ chats, tasks }: EventsRequest): string {
  return [
    ...(chats === undefined ? [] : [`chats=${chats.after ?? ""}`]),
    ...tasks.map(({ task_id, after }) => {
      const id = encodeURIComponent(task_id);
      return after === undefined ? `task=${id}` : `task=${id}:${after}`;
    }),
  ].join("&");
}
