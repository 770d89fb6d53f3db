import type { World } from "./config/find.ts";
import type { LogTarget } from "./log.ts";

/** What a command may use of the machine. */
export interface Terminal extends World {
  /** `failure`: why something could not be written. */
  readonly stdout: LogTarget & { readonly failure?: Error | undefined };
  readonly stderr: LogTarget;
}

/** How its user calls this program: through npm in the repository, or by its name. */
export function commandName(env: Terminal["env"]): string {
  return env["npm_lifecycle_event"] === undefined ? "deltawire" : "npm start --";
}
