import { join } from "node:path";

/** Where tests leave what the page looks like; CI keeps it. */
export const pictures = join(import.meta.dirname, "..", "..", "..", "..", "artifacts", "page");
