import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./repository-files.ts";

/**
 * Test data of others in `../shared`, beside the repository. A test that needs it is skipped where it is missing:
 * `test.skipIf(recordings.isMissing)`, so that the report says that it did not run.
 */
export function sharedData(path: string): { readonly path: string; readonly isMissing: boolean } {
  const full = join(root, "..", "shared", path);
  return { path: full, isMissing: !existsSync(full) };
}
