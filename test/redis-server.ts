import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { getClientFolder, installOnce } from "./install-clients.ts";

/** A separate Redis server on loopback. It stores nothing. */
export interface RedisServer {
  url: string;
  /** Ends the server like a failing machine. */
  kill: () => Promise<void>;
  /** Starts a killed server again, on the same port. */
  start: () => Promise<void>;
  /** Stops and continues the process, which keeps its connections. */
  suspend: () => void;
  resume: () => void;
  stop: () => Promise<void>;
}

/**
 * Returns why no Redis server can be started: neither `redis-server` in PATH nor a Linux on which its package can be downloaded with
 * apt-get. Downloads it at the first call.
 */
export async function explainMissingRedis(): Promise<string | undefined> {
  const program = await (programPromise ??= findProgram());
  return typeof program === "string" ? program : undefined;
}

/** Throws if there is no Redis server. */
export async function startRedis({ password }: { password?: string } = {}): Promise<RedisServer> {
  const program = await (programPromise ??= findProgram());
  if (typeof program === "string") throw new Error(program);
  const folder = await mkdtemp(join(tmpdir(), "deltawire-redis-"));
  const port = await freePort();
  const args = ["--bind", "127.0.0.1", "--port", `${port}`, "--dir", folder, "--save", ""];
  if (password !== undefined) args.push("--requirepass", password);
  let server = await run(program, args);
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exit = once(server, "exit");
    server.kill("SIGKILL");
    await exit;
  };
  const login = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
  return {
    url: `redis://${login}127.0.0.1:${port}`,
    kill,
    start: async () => {
      server = await run(program, args);
    },
    suspend: () => server.kill("SIGSTOP"),
    resume: () => server.kill("SIGCONT"),
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Program {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
}

let programPromise: Promise<Program | string> | undefined;

const execute = promisify(execFile);

/** The first version whose connections can publish and subscribe at the same time. */
const minVersion = 6;

/** Returns the program, or the reason why there is none. */
async function findProgram(): Promise<Program | string> {
  const systemProgram = { path: "redis-server", env: process.env };
  if ((await readVersion(systemProgram)) >= minVersion) return systemProgram;
  if (process.platform !== "linux") return "redis-server 6 or later is not in PATH";
  try {
    const release = await readFile("/etc/os-release", "utf8");
    const stamp = `redis-server ${process.arch} ${/^VERSION_ID=.*$/m.exec(release)?.[0]}\n`;
    await installOnce({ name: "redis", stamp, contents: "redis-server" }, downloadPackages);
    const program = await findInFolder(join(getClientFolder("redis"), "root"));
    if ((await readVersion(program)) >= minVersion) return program;
    return `${program.path} does not run`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `redis-server 6 or later is not in PATH, and its package could not be downloaded: ${reason}`;
  }
}

/** Returns 0 if the program does not run. */
async function readVersion({ path, env }: Program): Promise<number> {
  try {
    const { stdout } = await execute(path, ["--version"], { env });
    return Number(/\bv=(\d+)/.exec(stdout)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/**
 * Downloads and unpacks the packages of the distribution that are not installed. apt-get verifies them by the signatures of the
 * distribution. Its lists are downloaded too, because those of the system may be missing or old, and only root can update them.
 */
async function downloadPackages(folder: string): Promise<void> {
  const lists = join(folder, "lists");
  const archives = join(folder, "archives");
  for (const path of [join(lists, "partial"), join(archives, "partial")])
    await mkdir(path, { recursive: true });
  const options = [`Dir::State::Lists=${lists}`, `Dir::Cache=${folder}`, "APT::Sandbox::User=root"];
  const apt = async (...args: string[]) => {
    const aptArguments = [...options.flatMap((option) => ["-o", option]), ...args];
    // Some proxies of package servers reject pipelined requests, and an unreachable third-party source must not take minutes.
    const limitOptions = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"];
    const run = execute("apt-get", [...limitOptions, ...aptArguments], {
      cwd: archives,
      timeout: 180_000,
    });
    return (await run).stdout;
  };
  await apt("update");
  const plan = await apt("--simulate", "--no-install-recommends", "install", "redis-server");
  const names = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name = ""]) => name);
  await apt("download", ...names);
  for (const name of await readdir(archives))
    if (name.endsWith(".deb"))
      await execute("dpkg-deb", ["--extract", join(archives, name), join(folder, "root")]);
  await rm(lists, { recursive: true });
  await rm(archives, { recursive: true });
}

async function findInFolder(folder: string): Promise<Program> {
  const libraries = join(folder, "usr", "lib");
  const folders = await readdir(libraries, { withFileTypes: true });
  const paths = folders
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(libraries, name));
  return {
    path: join(folder, "usr", "bin", "redis-server"),
    env: { ...process.env, LD_LIBRARY_PATH: paths.join(":") },
  };
}

async function run({ path, env }: Program, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(path, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let log = "";
  const ready = new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      if (/ready to accept connections/i.test(log)) resolve();
    });
  });
  const exit = once(child, "exit").then(() => {
    throw new Error(`Redis did not start:\n${log}`);
  });
  exit.catch(() => {});
  await Promise.race([ready, exit]);
  return child;
}
