import { join } from "node:path";

/** Where tests leave what the page looks like; CI keeps it. */
export const pictures = join(import.meta.dirname, "..", "..", "..", "artifacts", "page");

/** How the names of those begin that were taken as a test failed; each run begins without any. */
export const ofFailure = "failed-";
