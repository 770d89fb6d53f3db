import { unreachable } from "../unreachable.ts";
import { cell, type Cell } from "../cell.ts";

/** What the page shows, as its address says it. */
export type Route =
  | { readonly is: "new" }
  | { readonly is: "chat"; readonly chatId: string; readonly nodeId?: string | undefined }
  | { readonly is: "tree"; readonly chatId: string }
  | { readonly is: "upstreams" };

export interface Router {
  readonly route: Cell<Route>;
  go(route: Route): void;
  /** The same place by another address: nobody goes back to the one before. */
  replace(route: Route): void;
}

export function routeOf(hash: string): Route {
  const [place, id = "", more = "", node = ""] = hash.replace(/^#?\/?/, "").split("/");
  if (place === "upstreams") return { is: "upstreams" };
  if (place !== "chats" || id === "") return { is: "new" };
  const chatId = decoded(id);
  if (more === "tree") return { is: "tree", chatId };
  return more === "at" && node !== ""
    ? { is: "chat", chatId, nodeId: decoded(node) }
    : { is: "chat", chatId };
}

export function hashOf(route: Route): string {
  switch (route.is) {
    case "new":
      return "#/";
    case "upstreams":
      return "#/upstreams";
    case "tree":
      return `#/chats/${encodeURIComponent(route.chatId)}/tree`;
    case "chat": {
      const chat = `#/chats/${encodeURIComponent(route.chatId)}`;
      return route.nodeId === undefined ? chat : `${chat}/at/${encodeURIComponent(route.nodeId)}`;
    }
    default:
      return unreachable(route);
  }
}

/** Follows the address bar of a window, back and forth. */
export function createRouter(window: Window): Router & { close(): void } {
  const route = cell<Route>(routeOf(window.location.hash));
  const listen = () => route.set(routeOf(window.location.hash));
  window.addEventListener("hashchange", listen);
  return {
    route,
    go(next) {
      const hash = hashOf(next);
      if (hash === window.location.hash) return route.set(next);
      window.location.hash = hash;
      listen();
    },
    replace(next) {
      window.history.replaceState(window.history.state, "", hashOf(next));
      route.set(next);
    },
    close: () => window.removeEventListener("hashchange", listen),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
