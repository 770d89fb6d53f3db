import { installClients } from "../install.ts";
import { olderCodex } from "../pinned.ts";

/** Before the first test: the older releases are there. */
export async function setup(): Promise<void> {
  for (const set of olderCodex) await installClients(set);
}
