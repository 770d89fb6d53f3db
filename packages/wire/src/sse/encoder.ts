import { WireError } from "../error.ts";

/** One event as text. `data` is split at its line ends, as the format demands. */
export function encodeSse(event: { data: string; event?: string; id?: string }): string {
  let text = "";
  if (event.id !== undefined) text += `id: ${oneLine("id", event.id)}\n`;
  if (event.event !== undefined) text += `event: ${oneLine("event", event.event)}\n`;
  if (/[\r\n]/.test(event.data))
    for (const line of event.data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  else text += `data: ${event.data}\n`;
  return `${text}\n`;
}

/**
 * A comment that keeps proxies and sockets awake; to be written between events only. It has no blank line of its
 * own: after an `id:` line that would dispatch an empty event in some clients.
 */
export const sseKeepAlive = ": keep-alive\n";

/** The sentinel that ends a Chat stream. */
export const sseDone = "data: [DONE]\n\n";

function oneLine(field: string, value: string): string {
  if (/[\r\n\0]/.test(value))
    throw new WireError("unsupported", `an SSE ${field} cannot hold a line end`, { param: field });
  return value;
}
