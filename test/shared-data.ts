import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./repository-files.ts";

/**
 * Test data in `../shared`, next to the repository. Tests that need it are skipped if it is missing, with
 * `test.skipIf(recordings.isMissing)`, so that the report shows it.
 */
export function sharedData(path: string): { readonly path: string; readonly isMissing: boolean } {
  const fullPath = join(root, "..", "shared", path);
  return { path: fullPath, isMissing: !existsSync(fullPath) };
}
