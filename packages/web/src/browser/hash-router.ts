import { assertNever } from "@deltawire/tasks";
import { createCell, type Cell } from "../cell.ts";

/** What the page shows, parsed from the URL hash. */
export type HashRoute =
  | { readonly type: "new" }
  | { readonly type: "chat"; readonly chatId: string; readonly nodeId?: string | undefined }
  | { readonly type: "tree"; readonly chatId: string }
  | { readonly type: "upstreams" };

export interface Router {
  readonly route: Cell<HashRoute>;
  navigate(route: HashRoute): void;
  /** Replaces the current history entry. */
  replace(route: HashRoute): void;
}

export function parseHashRoute(hash: string): HashRoute {
  const [section, id = "", subsection = "", node = ""] = hash.replace(/^#?\/?/, "").split("/");
  if (section === "upstreams") return { type: "upstreams" };
  if (section !== "chats" || id === "") return { type: "new" };
  const chatId = decodeIfValid(id);
  if (subsection === "tree") return { type: "tree", chatId };
  return subsection === "at" && node !== ""
    ? { type: "chat", chatId, nodeId: decodeIfValid(node) }
    : { type: "chat", chatId };
}

export function formatHashRoute(route: HashRoute): string {
  switch (route.type) {
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
      return assertNever(route);
  }
}

/** Creates a router whose `route` follows the URL hash of the window, including when the user goes back or forward. */
export function createHashRouter(window: Window): Router & { close(): void } {
  const route = createCell<HashRoute>(parseHashRoute(window.location.hash));
  const onHashChange = () => route.set(parseHashRoute(window.location.hash));
  window.addEventListener("hashchange", onHashChange);
  return {
    route,
    navigate(next) {
      const hash = formatHashRoute(next);
      if (hash === window.location.hash) return route.set(next);
      window.location.hash = hash;
      // The browser fires `hashchange` later.
      onHashChange();
    },
    replace(next) {
      window.history.replaceState(window.history.state, "", formatHashRoute(next));
      route.set(next);
    },
    close: () => window.removeEventListener("hashchange", onHashChange),
  };
}

function decodeIfValid(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
