import { commandNames, options, type CommandName } from "./options.ts";

interface CommandHelp {
  /** What is typed behind the program's name. */
  readonly usage: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly details: string;
  /** Behind the program's name, each with what it does. */
  readonly examples: readonly (readonly [typed: string, does: string])[];
}

const commands: Readonly<Record<CommandName, CommandHelp>> = {
  serve: {
    usage: "[serve] [FLAG ...]",
    summary: "serve the page, models, tasks and chats on http://127.0.0.1:4141",
    details: `Serves until it is stopped: the page at /, models below /v1, tasks below /api/tasks, chats below /api/chats.

Without a file and an upstream, keys in the environment (ZAI_API_KEY, OPENAI_API_KEY, ...) make ready upstreams;
without any of them the built-in demo model answers. DELTAWIRE_TOKEN, where there is no file, is the token that
clients must send; it is needed to listen beyond loopback.`,
    examples: [
      ["", "serve what deltawire.toml or the environment configures"],
      ["--upstream http://127.0.0.1:8000/v1 --port 4242", "one upstream, on another port"],
      ["--data ./second --port 4242", "a second gateway, with its own data and port"],
    ],
  },
  codex: {
    usage: "[FLAG ...] codex [ARGUMENT OF CODEX ...]",
    summary: "run the installed Codex against this gateway; its files stay as they are",
    details: `Runs the installed Codex against the gateway that is running, or one of its own for as long as Codex runs.
Flags of the gateway stand before the word codex; everything behind it goes to Codex. codex help is Codex's own help.`,
    examples: [
      ["codex", "Codex with the first model of the gateway"],
      [
        "--port 4242 codex exec -m zai/glm-4.6 'say hello'",
        "one turn, with the gateway on port 4242",
      ],
    ],
  },
  migrate: {
    usage: "migrate [FILE] [FLAG ...]",
    summary: 'move wire_api = "chat" providers of a Codex configuration to this gateway',
    details: `Shows the changes to FILE (Codex's config.toml; by default the user's) and to deltawire.toml: addresses, the names of
key variables, headers, timeouts and retries become upstreams of the gateway, and Codex is pointed at it. With --write
the changes are written, and the old config.toml is copied beside the new one. Keys are never copied.`,
    examples: [
      ["migrate", "show what would change"],
      ["migrate --write", "change it"],
    ],
  },
  models: {
    usage: "models [FLAG ...]",
    summary: "list the model names that clients can use",
    details:
      "Lists the models of the gateway that is running, or asks the configured upstreams. Names each upstream that did not\nanswer, and why.",
    examples: [
      ["models", "a table: name, short name, context window"],
      ["models --upstream http://127.0.0.1:8000/v1", "what a server offers"],
    ],
  },
  lessons: {
    usage: "lessons [FLAG ...]",
    summary: "show what the running gateway has learned from upstreams' refusals",
    details:
      "Shows, or forgets, the changes that the running gateway makes to requests after an upstream refused some.",
    examples: [
      ["lessons", "a list, with the upstream's words"],
      ["lessons --reset", "forget them"],
    ],
  },
};

/** The help of one command, or of all of them. `program` is how its user calls it. */
export function helpText(command: CommandName | undefined, program: string): string {
  return command === undefined ? overview(program) : helpOf(command, program);
}

function overview(program: string): string {
  const list = commandNames.map((name): [string, string] => [
    name === "serve" ? "[serve]" : name,
    commands[name].summary,
  ]);
  return `Deltawire: any Responses or Chat client on any Chat or Responses upstream.

Usage: ${program} [COMMAND] [FLAG ...]

Commands:
${table(list)}
${program} COMMAND --help shows the usage, flags and examples of one.

Flags:
${table(flagsOf(undefined))}
Without a file and an upstream, keys in the environment (ZAI_API_KEY, OPENAI_API_KEY, ...) make ready upstreams;
without any of them the built-in demo model answers.
`;
}

function helpOf(name: CommandName, program: string): string {
  const { usage, details, examples } = commands[name];
  const typed = examples.map(([words, does]): [string, string] => [
    [program, words].join(" ").replace(/(?: --)? *$/, ""),
    does,
  ]);
  return `Usage: ${program} ${usage}

${details}

Flags:
${table(flagsOf(name))}
Examples:
${typed.map(([line, does]) => `  ${line}\n      ${does}\n`).join("")}`;
}

function flagsOf(command: CommandName | undefined): [string, string][] {
  return Object.entries(options).flatMap(([name, option]) => {
    if (!("description" in option)) return [];
    const isTaken =
      command === undefined ||
      !("commands" in option) ||
      option.commands.some((taking) => taking === command);
    if (!isTaken) return [];
    const short = "short" in option ? `-${option.short}, ` : "";
    const value = "value" in option ? ` ${option.value}` : "";
    return [[`${short}--${name}${value}`, option.description]];
  });
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
}
