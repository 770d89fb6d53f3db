import { parseArgs, type ParseArgsConfig } from "node:util";
import { didYouMean } from "../config/nearest.ts";

/** What the command line asks for. */
export type Command =
  | { name: "serve"; flags: Flags }
  | { name: "codex"; flags: Flags; args: string[] }
  | { name: "migrate"; args: string[] }
  | { name: "models"; flags: Flags }
  | { name: "lessons"; flags: Flags; reset: boolean }
  | { name: "help" }
  | { name: "version" };

export interface Flags {
  config?: string | undefined;
  upstream?: string | undefined;
  apiKeyEnv?: string | undefined;
  speaks?: string | undefined;
  profile?: string | undefined;
  host?: string | undefined;
  port?: string | undefined;
  json: boolean;
}

/** Typed wrongly: the message says how it is typed rightly. */
export class UsageError extends Error {
  readonly code = "usage";
}

const commands = ["serve", "codex", "migrate", "models", "lessons", "help"];

const options = {
  config: { type: "string", short: "c" },
  upstream: { type: "string" },
  "api-key-env": { type: "string" },
  speaks: { type: "string" },
  profile: { type: "string" },
  host: { type: "string" },
  port: { type: "string", short: "p" },
  json: { type: "boolean" },
  reset: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const satisfies ParseArgsConfig["options"];

export function readArguments(argv: readonly string[]): Command {
  const at = argv.findIndex((word, index) => isCommandPlace(argv, index) && !word.startsWith("-"));
  const name = at < 0 ? "serve" : (argv[at] ?? "serve");
  // In `--prot 99` it is the flag that is wrong.
  if (!commands.includes(name)) parsed(argv.slice(0, at));
  if (!commands.includes(name))
    throw new UsageError(
      `There is no command "${name}".${sentence(didYouMean(name, commands))} --help lists them.`,
    );
  // What stands behind `codex` is Codex's, and what stands behind `migrate` is read there.
  const own =
    name === "codex" || name === "migrate"
      ? argv.slice(0, at)
      : argv.filter((_, index) => index !== at);
  const rest = name === "codex" || name === "migrate" ? argv.slice(at + 1) : [];
  const { values } = parsed(own);
  if (values.help === true || name === "help") return { name: "help" };
  if (values.version === true) return { name: "version" };
  const flags: Flags = {
    config: values.config,
    upstream: values.upstream,
    apiKeyEnv: values["api-key-env"],
    speaks: values.speaks,
    profile: values.profile,
    host: values.host,
    port: values.port,
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
  const example = examples[flag];
  return example === undefined ? "" : `, such as ${flag} ${example}`;
}

const examples: Record<string, string> = {
  "--config": "deltawire.toml",
  "--upstream": "http://127.0.0.1:8000/v1",
  "--api-key-env": "ZAI_API_KEY",
  "--speaks": "chat",
  "--profile": "glm",
  "--host": "127.0.0.1",
  "--port": "4141",
};

/** `did you mean x?` as a sentence of its own. */
function sentence(near: string): string {
  return near.replace(" did", " Did");
}

export const helpText = `Deltawire: any Responses or Chat client on any Chat or Responses upstream.

  deltawire [serve]              serve on http://127.0.0.1:4141: models below /v1, agents at work below
                                 /api/tasks, conversations below /api/chats
  deltawire codex [ARGUMENT …]   run the installed Codex against this gateway; its files stay as they are
  deltawire migrate [FILE] [--write]
                                 move wire_api = "chat" providers of a Codex configuration to this gateway
  deltawire models               the names that clients can use
  deltawire lessons [--reset]    what the running gateway has learned from upstreams' refusals

  --config FILE                  a configuration; otherwise ./deltawire.toml, then the user's
  --upstream URL                 an upstream, without a file
  --api-key-env NAME             the environment variable that holds its key
  --speaks chat|responses        which wire it speaks (chat)
  --profile NAME                 how it differs: glm, deepseek, kimi, vllm, … (generic)
  --host HOST, --port N          where to listen (127.0.0.1, 4141)
  --json                         for programs
  --help, --version

DELTAWIRE_TOKEN, where there is no file, is the token that clients must send; it is needed to listen beyond loopback.
Without a file and an upstream, keys in the environment (ZAI_API_KEY, OPENAI_API_KEY, …) make ready upstreams;
without any of them the built-in demo model answers. In the repository: npm start -- COMMAND.
`;
