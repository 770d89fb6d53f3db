/**
 * Encodes an event for SSE. Events about the connection have no id, so that the cursor of the client does not move.
 */
export function encodeTaskEvent(json: string, id: string | number | undefined): string {
  const data = json.includes("\n") || json.includes("\r") ? toOneLine(json) : json;
  return id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`;
}

/** Replaces line breaks, which are only whitespace in JSON. */
function toOneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, " ");
}
