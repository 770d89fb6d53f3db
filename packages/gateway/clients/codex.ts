import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getClientFolder } from "../../../test/install-clients.ts";
import type { ClientSet } from "../../../test/pinned-clients.ts";
import { runClientProcess, type ClientProcessResult } from "./client-process.ts";

export interface CodexOptions {
  /** The gateway's URL. */
  url: string;
  model: string;
  /** The version to run; default: the current one. */
  from?: ClientSet;
  wire?: "responses" | "chat";
  /** More lines of its config.toml: at the top, in the provider's table, and tables at the end. */
  settings?: string;
  provider?: string;
  tables?: string;
  /** Appended to the URL of the catalog. */
  catalog?: string;
  /** A complete config.toml; settings that keep Codex off the network and without approvals are added. */
  config?: string;
  /** Arguments before `codex`, if it is started by `deltawire codex`. */
  byDeltawire?: string[];
}

/** Codex with its own home and working directory. */
export interface Codex {
  home: string;
  cwd: string;
  /** Starts a conversation. */
  exec(prompt: string, ...args: string[]): Promise<CodexTurn>;
  /** Continues the last conversation. */
  resume(prompt: string, ...args: string[]): Promise<CodexTurn>;
  /** Reads a file in the working directory. */
  read(file: string): Promise<string>;
  remove(): Promise<void>;
}

/** What `codex exec --json` did with one prompt. */
interface CodexTurn extends Omit<ClientProcessResult, "stdout"> {
  events: CodexEvent[];
  /** Finished items of all kinds, in order. */
  items: CodexItem[];
  /** The text of its messages. */
  messages: string[];
  reasoning: string[];
  commands: CodexItem[];
  /** Errors and warnings in events. */
  errors: string[];
  usage: Record<string, number>;
}

interface CodexEvent {
  type: string;
  item?: CodexItem;
  usage?: Record<string, number>;
  message?: string;
  error?: { message: string };
}

interface CodexItem {
  id: string;
  type: string;
  text?: string;
  command?: string;
  aggregated_output?: string;
  exit_code?: number | null;
  status?: string;
  [field: string]: unknown;
}

export async function createCodex(options: CodexOptions): Promise<Codex> {
  // Not in the system's temporary folder: Codex warns about a home there.
  const homes = join(import.meta.dirname, "..", "..", "..", "artifacts", "codex");
  await mkdir(homes, { recursive: true });
  const home = await mkdtemp(join(homes, "home-"));
  const cwd = await mkdtemp(join(tmpdir(), "deltawire-codex-"));
  await writeFile(join(home, "config.toml"), formatConfig(options));
  const run = (args: string[]): Promise<CodexTurn> =>
    runCodex(buildCommand(options, args), home, cwd);
  const usual = ["--json", "--skip-git-repo-check"];
  return {
    home,
    cwd,
    exec: (prompt, ...args) => run(["exec", ...usual, ...args, prompt]),
    resume: (prompt, ...args) => run(["exec", ...usual, ...args, "resume", "--last", prompt]),
    read: (file) => readFile(join(cwd, file), "utf8"),
    async remove() {
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
      await rm(cwd, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** The settings of a user, and those that keep Codex off the network and let it run commands without approval. */
export function formatConfig(options: CodexOptions): string {
  return `approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
${options.config ?? formatUserConfig(options)}

[analytics]
enabled = false

[features]
plugins = false
unbounded_connection_retries = false
`;
}

function formatUserConfig(options: CodexOptions): string {
  const { url, model, wire = "responses", catalog = "" } = options;
  const { settings = "", provider = "", tables = "" } = options;
  return `model = ${JSON.stringify(model)}
model_provider = "deltawire"
${settings}

[model_providers.deltawire]
name = "Deltawire"
base_url = "${url}/v1"
wire_api = "${wire}"
experimental_bearer_token = "local"
${wire === "chat" ? "" : `model_catalog_url = "${url}/v1/models${catalog}"`}
${provider}
${tables}`;
}

interface NodeCommand {
  commandArguments: string[];
  env: Record<string, string>;
}

export function buildCommand(
  { from = "current", byDeltawire }: Pick<CodexOptions, "from" | "byDeltawire">,
  args: string[],
): NodeCommand {
  const script = join(getClientFolder(from), "node_modules", "@openai", "codex", "bin", "codex.js");
  if (byDeltawire === undefined) return { commandArguments: [script, ...args], env: {} };
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  return {
    commandArguments: ["--conditions=@deltawire/source", main, ...byDeltawire, "codex", ...args],
    env: { DELTAWIRE_CODEX: script },
  };
}

async function runCodex(
  { commandArguments, env }: NodeCommand,
  home: string,
  cwd: string,
): Promise<CodexTurn> {
  const { stdout, ...end } = await runClientProcess({
    name: "Codex",
    program: process.execPath,
    commandArguments,
    env: { CODEX_HOME: home, ...env },
    home,
    cwd,
  });
  return { ...parseTurn(stdout), ...end };
}

function parseTurn(stdout: string): Omit<CodexTurn, keyof ClientProcessResult> {
  const lines = stdout.split("\n").filter((line) => line.trim() !== "");
  const events = lines.map((line) => JSON.parse(line) as CodexEvent);
  const items = events.flatMap(({ type, item }) =>
    type === "item.completed" && item !== undefined ? [item] : [],
  );
  const listTexts = (type: string) =>
    items.filter((item) => item.type === type).map(({ text = "" }) => text);
  return {
    events,
    items,
    messages: listTexts("agent_message"),
    reasoning: listTexts("reasoning"),
    commands: items.filter(({ type }) => type === "command_execution"),
    errors: events.flatMap(({ type, message, error }) =>
      type === "error" ? [message ?? ""] : type === "turn.failed" ? [error?.message ?? ""] : [],
    ),
    usage: events.findLast(({ type }) => type === "turn.completed")?.usage ?? {},
  };
}
