import { formatCommandLine } from "../terminal.ts";
import { commandNames, cliOptions, type CommandName } from "./options.ts";

interface CommandHelp {
  /** Command line after the program's name. */
  readonly usage: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly details: string;
  /** Command lines after the program's name. */
  readonly examples: readonly (readonly [args: string, description: string])[];
}

/** The last line is short, because the help of `serve` continues it. */
const defaultUpstreamsText = `Without a configuration file or --upstream, the gateway uses the providers whose API keys are in the environment
(ZAI_API_KEY, OPENAI_API_KEY, ...); without any key, the built-in demo model answers.`;

const helpByCommand: Readonly<Record<CommandName, CommandHelp>> = {
  serve: {
    usage: "[serve] [FLAG ...]",
    summary: "serve the page and the APIs on http://127.0.0.1:4141 (default command)",
    details: `Runs the gateway until it is stopped. It serves the page at /, models under /v1, tasks under /api/tasks and chats
under /api/chats.

${defaultUpstreamsText} Without a configuration file,
set DELTAWIRE_TOKEN to the token that clients must send; listening on an address other than loopback requires a token.`,
    examples: [
      ["", "use deltawire.toml, or keys in the environment"],
      ["--upstream http://127.0.0.1:8000/v1 --port 4242", "one upstream, on another port"],
      ["--data ./second --port 4242", "a second gateway, with its own data and port"],
    ],
  },
  codex: {
    usage: "[FLAG ...] codex [CODEX ARGUMENT ...]",
    summary: "run the installed Codex through this gateway, without changing any file",
    details: `Runs the installed Codex against the running gateway. If none is running, starts one for as long as Codex runs.
Put flags of the gateway before the word codex; everything after it is passed to Codex, also --help
and --version.`,
    examples: [
      ["codex", "run Codex with the first model of the gateway"],
      [
        "--port 4242 codex exec -m zai/glm-4.6 'say hello'",
        "run one turn, with the gateway on port 4242",
      ],
    ],
  },
  claude: {
    usage: "[FLAG ...] claude [-m NAME] [CLAUDE CODE ARGUMENT ...]",
    summary: "run the installed Claude Code through this gateway, without changing any file",
    details: `Runs the installed Claude Code against the running gateway. If none is running, starts one for as long as Claude Code
runs. Claude Code gets the model for all its own names (opus, sonnet, ...) and the context window of the model.
Put other flags of the gateway before the word claude; everything after it, except -m, --model and --small-model, is
passed to Claude Code, also --help and --version. After claude --, nothing is excepted.`,
    examples: [
      ["claude", "run Claude Code with the first chat model of the gateway"],
      [
        "claude -m zai/glm-4.6 --small-model zai/glm-4.5-air",
        "choose the models, also for background work",
      ],
      ["--port 4242 claude -p 'say hello'", "print one answer, with the gateway on port 4242"],
    ],
  },
  run: {
    usage: "[FLAG ...] run [-m NAME] [--] PROGRAM [ARGUMENT ...]",
    summary: "run pi, opencode, qwen or any other program through this gateway",
    details: `Runs a program against the running gateway. If none is running, starts one for as long as the program runs. Changes
no file: pi, opencode, qwen, codex and claude get their own settings for this run; any other program gets
OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL and ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_API_KEY,
ANTHROPIC_MODEL.`,
    examples: [
      ["run -- pi", "run pi with the first chat model of the gateway"],
      ["run -m zai/glm-4.6 -- opencode run 'say hello'", "choose the model"],
      ["run -- python my-script.py", "a script that uses an OpenAI or Anthropic library"],
    ],
  },
  connect: {
    usage: "connect [codex|claude|pi|opencode|qwen] [FLAG ...]",
    summary: "show or write the settings that connect a coding agent permanently",
    details: `Shows how the settings file of the agent would change so that it always uses this gateway; --write applies the
changes and saves a backup. Everything else in the file stays. Keys of providers are never written. If the gateway
requires a token, set DELTAWIRE_TOKEN to the one that the agent should use. Without a name, lists the agents.`,
    examples: [
      ["connect claude -m zai/glm-4.6", "show the changes for Claude Code"],
      ["connect claude -m zai/glm-4.6 --write", "apply them"],
    ],
  },
  migrate: {
    usage: "migrate [FILE] [FLAG ...]",
    summary: 'move wire_api = "chat" providers from a Codex configuration to this gateway',
    details: `Shows how FILE (default: your Codex config.toml) and deltawire.toml would change: providers with wire_api = "chat"
become upstreams of the gateway, with their URLs, key variables, headers, timeouts and retries, and Codex uses the
gateway instead. --write applies the changes and saves a backup of config.toml. Keys are never copied.`,
    examples: [
      ["migrate", "show the changes"],
      ["migrate --write", "apply the changes"],
    ],
  },
  models: {
    usage: "models [FLAG ...]",
    summary: "list the model names that clients can use",
    details:
      "Lists the models of the running gateway or, if none is running, of the configured upstreams. Reports each upstream whose\nmodels could not be listed, with the reason.",
    examples: [
      ["models", "print name, short name and context window"],
      ["models --upstream http://127.0.0.1:8000/v1", "list the models of one server"],
    ],
  },
  lessons: {
    usage: "lessons [FLAG ...]",
    summary: "show what the running gateway has learned from rejected requests",
    details:
      "Shows or deletes the lessons of the running gateway: the changes that it makes to requests because an upstream rejected\nearlier ones. Gateways that use the same database share their lessons.",
    examples: [
      ["lessons", "list them, with the upstream's error messages"],
      ["lessons --reset", "delete them"],
    ],
  },
  keys: {
    usage: "keys create NAME | keys list | keys revoke NAME | keys remove NAME [FLAG ...]",
    summary: "create, list and revoke access keys, each with its own chats, tasks and limits",
    details: `Clients send an access key as their token. The store has only its hash: create prints the key once, on standard output.
As soon as there is a key, clients without a key or a configured token get 401: give each of them a key.

A request above a limit is answered with 429 until the minute, day or month (UTC) ends. A key with a budget
(--cost-per-...) can only use models with a price in [models].

revoke disables a key, ends its streams and cancels its tasks within 4 s in all gateways, as does its expiry; remove
deletes a revoked key from the list. Data stays with the owner, for later keys of this owner. Keys can also be given by
id. Works with and without a running gateway; for that of someone else, set DELTAWIRE_TOKEN to a key with scope admin.`,
    examples: [
      ["keys create phone", "a key with its own chats and tasks"],
      ["keys create ci --scopes models --expires 30d --requests-per-minute 60", "for a script"],
      ["keys create laptop --owner phone", "another key for the same chats and tasks"],
      ["keys revoke phone", "revoke a key"],
    ],
  },
  store: {
    usage: "store copy FROM TO | store check [STORE] [FLAG ...]",
    summary: "copy chats and tasks to another store, or check a store",
    details: `A store is a SQLite file, a PostgreSQL URL (postgres://user:password@host:5432/database), or env:NAME for a URL
in an environment variable. The store in the configuration (the same URL and schema) is used with its bucket, s3_url;
for a store of another configuration, name that file with --config.

copy copies everything to an empty store and verifies the copy. First stop all gateways that use either store. If the
copy is interrupted, run the same command again: it continues. The source is not changed.
check reads everything and reports missing events and blobs, and unreadable data. Without STORE, it checks the one
that a gateway with the same --config and --data uses.`,
    examples: [
      ["store copy deltawire.db env:DATABASE_URL", "move from SQLite to PostgreSQL"],
      ["store copy env:DATABASE_URL backup.db", "move back to SQLite"],
      ["store check", "check the configured store"],
    ],
  },
};

