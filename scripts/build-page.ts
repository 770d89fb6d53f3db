// `npm run build:page`: builds packages/web into the folder that the gateway serves, unless the build is up to date.
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The hash of the sources of a build, and its assets. */
interface BuildManifest {
  stamp: string;
  assets: string[];
}

const root = join(import.meta.dirname, "..");
const pageFolder = join(root, "packages", "gateway", "page");

/** All inputs of a build. Missing paths are ignored. */
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

export function isPageFresh(): boolean {
  return isBuildFresh(pageFolder, hashSources(root, sources));
}

/** Hashes names and contents, since modification times change with every checkout. */
export function hashSources(folder: string, paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths.flatMap((source) => listFiles(folder, source))) {
    const bytes = readFileSync(join(folder, path));
    hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex");
}

export function isBuildFresh(folder: string, stamp: string): boolean {
  const build = readBuild(folder);
  return build?.stamp === stamp && existsSync(join(folder, "index.html"));
}

/**
 * Moves a build into place file by file, so that concurrent readers and builds always find complete files. The assets
 * of the previous build are preserved, because open tabs load them on demand.
 */
export function publishBuild(buildFolder: string, folder: string, stamp: string): void {
  const assets = readdirSync(join(buildFolder, "assets"));
  const retainedNames = new Set([...assets, ...(readBuild(folder)?.assets ?? [])]);
  mkdirSync(join(folder, "assets"), { recursive: true });
  for (const name of assets)
    renameSync(join(buildFolder, "assets", name), join(folder, "assets", name));
  renameSync(join(buildFolder, "index.html"), join(folder, "index.html"));
  const build: BuildManifest = { stamp, assets };
  writeFileSync(join(buildFolder, manifestFile), `${JSON.stringify(build)}\n`);
  renameSync(join(buildFolder, manifestFile), join(folder, manifestFile));
  removeStale(join(folder, "assets"), (name) => !retainedNames.has(name));
  removeStale(folder, (name) => name.startsWith(buildFolderPrefix));
}

const manifestFile = "build.json";
const buildFolderPrefix = ".building-";
/** Files that are newer than this may belong to a concurrent build. */
const staleAfterMs = 60 * 60 * 1000;

function removeStale(folder: string, shouldRemove: (name: string) => boolean): void {
  for (const name of readdirSync(folder).filter(shouldRemove)) {
    const path = join(folder, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > staleAfterMs)
      rmSync(path, { recursive: true, force: true });
  }
}

/** Returns undefined if the manifest is missing or invalid. */
function readBuild(folder: string): BuildManifest | undefined {
  try {
    const build = JSON.parse(
      readFileSync(join(folder, manifestFile), "utf8"),
    ) as Partial<BuildManifest>;
    return { stamp: String(build.stamp), assets: [build.assets ?? []].flat() };
  } catch {
    return undefined;
  }
}

function listFiles(folder: string, path: string): string[] {
  const stat = statSync(join(folder, path), { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(join(folder, path)).toSorted();
  return names.flatMap((name) => listFiles(folder, `${path}/${name}`));
}

async function buildPage(): Promise<void> {
  // The hash is computed before the build, so that changes during the build are built at the next start.
  const stamp = hashSources(root, sources);
  if (isBuildFresh(pageFolder, stamp)) return;
  const outDir = join(pageFolder, `${buildFolderPrefix}${randomUUID()}`);
  // Vite may exit the process on an error.
  process.once("exit", () => rmSync(outDir, { recursive: true, force: true }));
  // This fails early if the folder is not writable.
  mkdirSync(outDir, { recursive: true });
  // Tests set NODE_ENV to "test", for which Vite would bundle React's development build: 1.5 times the size and half the
  // speed.
  process.env["NODE_ENV"] = "production";
  const { build } = await import("vite");
  await build({
    configFile: join(root, "packages", "web", "vite.config.ts"),
    logLevel: "warn",
    build: { outDir, emptyOutDir: true },
  });
  publishBuild(outDir, pageFolder, stamp);
}

if (import.meta.main) await buildPage();
