import { parseArgs } from "node:util";
import { didYouMean } from "@deltawire/tasks";
import { commandNames, cliOptions, type CommandName } from "./options.ts";

/** A parsed command line. */
export type CliCommand =
  | { name: "serve"; flags: CliFlags }
  | { name: "codex"; flags: CliFlags; args: string[] }
  | { name: "claude" | "run"; flags: CliFlags; modelFlags: ModelFlags; args: string[] }
  | {
      name: "connect";
      flags: CliFlags;
      modelFlags: ModelFlags;
      /** Undefined: list the agents. */
      agent: string | undefined;
      write: boolean;
    }
  | { name: "migrate" | "keys" | "store"; args: string[] }
  | { name: "models"; flags: CliFlags }
  | { name: "lessons"; flags: CliFlags; reset: boolean }
  /** Undefined: help for all commands. */
  | { name: "help"; command: CommandName | undefined }
  | { name: "version" };

export interface CliFlags {
  config?: string | undefined;
  upstream?: string | undefined;
  apiKeyEnv?: string | undefined;
  speaks?: string | undefined;
  profile?: string | undefined;
  host?: string | undefined;
  port?: string | undefined;
  data?: string | undefined;
  json: boolean;
}

/** The models that a coding agent should use. */
export interface ModelFlags {
  readonly model?: string;
  readonly smallModel?: string;
}

/** Thrown if the command line is invalid. The message says how to correct it. */
export class UsageError extends Error {
  readonly code = "usage";
}

const commandWords: readonly string[] = [...commandNames, "help"];

export function parseCommandLine(argv: readonly string[]): CliCommand {
  const commandIndex = argv.findIndex(
    (word, index) => isCommandPosition(argv, index) && !word.startsWith("-"),
  );
  const name = commandIndex < 0 ? "serve" : (argv[commandIndex] ?? "serve");
  // For `--prot 99`, reports the unknown flag `--prot` instead of the unknown command `99`.
  if (!commandWords.includes(name)) parseOptions(argv.slice(0, commandIndex));
  if (name === "help") return { name, command: parseCommandName(argv[commandIndex + 1]) };
  if (!isCommandName(name)) throw findMissingFlagError(name) ?? createUnknownCommandError(name);
  // Arguments after `codex`, `claude` and `run` are passed to the program; those after `migrate`, `keys` and `store` are parsed by
  // that command.
  const takesRest = startsProgram(name) || parsesItsArguments(name);
  const ownArguments = takesRest
    ? argv.slice(0, commandIndex)
    : argv.filter((_, index) => index !== commandIndex);
  const rest = takesRest ? argv.slice(commandIndex + 1) : [];
  const { values, positionals } = parseOptions(ownArguments, name === "connect" ? 1 : 0);
  // Codex and Claude Code have these flags too. `run` has them only before the name of its program.
  const leadingArguments = passesAllArguments(name) ? [] : name === "run" ? rest.slice(0, 1) : rest;
  if (values.help === true || leadingArguments.some((word) => word === "--help" || word === "-h"))
    return { name: "help", command: commandIndex < 0 ? undefined : name };
  const isVersion = (word: string) => word === "--version" || word === "-V" || word === "-v";
  if (values.version === true || values.v === true || leadingArguments.some(isVersion))
    return { name: "version" };
  assertFlagsSupported(name, Object.keys(values));
  const flags: CliFlags = {
    config: values.config,
    upstream: values.upstream,
    apiKeyEnv: values["api-key-env"],
    speaks: values.speaks,
    profile: values.profile,
    host: values.host,
    port: values.port,
    data: values.data,
    json: values.json === true,
  };
  const modelFlags: ModelFlags = {
    ...(values.model === undefined ? {} : { model: values.model }),
    ...(values["small-model"] === undefined ? {} : { smallModel: values["small-model"] }),
  };
  switch (name) {
    case "codex":
      return { name, flags, args: rest };
    case "claude":
    case "run":
      return { name, flags, modelFlags, args: rest };
    case "connect":
      return { name, flags, modelFlags, agent: positionals[0], write: values.write === true };
    case "migrate":
    case "keys":
    case "store":
      return { name, args: [...ownArguments, ...rest] };
    case "models":
      return { name, flags };
    case "lessons":
      return { name, flags, reset: values.reset === true };
    default:
      return { name: "serve", flags };
  }
}

