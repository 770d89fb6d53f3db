import { WireError } from "../error.ts";

/**
 * Encodes an event. Multi-line `data` is split into several `data:` lines. Throws if `event` or `id` contains a line
 * break or NUL.
 */
export function encodeSse(event: { data: string; event?: string; id?: string }): string {
  let text = "";
  if (event.id !== undefined) text += `id: ${assertSingleLine("id", event.id)}\n`;
  if (event.event !== undefined) text += `event: ${assertSingleLine("event", event.event)}\n`;
  if (/[\r\n]/.test(event.data))
    for (const line of event.data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  else text += `data: ${event.data}\n`;
  return `${text}\n`;
}

/**
 * A comment that prevents idle timeouts of proxies and sockets. Write it only between events. It does not end in a
 * blank line: after an `id:` line, some clients would dispatch an empty event.
 */
export const sseKeepAlive = ": keep-alive\n";

/** Ends a Chat stream. */
export const sseDone = "data: [DONE]\n\n";

function assertSingleLine(field: string, value: string): string {
  if (/[\r\n\0]/.test(value))
    throw new WireError("unsupported", `an SSE ${field} must not contain a line break or NUL`, {
      param: field,
    });
  return value;
}
