import { existsSync, readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { getClientFolder, installClients } from "../../../test/install-clients.ts";

/** Installs the clients before the first test, and makes them importable from this folder. */
export async function setup(): Promise<void> {
  await installClients("current");
  const link = join(import.meta.dirname, "node_modules");
  const target = join(getClientFolder("current"), "node_modules");
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
