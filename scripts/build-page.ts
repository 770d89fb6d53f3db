// `npm run build:page`: builds packages/web into the folder that the gateway serves, if it is not of these sources.
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What was built, of what, and with which files. */
interface Build {
  stamp: string;
  assets: string[];
}

const root = join(import.meta.dirname, "..");
const page = join(root, "packages", "gateway", "page");

/** Everything that a build reads; what is not there does not count. */
const sources = [
  "packages/web/src",
  "packages/web/public",
  "packages/web/index.html",
  "packages/web/package.json",
  "packages/web/tsconfig.json",
  "packages/web/vite.config.ts",
  "packages/tasks/src",
  "packages/tasks/package.json",
  "tsconfig.base.json",
  "package-lock.json",
  "scripts/build-page.ts",
];

export function pageIsFresh(): boolean {
  return isFresh(page, stampOf(root, sources));
}

/** A hash of names and contents: times of files change with every checkout. */
export function stampOf(folder: string, paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths.flatMap((each) => filesIn(folder, each))) {
    const bytes = readFileSync(join(folder, path));
    hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex");
}

export function isFresh(folder: string, stamp: string): boolean {
  const build = readBuild(folder);
  return build?.stamp === stamp && existsSync(join(folder, "index.html"));
}

/**
 * Moves what was built into place, file by file: whoever reads at the same time, or builds the same, finds whole files
 * at every moment. The last build's assets stay, for tabs that are open: they load parts of theirs on demand.
 */
export function publish(built: string, folder: string, stamp: string): void {
  const assets = readdirSync(join(built, "assets"));
  const kept = new Set([...assets, ...(readBuild(folder)?.assets ?? [])]);
  mkdirSync(join(folder, "assets"), { recursive: true });
  for (const name of assets) renameSync(join(built, "assets", name), join(folder, "assets", name));
  renameSync(join(built, "index.html"), join(folder, "index.html"));
  const build: Build = { stamp, assets };
  writeFileSync(join(built, buildFile), `${JSON.stringify(build)}\n`);
  renameSync(join(built, buildFile), join(folder, buildFile));
  removeOld(join(folder, "assets"), (name) => !kept.has(name));
  removeOld(folder, (name) => name.startsWith(buildFolder));
}

const buildFile = "build.json";
const buildFolder = ".building-";
/** What is younger may be of a build that runs beside this one. */
const oldMs = 60 * 60 * 1000;

function removeOld(folder: string, isMeant: (name: string) => boolean): void {
  for (const name of readdirSync(folder).filter(isMeant)) {
    const path = join(folder, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > oldMs)
      rmSync(path, { recursive: true, force: true });
  }
}

/** One that cannot be read, or that somebody else wrote, is none. */
function readBuild(folder: string): Build | undefined {
  try {
    const build = JSON.parse(readFileSync(join(folder, buildFile), "utf8")) as Partial<Build>;
    return { stamp: String(build.stamp), assets: [build.assets ?? []].flat() };
  } catch {
    return undefined;
  }
}

function filesIn(folder: string, path: string): string[] {
  const stat = statSync(join(folder, path), { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(join(folder, path)).toSorted();
  return names.flatMap((name) => filesIn(folder, `${path}/${name}`));
}

async function buildPage(): Promise<void> {
  // Taken before: what is changed meanwhile is built at the next start.
  const stamp = stampOf(root, sources);
  if (isFresh(page, stamp)) return;
  const outDir = join(page, `${buildFolder}${randomUUID()}`);
  // Vite may end the process by an error of its own.
  process.once("exit", () => rmSync(outDir, { recursive: true, force: true }));
  // Where nothing can be written there is no need to begin.
  mkdirSync(outDir, { recursive: true });
  // Tests say "test" here, of which Vite would make React for developers: half as large again, and twice as slow.
  process.env["NODE_ENV"] = "production";
  const { build } = await import("vite");
  await build({
    configFile: join(root, "packages", "web", "vite.config.ts"),
    logLevel: "warn",
    build: { outDir, emptyOutDir: true },
  });
  publish(outDir, page, stamp);
}

if (import.meta.main) await buildPage();