/** Returns the help of one command, or the overview. `program` is the command that runs this program. */
export function formatHelp(command: CommandName | undefined, program: string): string {
  return command === undefined ? formatOverview(program) : formatCommandHelp(command, program);
}

function formatOverview(program: string): string {
  const list = commandNames.map((name): [string, string] => [
    name === "serve" ? "[serve]" : name,
    helpByCommand[name].summary,
  ]);
  return `Deltawire connects any client of the Responses, Chat Completions or Messages API to any upstream with one of them.

Usage: ${program} [COMMAND] [FLAG ...]

Commands:
${formatTable(list)}
${program} help COMMAND shows the usage, flags and examples of a command.

Flags:
${formatTable(listFlags(undefined))}
${defaultUpstreamsText}
`;
}

function formatCommandHelp(name: CommandName, program: string): string {
  const { usage, details, examples } = helpByCommand[name];
  const exampleLines = examples.map(([args, description]): [string, string] => [
    formatCommandLine(program, args),
    description,
  ]);
  return `Usage: ${program} ${usage}

${details}

Flags:
${formatTable(listFlags(name))}
Examples:
${exampleLines.map(([line, description]) => `  ${line}\n      ${description}\n`).join("")}`;
}

function listFlags(command: CommandName | undefined): [string, string][] {
  return Object.entries(cliOptions).flatMap(([name, option]) => {
    if (!("description" in option)) return [];
    const isSupported =
      command === undefined ||
      !("commands" in option) ||
      option.commands.some((supported) => supported === command);
    if (!isSupported) return [];
    const short = "short" in option ? `-${option.short}, ` : "";
    const value = "value" in option ? ` ${option.value}` : "";
    const onlyCommands =
      command === undefined && "commands" in option && option.commands.length <= 3
        ? `${option.commands.join(", ")}: `
        : "";
    return [[`${short}--${name}${value}`, `${onlyCommands}${option.description}`]];
  });
}

function formatTable(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
}
