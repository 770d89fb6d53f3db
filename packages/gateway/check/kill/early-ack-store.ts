/*
 * A store that acknowledges writes a moment before it makes them. This shows only when a process is killed: the kill test
 * must detect it.
 */
import type { Store } from "@deltawire/store";
import { openJsonlStore } from "./jsonl-store.ts";

const lagMs = 300;

export function openStore({ folder }: { folder: string }): Promise<Store> {
  return openJsonlStore(folder, (write) => void setTimeout(write, lagMs));
}
