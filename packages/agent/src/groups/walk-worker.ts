import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { fileKind } from "./file-kind.ts";
import { identityOf } from "./protected-files.ts";

/*
 * Walks a folder on a thread of its own, which can be ended in the middle of a regular expression that never comes to
 * an end. Links are not followed: each folder is opened through the one above it.
 */

export interface WalkOrder {
  /** The folder, as its holder reaches it. */
  base: string;
  /** What the names in the answer begin with. */
  prefix: string;
  /** Neither searched nor entered, by their paths from the folder. */
  excluded: readonly string[];
  /** Files that are not searched under any name: `identityOf` each. */
  protectedFiles: readonly string[];
  recursive: boolean;
  /** Of file names, as a regular expression. */
  glob?: string;
  /** Without it the entries themselves are told. */
  search?: { pattern: string; ignoreCase: boolean };
  /** Of lines that are told. */
  limit: number;
}

export type WalkMessage =
  | { is: "line"; line: string }
  | { is: "end"; skipped: number; more: boolean };

const order = workerData as WalkOrder;
const noFollow = constants.O_NOFOLLOW ?? 0;
const onLinux = process.platform === "linux";
const excluded = new Set(order.excluded);
const protectedFiles = new Set(order.protectedFiles);
const skippedFolders = new Set([".git", "node_modules"]);
const maxFileBytes = 4 * 1024 * 1024;
const maxDepth = 40;
const maxLine = 300;
const files = order.glob === undefined ? undefined : new RegExp(order.glob);
const search = order.search && new RegExp(order.search.pattern, order.search.ignoreCase ? "i" : "");
let found = 0;
let skipped = 0;

class Enough extends Error {}

let more = false;
try {
  walk(order.base, order.prefix, 0);
} catch (error) {
  if (!(error instanceof Enough)) throw error;
  more = true;
}
send({ is: "end", skipped, more });

function walk(path: string, prefix: string, depth: number): void {
  // The first folder is already held by whoever started this.
  const fd = depth === 0 || !onLinux ? undefined : openFolder(path);
  if (fd === null) return;
  try {
    const base = fd === undefined ? path : `/proc/self/fd/${fd}`;
    const entries = readdirSync(base, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const name = prefix + entry.name;
      if (entry.isDirectory()) {
        const enters = mayEnter(name, entry.name, depth);
        if (search === undefined && files === undefined)
          tell(order.recursive && !enters ? `${name}/ (not entered)` : `${name}/`);
        if (enters) walk(`${base}/${entry.name}`, `${name}/`, depth + 1);
      } else if (files === undefined || files.test(name)) {
        if (search === undefined)
          tell(describe(`${base}/${entry.name}`, name, entry.isSymbolicLink()));
        else if (isExcluded(name)) skipped += 1;
        else if (entry.isFile()) searchFile(`${base}/${entry.name}`, name, search);
      }
    }
  } catch (error) {
    if (error instanceof Enough) throw error;
    skipped += 1; // it may not be read, or is gone
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function mayEnter(name: string, own: string, depth: number): boolean {
  return order.recursive && !skippedFolders.has(own) && !isExcluded(name) && depth < maxDepth;
}

function isExcluded(name: string): boolean {
  return excluded.has(name.slice(order.prefix.length));
}

function openFolder(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | noFollow);
  } catch {
    skipped += 1;
    return null;
  }
}

function describe(path: string, name: string, isLink: boolean): string {
  if (isLink) return `${name} (a link)`;
  try {
    const fd = openSync(path, constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0));
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
  const text = textOf(path);
  if (text === undefined) return;
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const from = match.index > maxLine / 2 && line.length > maxLine ? match.index - 80 : 0;
    const piece = line.slice(from, from + maxLine).replace(/\r$/, "");
    tell(
      `${name}:${index + 1}: ${from > 0 ? "…" : ""}${piece}${line.length > from + maxLine ? "…" : ""}`,
    );
  }
}

function textOf(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0));
  } catch {
    skipped += 1;
    return undefined;
  }
  try {
    const file = fstatSync(fd, { bigint: true });
    const size = Number(file.size);
    if (size > maxFileBytes || protectedFiles.has(identityOf(file))) {
      skipped += 1;
      return undefined;
    }
    const bytes = Buffer.alloc(size);
    const length = readSync(fd, bytes, 0, size, 0);
    const content = bytes.subarray(0, length);
    return fileKind(content).is === "text" ? content.toString("utf8") : undefined;
  } catch {
    skipped += 1;
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function tell(line: string): void {
  if (found >= order.limit) throw new Enough();
  found += 1;
  send({ is: "line", line });
}

function send(message: WalkMessage): void {
  parentPort?.postMessage(message, []);
}
