import { WireError } from "@deltawire/wire";

/** "done", "refused" for a WireError, and any other error itself: what must never be thrown. */
export function outcome(work: () => unknown): unknown {
  try {
    work();
    return "done";
  } catch (error) {
    return error instanceof WireError ? "refused" : error;
  }
}
