import type { HostEnvironment } from "../config/config-paths.ts";
import type { SettingsFile } from "../migrate/settings-file.ts";
import type { GatewayConnection } from "./connection.ts";

/** A coding agent, as data: which settings connect it to the gateway permanently. */
export interface ConnectableAgent {
  /** In command lines and URLs. */
  readonly id: string;
  readonly name: string;
  /** The command of this program that starts the agent, with the flag of the model. */
  readonly formatRunCommand: (modelFlag: string) => string;
  readonly listSettings: (connection: GatewayConnection, host: HostEnvironment) => SettingsFile[];
  /** Returns what else in its settings file needs the attention of the user. `text` is valid. */
  readonly checkSettings?: (text: string) => readonly string[];
}

/** A coding agent, as data: also how it is started on the gateway without changing a file. */
export interface CodingAgent extends ConnectableAgent {
  /** Names under which the program is installed. */
  readonly programs: readonly string[];
  readonly installCommand: string;
  /** What npm's `.cmd` file starts on Windows, relative to `node_modules`. */
  readonly packageFile: string;
  /** In tokens. A warning is shown for a model with less. */
  readonly minContextWindow: number;
  /** First arguments that are commands of the program and need no model. They are passed on without further flags. */
  readonly subcommands: readonly string[];
  /** `folder` is a temporary folder for `files`, which is deleted when the program ends. */
  readonly buildLaunch: (connection: GatewayConnection, folder: string) => AgentLaunch;
}

/** What is passed to a program so that it uses the gateway. */
export interface AgentLaunch {
  /** Environment variables. `undefined` removes one that would take precedence. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Placed before the arguments of the user. */
  readonly flags?: readonly LaunchFlag[];
  /** By name in the temporary folder. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface LaunchFlag {
  /** Spellings of the flag. It is omitted if the user has set one of them. */
  readonly names: readonly [string, ...string[]];
  readonly value: string;
  /** True if the program accepts the flag several times. */
  readonly isRepeatable?: boolean;
}
