import { parseApiError, type ChatApiError } from "../api-error.ts";
import type {
  ChatFeedMessage,
  EventsRequest,
  EventTransport,
  TaskStreamEvent,
} from "./event-client.ts";
import { formatUnknownError } from "./reconnecting-stream.ts";
import { SseReader, type StreamingTextDecoder } from "./sse-reader.ts";

/** The required platform APIs. `globalThis` of browsers, workers and Node is assignable. */
export interface FetchPlatform<Signal> {
  readonly fetch: (
    url: string,
    request: { signal: Signal; cache: "no-store"; headers: Record<string, string> },
  ) => Promise<StreamResponse>;
  readonly AbortController: new () => { readonly signal: Signal; abort(): void };
  readonly TextDecoder: new () => StreamingTextDecoder;
}

interface StreamResponse {
  readonly status: number;
  readonly body: { getReader(): { read(): Promise<StreamChunk> } } | null;
  text(): Promise<string>;
}

type StreamChunk = { readonly done: boolean; readonly value?: Uint8Array | undefined };

/** The last event of a connection that the gateway ends. */
interface StreamError {
  readonly type: "stream.error";
  readonly code: string;
  readonly message: string;
}

type Handlers = Parameters<EventTransport>[1];

export interface FetchTransportOptions {
  /** URL of the gateway without a trailing slash; "" on a page that the gateway serves. */
  baseUrl: string;
  token?: string;
}

/**
 * Creates the transport of an `EventClient` over `GET /api/events`. A 401, or a key that is
 * revoked later, ends the retries. If the gateway rejects the requested
 * tasks, the client stops following them. Every other error may be temporary, so the connection is opened again.
 */
export function createFetchTransport<Signal>(
  { fetch, AbortController, TextDecoder }: FetchPlatform<Signal>,
  { baseUrl, token }: FetchTransportOptions,
): EventTransport {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (request, handlers) => {
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      const response = await fetch(`${baseUrl}/api/events?${buildQuery(request)}`, {
        signal: controller.signal,
        cache: "no-store",
        headers: { accept: "text/event-stream", ...authorization },
      });
      const { status, body } = response;
      if (status !== 200 || body === null)
        return reportRejection(request, parseApiError(status, await response.text()), handlers);
      const sse = new SseReader(new TextDecoder());
      const reader = body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || value === undefined) return handlers.onClosed();
        handlers.onActivity();
        for (const data of sse.push(value)) {
          const event = JSON.parse(data) as TaskStreamEvent | ChatFeedMessage | StreamError;
          if (event.type !== "stream.error") handlers.onEvent(event);
          else if (event.code === "key_revoked") return handlers.onRejected(event.message);
          else return handlers.onClosed(event.message);
        }
      }
    };
    read().catch((error: unknown) => handlers.onClosed(formatUnknownError(error)));
    return { close: () => controller.abort() };
  };
}

function reportRejection(request: EventsRequest, error: ChatApiError, handlers: Handlers): void {
  const { status, code, message } = error;
  if (status === 401) return handlers.onRejected(message);
  // No task of the request can be followed. The error describes only the first one.
  if (code === "task_not_found" || code === "not_a_root_task")
    request.tasks.forEach(({ task_id }, index) =>
      handlers.onEvent({
        type: "task.stream.rejected",
        task_id,
        ...(index === 0 ? { code, message } : { code: "unknown", message: "unknown task" }),
      }),
    );
  handlers.onClosed(message, error);
}

function buildQuery({ chats, tasks }: EventsRequest): string {
  return [
    ...(chats === undefined ? [] : [`chats=${chats.after ?? ""}`]),
    ...tasks.map(({ task_id, after }) => {
      const id = encodeURIComponent(task_id);
      return after === undefined ? `task=${id}` : `task=${id}:${after}`;
    }),
  ].join("&");
}
