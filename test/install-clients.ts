import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { clientSets, clientSizes, type ClientSet } from "./pinned-clients.ts";

const root = join(import.meta.dirname, "..");

export function getClientFolder(name: ClientSet | "redis"): string {
  return join(root, ".clients", name);
}

/**
 * Installs a set of clients into a git-ignored folder if their pinned versions are not installed yet. `prepare` changes
 * the packages before they are moved into place.
 */
export async function installClients(
  set: ClientSet,
  prepare: (folder: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const names = Object.entries(clientSets[set]).map(([name, version]) => `${name} ${version}`);
  const { download, installed } = clientSizes[set];
  const sizes = `${download} MB, ${installed} MB installed`;
  await installOnce(
    { name: set, stamp: buildStamp(set), contents: `${names.join(", ")} (${sizes})` },
    async (folder) => {
      const manifest = { private: true, dependencies: clientSets[set] };
      await writeFile(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
      await npmInstall(folder, set);
      await prepare(folder);
    },
  );
}

/** Returns the sets of which the pinned versions are not installed yet, each once. */
export async function findMissingClients(sets: readonly ClientSet[]): Promise<ClientSet[]> {
  const missing: ClientSet[] = [];
  for (const set of new Set(sets))
    if ((await readStamp(getClientFolder(set))) !== buildStamp(set)) missing.push(set);
  return missing;
}

/**
 * Fills a folder below `.clients`, unless it already has this stamp. `install` receives an empty folder, which is moved afterwards, so
 * that interrupted or concurrent runs leave no incomplete files.
 */
export async function installOnce(
  { name, stamp, contents }: { name: ClientSet | "redis"; stamp: string; contents: string },
  install: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = getClientFolder(name);
  if ((await readStamp(folder)) === stamp) return;
  process.stderr.write(`Fetching clients, once, into .clients/${name}: ${contents} ...\n`);
  const stagingFolder = `${folder}.${process.pid}`;
  try {
    await mkdir(stagingFolder, { recursive: true });
    await install(stagingFolder);
    await writeFile(join(stagingFolder, stampFile), stamp);
    await moveIntoPlace(stagingFolder, folder, stamp);
  } finally {
    await rm(stagingFolder, { recursive: true, force: true });
  }
}

const stampFile = "installed";

/** The stamp includes the platform, because a folder shared with a container has the binaries of one platform. */
function buildStamp(set: ClientSet): string {
  return `${JSON.stringify(clientSets[set])} ${process.platform}-${process.arch}\n`;
}

async function readStamp(folder: string): Promise<string | undefined> {
  return readFile(join(folder, stampFile), "utf8").catch(() => undefined);
}

async function moveIntoPlace(
  stagingFolder: string,
  folder: string,
  expectedStamp: string,
): Promise<void> {
  if (existsSync(folder)) {
    if ((await readStamp(folder)) === expectedStamp) return;
    const oldFolder = `${stagingFolder}.old`;
    await rename(folder, oldFolder);
    await rm(oldFolder, { recursive: true, force: true });
  }
  await rename(stagingFolder, folder);
}

const installOptions = [
  "--ignore-scripts",
  "--no-save",
  "--no-package-lock",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
  "--loglevel=error",
  // By default npm retries each package after 10 s and 60 s, which delays the error message when offline.
  "--fetch-retry-mintimeout=1000",
  "--fetch-retry-factor=2",
];

const installTimeoutMs = 600_000;

async function npmInstall(folder: string, set: ClientSet): Promise<void> {
  const [command, leadingArgs] = findNpmCommand();
  const child = spawn(command, [...leadingArgs, "install", "--prefix", folder, ...installOptions], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: removeOuterNpmSettings(process.env),
    shell: process.platform === "win32" && command === "npm",
    timeout: installTimeoutMs,
  });
  let output = "";
  child.stdout.on("data", (text) => (output += String(text)));
  child.stderr.on("data", (text) => (output += String(text)));
  const progress = setInterval(() => void printProgress(folder, set), progressIntervalMs);
  child.on("close", () => clearInterval(progress));
  const failure = await new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) =>
      resolve(code === 0 ? "" : `npm ended with ${signal ?? `exit code ${code}`}`),
    );
  });
  if (failure === "") return;
  throw new Error(
    `The clients of the end-to-end tests (${set}) could not be installed: ${failure}.\n` +
      "They are fetched from the npm registry once; later runs do not need it. Check the network, the proxy, or " +
      "`npm config get registry`, then try again. Without them, `npm run test:unit` only fails in tests of PostgreSQL." +
      `\n\n${output.trim()}`,
  );
}

const progressIntervalMs = 5000;

async function printProgress(folder: string, set: ClientSet): Promise<void> {
  const megabytes = Math.round((await measureFolder(folder)) / 1_000_000);
  process.stderr.write(`  ${set}: ${megabytes} of ${clientSizes[set].installed} MB installed\n`);
}

/** Returns the size of the files in a folder in bytes, while others write to it. */
async function measureFolder(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let size = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    size += entry.isDirectory()
      ? await measureFolder(path)
      : await lstat(path).then(
          (file) => file.size,
          () => 0,
        );
  }
  return size;
}

/**
 * Returns the npm that runs this process, or else the one in PATH. yarn and pnpm set the same variable to their own path.
 */
function findNpmCommand(): [command: string, before: string[]] {
  const npmPath = process.env["npm_execpath"] ?? "";
  return basename(npmPath) === "npm-cli.js" && existsSync(npmPath)
    ? [process.execPath, [npmPath]]
    : ["npm", []];
}

/**
 * Removes the options of the outer npm, such as `--workspace` or `--omit=optional`, which must not affect the
 * installation: Codex's binary is an optional package.
 */
function removeOuterNpmSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^npm_config_(?:workspaces?|omit|production|dry_run|prefix|global)$/i.test(name),
    ),
  );
}
