import type { World } from "../config/find.ts";
import type { LogTarget } from "../log.ts";

/** What a command may use of the machine. */
export interface Terminal extends World {
  readonly stdout: LogTarget;
  readonly stderr: LogTarget;
}
