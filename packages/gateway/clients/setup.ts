import { existsSync, readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { clientFolder, installClients } from "../../../test/install-clients.ts";

/** Before the first test: the clients are there, and are found from this folder as any package is. */
export async function setup(): Promise<void> {
  await installClients("current");
  const link = join(import.meta.dirname, "node_modules");
  const target = join(clientFolder("current"), "node_modules");
  if (linkTarget(link) === target && existsSync(link)) return;
  if (linkTarget(link) !== undefined) unlinkSync(link);
  symlinkSync(target, link, "junction");
}

function linkTarget(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}
