import { installClients } from "../../../../test/install-clients.ts";
import { olderCodexSets } from "../../../../test/pinned-clients.ts";

/** Installs the older releases of Codex before the first test. */
export async function setup(): Promise<void> {
  for (const set of olderCodexSets) await installClients(set);
}
