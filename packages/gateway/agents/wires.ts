/** The APIs that agents and upstreams use. */
export const wires = ["chat", "responses", "messages"] as const;

export type Wire = (typeof wires)[number];

/** Returns the API of a request path, or undefined if it is not a request for a reply. */
export function findWire(path: string): Wire | undefined {
  const { pathname } = new URL(path, "http://127.0.0.1");
  if (pathname.endsWith("/chat/completions")) return "chat";
  if (pathname.endsWith("/responses")) return "responses";
  return pathname.endsWith("/messages") ? "messages" : undefined;
}
