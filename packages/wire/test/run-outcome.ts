import { WireError } from "@deltawire/wire";

/** Returns "done", "rejected" for a WireError, or the thrown error if it is of another kind. */
export function runOutcome(action: () => unknown): unknown {
  try {
    action();
    return "done";
  } catch (error) {
    return error instanceof WireError ? "rejected" : error;
  }
}
