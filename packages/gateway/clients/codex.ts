import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientFolder } from "../../../test/install-clients.ts";
import type { ClientSet } from "../../../test/pinned-clients.ts";

export interface CodexOptions {
  /** The gateway's address. */
  url: string;
  model: string;
  /** The version to run; the current one unless told. */
  from?: ClientSet;
  wire?: "responses" | "chat";
  /** More lines of its config.toml: at the top, in the block of the provider, and tables at the end. */
  settings?: string;
  provider?: string;
  tables?: string;
  /** What follows the address of the catalogue. */
  catalog?: string;
  /** A whole config.toml instead of ours; what keeps Codex quiet and free is added. */
  config?: string;
  /** Started by `deltawire codex`, with these words before `codex`. */
  byDeltawire?: string[];
}

/** A Codex with a home and a working folder of its own. */
export interface Codex {
  home: string;
  cwd: string;
  /** Begins a conversation. */
  exec(prompt: string, ...args: string[]): Promise<CodexTurn>;
  /** Goes on with the last one. */
  resume(prompt: string, ...args: string[]): Promise<CodexTurn>;
  /** What stands in a file of the working folder. */
  read(file: string): Promise<string>;
  remove(): Promise<void>;
}

/** What `codex exec --json` did with one prompt. */
interface CodexTurn {
  events: CodexEvent[];
  /** Finished items of all kinds, in order. */
  items: CodexItem[];
  /** What it said. */
  messages: string[];
  reasoning: string[];
  commands: CodexItem[];
  /** What it complains of, in events. */
  errors: string[];
  usage: Record<string, number>;
  exitCode: number | null;
  stderr: string;
  /** Hosts beyond loopback that it tried to reach. */
  outside: string[];
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

export async function newCodex(options: CodexOptions): Promise<Codex> {
  // Not below the system's temporary folder: Codex warns of a home there.
  const homes = join(import.meta.dirname, "..", "..", "..", "artifacts", "codex");
  await mkdir(homes, { recursive: true });
  const home = await mkdtemp(join(homes, "home-"));
  const cwd = await mkdtemp(join(tmpdir(), "deltawire-codex-"));
  await writeFile(join(home, "config.toml"), configOf(options));
  const run = (args: string[]): Promise<CodexTurn> => runCodex(commandOf(options, args), home, cwd);
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

/** The settings of a user, and those that keep Codex off the network and let it run what it is told to. */
function configOf(options: CodexOptions): string {
  return `approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
${options.config ?? userConfig(options)}

[analytics]
enabled = false

[features]
plugins = false
unbounded_connection_retries = false
`;
}

function userConfig(options: CodexOptions): string {
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
  words: string[];
  env: Record<string, string>;
}

function commandOf({ from = "current", byDeltawire }: CodexOptions, args: string[]): NodeCommand {
  const script = join(clientFolder(from), "node_modules", "@openai", "codex", "bin", "codex.js");
  if (byDeltawire === undefined) return { words: [script, ...args], env: {} };
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  return {
    words: ["--conditions=@deltawire/source", main, ...byDeltawire, "codex", ...args],
    env: { DELTAWIRE_CODEX: script },
  };
}

const longestTurnMs = 60_000;

async function runCodex(
  { words, env }: NodeCommand,
  home: string,
  cwd: string,
): Promise<CodexTurn> {
  const proxy = await watchedProxy();
  const child = spawn(process.execPath, words, {
    cwd,
    env: { ...environment(home, proxy.url), ...env },
    // At a terminal it would wait for more on its standard input.
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that its binary and the commands of that end with it.
    detached: process.platform !== "win32",
  });
  const end = (): void => {
    if (child.pid !== undefined) endGroup(child.pid);
  };
  process.once("exit", end);
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    end();
  }, longestTurnMs);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  try {
    const [exitCode] = (await once(child, "close")) as [number | null];
    if (timedOut)
      throw new Error(`Codex was not done in ${longestTurnMs} ms:\n${stdout}\n${stderr}`);
    return { ...turnOf(stdout), exitCode, stderr, outside: proxy.asked };
  } finally {
    clearTimeout(limit);
    process.off("exit", end);
    end();
    proxy.close();
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Nothing of the machine's own environment, where a key might be. */
function environment(home: string, proxy: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: home,
    CODEX_HOME: home,
    LANG: "C.UTF-8",
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    ALL_PROXY: proxy,
    NO_PROXY: "127.0.0.1",
  };
}

/** A proxy that lets nobody through and remembers who asked. */
async function watchedProxy() {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", (data) => {
      asked.push(data.toString("latin1").split("\r\n", 1)[0] ?? "");
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked, close: () => server.close() };
}

function turnOf(stdout: string): Omit<CodexTurn, "exitCode" | "stderr" | "outside"> {
  const lines = stdout.split("\n").filter((line) => line.trim() !== "");
  const events = lines.map((line) => JSON.parse(line) as CodexEvent);
  const items = events.flatMap(({ type, item }) =>
    type === "item.completed" && item !== undefined ? [item] : [],
  );
  const textsOf = (type: string) =>
    items.filter((item) => item.type === type).map(({ text = "" }) => text);
  return {
    events,
    items,
    messages: textsOf("agent_message"),
    reasoning: textsOf("reasoning"),
    commands: items.filter(({ type }) => type === "command_execution"),
    errors: events.flatMap(({ type, message, error }) =>
      type === "error" ? [message ?? ""] : type === "turn.failed" ? [error?.message ?? ""] : [],
    ),
    usage: events.findLast(({ type }) => type === "turn.completed")?.usage ?? {},
  };
}