function startsProgram(name: CommandName): boolean {
  return passesAllArguments(name) || name === "run";
}

/** True if everything after the command is passed to its program, except flags of models. */
function passesAllArguments(name: CommandName): boolean {
  return name === "codex" || name === "claude";
}

function parsesItsArguments(name: CommandName): boolean {
  return name === "migrate" || name === "keys" || name === "store";
}

function isCommandName(name: string): name is CommandName {
  return commandNames.some((known) => known === name);
}

function parseCommandName(word: string | undefined): CommandName | undefined {
  if (word === undefined || word.startsWith("-") || word === "help") return undefined;
  if (!isCommandName(word)) throw createUnknownCommandError(word);
  return word;
}

function createUnknownCommandError(name: string): UsageError {
  return new UsageError(
    `unknown command "${name}"${didYouMean(name, commandWords)}; --help lists the commands`,
  );
}

/** Returns an error if the word looks like a value without its flag: of `npm start --port 4302`, npm passes only `4302`. */
function findMissingFlagError(word: string): UsageError | undefined {
  const flag = /^\d+$/.test(word)
    ? "--port"
    : /^https?:\/\//i.test(word)
      ? "--upstream"
      : undefined;
  if (flag === undefined) return undefined;
  return new UsageError(
    `unknown command "${word}"; write ${flag} ${word}, or with npm: npm start -- ${flag} ${word}`,
  );
}

function assertFlagsSupported(command: CommandName, flagNames: readonly string[]): void {
  for (const name of flagNames) {
    const option = cliOptions[name as keyof typeof cliOptions];
    if ("commands" in option && !option.commands.some((supported) => supported === command))
      throw new UsageError(
        command === "codex" && name === "model"
          ? "write -m after codex: codex -m NAME"
          : `--${name} only works with ${formatList(option.commands)}; ${formatHelpCommand(command)} lists the flags of ${command}`,
      );
  }
}

function formatHelpCommand(command: CommandName): string {
  return passesAllArguments(command) ? `help ${command}` : `${command} --help`;
}

function formatList(words: readonly string[]): string {
  return new Intl.ListFormat("en-GB").format(words);
}

/** True if the argument at `index` can be the command, not the value of the flag before it. */
function isCommandPosition(argv: readonly string[], index: number): boolean {
  const previous = argv[index - 1] ?? "";
  if (!previous.startsWith("-") || previous.includes("=")) return true;
  const match = Object.entries(cliOptions).find(
    ([name, option]) =>
      previous === `--${name}` || ("short" in option && previous === `-${option.short}`),
  );
  return match?.[1].type !== "string";
}

function parseOptions(args: readonly string[], maxPositionals = 0) {
  try {
    const parsed = parseArgs({
      args: [...args],
      options: cliOptions,
      allowPositionals: maxPositionals > 0,
      strict: true,
    });
    const extra = parsed.positionals[maxPositionals];
    if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"`);
    return parsed;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const problem = explainFlagError(error as NodeJS.ErrnoException, Object.keys(cliOptions));
    throw new UsageError(`${problem}; --help lists the flags`);
  }
}

/** Explains an error of `parseArgs`. `names`: the supported flags without dashes. */
export function explainFlagError(
  { code, message }: NodeJS.ErrnoException,
  names: readonly string[],
): string {
  const flag = /'(?:-\w, )?(-[^' ]*)/.exec(message)?.[1] ?? "";
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const knownFlags = names.map((name) => `--${name}`);
    return `unknown flag ${flag}${didYouMean(flag, knownFlags)}`;
  }
  if (code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE")
    return message.includes("does not take an argument")
      ? `${flag} takes no value`
      : `${flag} needs a value${formatExample(flag)}`;
  return message.split(". ")[0] ?? "";
}

function formatExample(flag: string): string {
  const option = Object.entries(cliOptions).find(([name]) => flag === `--${name}`)?.[1];
  return option !== undefined && "example" in option
    ? `, for example ${flag} ${option.example}`
    : "";
}
