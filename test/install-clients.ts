import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { clientSets, type ClientSet } from "./pinned-clients.ts";

const root = join(import.meta.dirname, "..");

export function clientFolder(set: ClientSet): string {
  return join(root, ".clients", set);
}

/**
 * Fetches a set of clients once, into a folder that git ignores; again only when its pins change. `finish` makes of the
 * packages what is run, in a folder that is moved afterwards.
 */
export async function installClients(
  set: ClientSet,
  finish: (folder: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const folder = clientFolder(set);
  const wanted = stampOf(set);
  if ((await stampIn(folder)) === wanted) return;
  const names = Object.entries(clientSets[set]).map(([name, version]) => `${name} ${version}`);
  process.stderr.write(`Fetching clients, once, into .clients/${set}: ${names.join(", ")} ...\n`);
  // Made beside its place and moved there whole, so that a run that was stopped or that ran at the same time leaves
  // nothing half.
  const fresh = `${folder}.${process.pid}`;
  try {
    await mkdir(fresh, { recursive: true });
    const manifest = { private: true, dependencies: clientSets[set] };
    await writeFile(join(fresh, "package.json"), JSON.stringify(manifest, null, 2));
    await npmInstall(fresh, set);
    await finish(fresh);
    await writeFile(join(fresh, stampFile), wanted);
    await putInPlace(fresh, folder, wanted);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

const stampFile = "installed";

/** The platform is part of it because a tree shared with a container holds one platform's binaries. */
function stampOf(set: ClientSet): string {
  return `${JSON.stringify(clientSets[set])} ${process.platform}-${process.arch}\n`;
}

async function stampIn(folder: string): Promise<string | undefined> {
  return readFile(join(folder, stampFile), "utf8").catch(() => undefined);
}

async function putInPlace(fresh: string, folder: string, wanted: string): Promise<void> {
  if (existsSync(folder)) {
    if ((await stampIn(folder)) === wanted) return;
    const old = `${fresh}.old`;
    await rename(folder, old);
    await rm(old, { recursive: true, force: true });
  }
  await rename(fresh, folder);
}

const installOptions = [
  "--ignore-scripts",
  "--no-save",
  "--no-package-lock",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
  "--loglevel=error",
  // npm waits 10 s and then 60 s before it tries again, for every package; somebody offline should hear of it sooner.
  "--fetch-retry-mintimeout=1000",
  "--fetch-retry-factor=2",
];

const longestInstallMs = 600_000;

async function npmInstall(folder: string, set: ClientSet): Promise<void> {
  const [command, before] = npmCommand();
  const child = spawn(command, [...before, "install", "--prefix", folder, ...installOptions], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: withoutOuterNpm(process.env),
    shell: process.platform === "win32" && command === "npm",
    timeout: longestInstallMs,
  });
  let output = "";
  child.stdout.on("data", (text) => (output += String(text)));
  child.stderr.on("data", (text) => (output += String(text)));
  const ended = await new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) =>
      resolve(code === 0 ? "" : `npm ended with ${signal ?? `exit code ${code}`}`),
    );
  });
  if (ended === "") return;
  throw new Error(
    `The clients of the end-to-end tests (${set}) could not be installed: ${ended}.\n` +
      "They are fetched from the npm registry once; later runs do not need it. Check the network, the proxy, or " +
      "`npm config get registry`, then try again. `npm run test:unit` needs none of them." +
      `\n\n${output.trim()}`,
  );
}

/** The npm that runs us, else the one in PATH. yarn and pnpm set the same variable to themselves. */
function npmCommand(): [command: string, before: string[]] {
  const given = process.env["npm_execpath"] ?? "";
  return basename(given) === "npm-cli.js" && existsSync(given)
    ? [process.execPath, [given]]
    : ["npm", []];
}

/** `npm test --workspace …` or `--omit=optional` speaks to the outer npm; Codex's binary is an optional package. */
function withoutOuterNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^npm_config_(?:workspaces?|omit|production|dry_run|prefix|global)$/i.test(name),
    ),
  );
}
