import type { HostEnvironment } from "./config/config-paths.ts";
import type { LogTarget } from "./log.ts";

/** The host environment and output streams of a command. */
export interface Terminal extends HostEnvironment {
  /** `failure` is the last write error. */
  readonly stdout: LogTarget & { readonly failure?: Error | undefined };
  readonly stderr: LogTarget;
}

/** Returns a command line that starts this program: `npm start -- keys list`, without arguments `npm start`. */
export function formatCommandLine(commandName: string, args: string): string {
  return `${commandName} ${args}`.replace(/(?: --)? *$/, "");
}

/** Returns the command that runs this program: `npm start --` if npm started it, otherwise `deltawire`. */
export function getCommandName(env: Terminal["env"]): string {
  return env["npm_lifecycle_event"] === undefined ? "deltawire" : "npm start --";
}
