import type { IconName } from "../parts/icon.tsx";
import type { Route } from "../browser/route.ts";

/** Where the navigation leads. */
interface Place {
  readonly name: "chats" | "upstreams";
  readonly icon: IconName;
  readonly route: Route;
  /** What is shown there. */
  readonly shows: readonly Route["is"][];
}

export const places: readonly Place[] = [
  { name: "chats", icon: "quote", route: { is: "new" }, shows: ["new", "chat", "tree"] },
  { name: "upstreams", icon: "plug", route: { is: "upstreams" }, shows: ["upstreams"] },
];
