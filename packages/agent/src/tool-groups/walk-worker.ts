import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { detectFileKind } from "./detect-file-kind.ts";
import { formatFileIdentity } from "./protected-files.ts";

/*
 * Walks a folder on a separate thread, which can be terminated while a slow regular expression runs. Links are not
 * followed: each folder is opened through its parent.
 */

export interface WalkRequest {
  /** Path of the folder for accessing its entries, see `OpenFolder`. */
  basePath: string;
  /** Prefix of the names in the result. */
  prefix: string;
  /** Paths relative to the folder that are neither searched nor entered. */
  excluded: readonly string[];
  /** Files that are not searched under any name, by `formatFileIdentity`. */
  protectedFiles: readonly string[];
  recursive: boolean;
  /** Regular expression that file names must match. */
  glob?: string;
  /** If absent, the entries are listed. */
  search?: { pattern: string; ignoreCase: boolean };
  /** Maximum number of lines in the result. */
  limit: number;
}

export type WalkMessage =
  | { type: "line"; line: string }
  | { type: "end"; skipped: number; hasMore: boolean };

const request = workerData as WalkRequest;
const noFollowFlag = constants.O_NOFOLLOW ?? 0;
const isLinux = process.platform === "linux";
const excluded = new Set(request.excluded);
const protectedFiles = new Set(request.protectedFiles);
const skippedFolders = new Set([".git", "node_modules"]);
const maxFileBytes = 4 * 1024 * 1024;
const maxDepth = 40;
const maxLineLength = 300;
const filePattern = request.glob === undefined ? undefined : new RegExp(request.glob);
const searchPattern =
  request.search && new RegExp(request.search.pattern, request.search.ignoreCase ? "i" : "");
let emittedLines = 0;
let skipped = 0;

class LimitReachedError extends Error {}

let hasMore = false;
try {
  walk(request.basePath, request.prefix, 0);
} catch (error) {
  if (!(error instanceof LimitReachedError)) throw error;
  hasMore = true;
}
sendMessage({ type: "end", skipped, hasMore });

function walk(path: string, prefix: string, depth: number): void {
  // The caller already holds the first folder open.
  const fd = depth === 0 || !isLinux ? undefined : openFolder(path);
  if (fd === null) return;
  try {
    const base = fd === undefined ? path : `/proc/self/fd/${fd}`;
    const entries = readdirSync(base, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const name = prefix + entry.name;
      if (entry.isDirectory()) {
        const isEntered = shouldEnter(name, entry.name, depth);
        if (searchPattern === undefined && filePattern === undefined)
          emitLine(request.recursive && !isEntered ? `${name}/ (not entered)` : `${name}/`);
        if (isEntered) walk(`${base}/${entry.name}`, `${name}/`, depth + 1);
      } else if (filePattern === undefined || filePattern.test(name)) {
        if (searchPattern === undefined)
          emitLine(describeEntry(`${base}/${entry.name}`, name, entry.isSymbolicLink()));
        else if (isExcluded(name)) skipped += 1;
        else if (entry.isFile()) searchFile(`${base}/${entry.name}`, name, searchPattern);
      }
    }
  } catch (error) {
    if (error instanceof LimitReachedError) throw error;
    skipped += 1; // not readable, or deleted meanwhile
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function shouldEnter(name: string, entryName: string, depth: number): boolean {
  return (
    request.recursive && !skippedFolders.has(entryName) && !isExcluded(name) && depth < maxDepth
  );
}

function isExcluded(name: string): boolean {
  return excluded.has(name.slice(request.prefix.length));
}

function openFolder(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | noFollowFlag);
  } catch {
    skipped += 1;
    return null;
  }
}

function describeEntry(path: string, name: string, isLink: boolean): string {
  if (isLink) return `${name} (a link)`;
  try {
    const fd = openSync(path, constants.O_RDONLY | noFollowFlag | (constants.O_NONBLOCK ?? 0));
    try {
      return `${name} (${fstatSync(fd).size} bytes)`;
    } finally {
      closeSync(fd);
    }
  } catch {
    return name;
  }
}

function searchFile(path: string, name: string, pattern: RegExp): void {
  const text = readTextFile(path);
  if (text === undefined) return;
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const start =
      match.index > maxLineLength / 2 && line.length > maxLineLength ? match.index - 80 : 0;
    const excerpt = line.slice(start, start + maxLineLength).replace(/\r$/, "");
    emitLine(
      `${name}:${index + 1}: ${start > 0 ? "…" : ""}${excerpt}${line.length > start + maxLineLength ? "…" : ""}`,
    );
  }
}

function readTextFile(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | noFollowFlag | (constants.O_NONBLOCK ?? 0));
  } catch {
    skipped += 1;
    return undefined;
  }
  try {
    const file = fstatSync(fd, { bigint: true });
    const size = Number(file.size);
    if (size > maxFileBytes || protectedFiles.has(formatFileIdentity(file))) {
      skipped += 1;
      return undefined;
    }
    const bytes = Buffer.alloc(size);
    const length = readSync(fd, bytes, 0, size, 0);
    const content = bytes.subarray(0, length);
    return detectFileKind(content).type === "text" ? content.toString("utf8") : undefined;
  } catch {
    skipped += 1;
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function emitLine(line: string): void {
  if (emittedLines >= request.limit) throw new LimitReachedError();
  emittedLines += 1;
  sendMessage({ type: "line", line });
}

function sendMessage(message: WalkMessage): void {
  parentPort?.postMessage(message, []);
}
