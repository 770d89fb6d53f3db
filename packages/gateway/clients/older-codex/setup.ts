import { installClients } from "../../../../test/install-clients.ts";
import { olderCodex } from "../../../../test/pinned-clients.ts";

/** Before the first test: the older releases are there. */
export async function setup(): Promise<void> {
  for (const set of olderCodex) await installClients(set);
}
