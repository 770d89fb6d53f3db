import { parseArgs } from "node:util";
import { didYouMean } from "@deltawire/tasks";
import { commandNames, options, type CommandName } from "./options.ts";

/** What the command line asks for. */
export type Command =
  | { name: "serve"; flags: Flags }
  | { name: "codex"; flags: Flags; args: string[] }
  | { name: "migrate"; args: string[] }
  | { name: "models"; flags: Flags }
  | { name: "lessons"; flags: Flags; reset: boolean }
  /** Undefined: help for all commands. */
  | { name: "help"; command: CommandName | undefined }
  | { name: "version" };

export interface Flags {
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

/** Typed wrongly: the message says how it is typed rightly. */
export class UsageError extends Error {
  readonly code = "usage";
}

const words: readonly string[] = [...commandNames, "help"];

export function readArguments(argv: readonly string[]): Command {
  const at = argv.findIndex((word, index) => isCommandPlace(argv, index) && !word.startsWith("-"));
  const name = at < 0 ? "serve" : (argv[at] ?? "serve");
  // In `--prot 99` it is the flag that is wrong.
  if (!words.includes(name)) parsed(argv.slice(0, at));
  if (name === "help") return { name, command: commandNamed(argv[at + 1]) };
  if (!isCommand(name)) throw lostFlag(name) ?? noSuchCommand(name);
  // What stands behind `codex` is Codex's, and what stands behind `migrate` is read there.
  const takesRest = name === "codex" || name === "migrate";
  const own = takesRest ? argv.slice(0, at) : argv.filter((_, index) => index !== at);
  const rest = takesRest ? argv.slice(at + 1) : [];
  const { values } = parsed(own);
  // Codex has these flags too: only in the first place are they meant for this program.
  const asked = name === "codex" ? rest.slice(0, 1) : rest;
  if (values.help === true || asked.some((word) => word === "--help" || word === "-h"))
    return { name: "help", command: at < 0 ? undefined : name };
  const isVersion = (word: string) => word === "--version" || word === "-V" || word === "-v";
  if (values.version === true || values.v === true || asked.some(isVersion))
    return { name: "version" };
  checkTaken(name, Object.keys(values));
  const flags: Flags = {
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
  switch (name) {
    case "codex":
      return { name, flags, args: rest };
    case "migrate":
      return { name, args: [...own, ...rest] };
    case "models":
      return { name, flags };
    case "lessons":
      return { name, flags, reset: values.reset === true };
    default:
      return { name: "serve", flags };
  }
}

function isCommand(name: string): name is CommandName {
  return commandNames.some((known) => known === name);
}

function commandNamed(word: string | undefined): CommandName | undefined {
  if (word === undefined || word.startsWith("-") || word === "help") return undefined;
  if (!isCommand(word)) throw noSuchCommand(word);
  return word;
}

function noSuchCommand(name: string): UsageError {
  return new UsageError(
    `There is no command "${name}".${sentence(didYouMean(name, words))} --help lists them.`,
  );
}

/** Of `npm start --port 4302` npm takes the flag and passes on its value only. */
function lostFlag(word: string): UsageError | undefined {
  const flag = /^\d+$/.test(word)
    ? "--port"
    : /^https?:\/\//i.test(word)
      ? "--upstream"
      : undefined;
  if (flag === undefined) return undefined;
  return new UsageError(
    `"${word}" came without a flag: npm keeps flags that are not behind "--" for itself. Write: npm start -- ${flag} ${word}`,
  );
}

function checkTaken(command: CommandName, given: readonly string[]): void {
  for (const name of given) {
    const option = options[name as keyof typeof options];
    if ("commands" in option && !option.commands.some((taking) => taking === command))
      throw new UsageError(
        `${command} takes no --${name}; ${option.commands.join(" and ")} ${option.commands.length > 1 ? "do" : "does"}. ${command} --help lists its flags.`,
      );
  }
}

/** Whether the word at this place is a command and not the value of the flag before it. */
function isCommandPlace(argv: readonly string[], index: number): boolean {
  const before = argv[index - 1] ?? "";
  if (!before.startsWith("-") || before.includes("=")) return true;
  const long = Object.entries(options).find(
    ([name, option]) =>
      before === `--${name}` || ("short" in option && before === `-${option.short}`),
  );
  return long?.[1].type !== "string";
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false, strict: true });
  } catch (error) {
    throw new UsageError(`${wrongFlag(error as NodeJS.ErrnoException)} --help lists the flags.`);
  }
}

function wrongFlag({ code, message }: NodeJS.ErrnoException): string {
  const flag = /'(?:-\w, )?(-[^' ]*)/.exec(message)?.[1] ?? "";
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const known = Object.keys(options).map((name) => `--${name}`);
    return `There is no flag ${flag}.${sentence(didYouMean(flag, known))}`;
  }
  if (code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE")
    return message.includes("does not take an argument")
      ? `${flag} takes no value.`
      : `${flag} needs a value${exampleOf(flag)}.`;
  return `${message.split(". ")[0] ?? ""}.`;
}

function exampleOf(flag: string): string {
  const option = Object.entries(options).find(([name]) => flag === `--${name}`)?.[1];
  return option !== undefined && "example" in option ? `, such as ${flag} ${option.example}` : "";
}

/** `did you mean x?` as a sentence of its own. */
function sentence(near: string): string {
  return near.replace(" did", " Did");
}
