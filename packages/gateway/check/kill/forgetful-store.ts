/*
 * A store that says that it has kept what it will keep in a moment. Nobody notices until a process is killed: the kill test
 * must.
 */
import type { Store } from "@deltawire/store";
import { linesStore } from "./lines-store.ts";

const lagMs = 300;

export function openStore({ folder }: { folder: string }): Promise<Store> {
  return linesStore(folder, (write) => void setTimeout(write, lagMs));
}
