/**
 * An event as it goes over the wire. What only a connection says has no id, so that a client's cursor stays where it is.
 */
export function encodeTaskEvent(json: string, id: string | number | undefined): string {
  const data = json.includes("\n") || json.includes("\r") ? oneLine(json) : json;
  return id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`;
}

/** In JSON a line's end is nothing but a blank. */
function oneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, " ");
}
