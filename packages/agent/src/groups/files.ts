import { basename, dirname } from "node:path";
import { defineTool } from "../define-tool.ts";
import type { CallPolicy, Tool, ToolContext, ToolGroup } from "../tool.ts";
import { replaceOnce } from "./edit-text.ts";
import { fileKind } from "./file-kind.ts";
import { InsideFolder } from "./inside-folder.ts";
import type { ProtectedPath } from "./protected-files.ts";
import { readPage } from "./read-page.ts";
import { replaceFile } from "./replace-file.ts";
import { globPattern, literalPattern, patternProblem, walkFolder } from "./walk-folder.ts";
import type { WalkOrder } from "./walk-worker.ts";

export interface FilesOptions {
  /** Nothing outside of it can be read or written. */
  folder: string;
  /** Files and folders in it that are neither read nor written, by their absolute paths. */
  exclude?: readonly ProtectedPath[];
  /** Leaves out `write_file` and `edit_file`. */
  readOnly?: boolean;
  /** Who is asked before something is written; `ask once` unless it says otherwise. */
  approval?: CallPolicy;
  /** Of one listing or search; ten seconds unless it says otherwise. */
  searchMs?: number;
}

const filesDescription = "Read, list, search, write and edit files within one folder.";

const filesRules = `Files: all paths are relative to one folder; nothing outside of it can be reached.
Look before you change: read a file, or find the place with search_files, before you edit it.
Prefer edit_file, with enough of the text around the place to make it unique, to writing a whole file again.`;

const maxImageBytes = 8 * 1024 * 1024;
const maxEditBytes = 8 * 1024 * 1024;
const maxLines = 300;

export function filesGroup(options: FilesOptions): ToolGroup {
  const inside = new InsideFolder(options.folder, options.exclude);
  const { readOnly = false, approval = "ask once", searchMs = 10_000 } = options;
  return {
    name: "files",
    description: filesDescription,
    rules: filesRules,
    tools: [
      readTool(inside),
      listTool(inside, searchMs),
      searchTool(inside, searchMs),
      ...(readOnly ? [] : [writeTool(inside, approval), editTool(inside, approval)]),
    ],
  };
}

const pathProperty = { type: "string", description: "Relative to the folder", minLength: 1 };

function readTool(inside: InsideFolder): Tool {
  return defineTool<{ path: string; start_line?: number; lines?: number }>({
    name: "read_file",
    description:
      "Reads a text file in pages of numbered lines, or shows a picture (PNG, JPEG, GIF, WebP).",
    input: {
      type: "object",
      properties: {
        path: pathProperty,
        start_line: { type: "integer", minimum: 1, description: "The first line, counted from 1" },
        lines: {
          type: "integer",
          minimum: 1,
          maximum: 2000,
          description: "How many; 500 if absent",
        },
      },
      required: ["path"],
      additionalProperties: false,
    },
    effect: "pure",
    run: async ({ path, start_line: first = 1, lines: count = 500 }, { signal }) => {
      const { file, size, shown } = await inside.openFile(path);
      try {
        const head = Buffer.alloc(8192);
        const { bytesRead } = await file.read(head, 0, head.length, 0);
        const kind = fileKind(head.subarray(0, bytesRead));
        if (kind.is === "binary") throw new Error(`${shown} is a binary file of ${size} bytes`);
        if (kind.is === "image") {
          if (size > maxImageBytes)
            throw new Error(`${shown} is too large a picture: ${size} bytes`);
          const bytes = Buffer.alloc(size);
          const read = await file.read(bytes, 0, size, 0);
          return image(bytes.subarray(0, read.bytesRead), kind.mediaType);
        }
        return pageText(shown, first, await readPage(file, first, count, signal));
      } finally {
        await file.close();
      }
    },
  });
}

function image(bytes: Uint8Array, mediaType: string): unknown {
  const picture = { type: "image", bytes, media_type: mediaType };
  return { message_content: [picture], block_list: [picture] };
}

function pageText(
  shown: string,
  first: number,
  { lines, more }: { lines: string[]; more: boolean },
): string {
  if (lines.length === 0)
    return first === 1 ? `${shown} is empty` : `${shown} has fewer than ${first} lines`;
  const width = String(first + lines.length - 1).length;
  const numbered = lines.map((line, index) => `${String(first + index).padStart(width)}  ${line}`);
  if (more) numbered.push(`(more follows: go on with start_line ${first + lines.length})`);
  return numbered.join("\n");
}

function listTool(inside: InsideFolder, timeoutMs: number): Tool {
  return defineTool<{ path?: string; recursive?: boolean; files?: string }>({
    name: "list_files",
    description:
      "Lists a folder; folders end in /. Recursively without the insides of .git and node_modules.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: "The whole folder if absent" },
        recursive: { type: "boolean" },
        files: {
          type: "string",
          maxLength: 200,
          description: "Only such, e.g. *.ts or src/**/*.md",
        },
      },
      additionalProperties: false,
    },
    effect: "pure",
    timeout: timeoutMs + 5_000,
    run: async ({ path = ".", recursive = false, files }, { signal }) =>
      walk(inside, path, { recursive, ...globOf(files), limit: 1_000 }, { timeoutMs, signal }),
  });
}

function searchTool(inside: InsideFolder, timeoutMs: number): Tool {
  return defineTool<{ pattern: string; path?: string; files?: string; ignore_case?: boolean }>({
    name: "search_files",
    description:
      "Finds the lines of text files that match a regular expression (JavaScript's), as path:line: text.",
    input: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, maxLength: 1000 },
        path: { type: "string", description: "A folder or a file; the whole folder if absent" },
        files: {
          type: "string",
          maxLength: 200,
          description: "Only such, e.g. *.ts or src/**/*.md",
        },
        ignore_case: { type: "boolean" },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    effect: "pure",
    timeout: timeoutMs + 5_000,
    run: async ({ pattern, path = ".", files, ignore_case: ignoreCase = false }, { signal }) => {
      const problem = patternProblem(pattern);
      if (problem !== undefined) throw new Error(`the pattern cannot be used: ${problem}`);
      const order = { recursive: true, search: { pattern, ignoreCase }, limit: maxLines };
      return walk(inside, path, { ...order, ...globOf(files) }, { timeoutMs, signal });
    },
  });
}

function globOf(files: string | undefined): { glob?: string } {
  return files === undefined || files === "" ? {} : { glob: globPattern(files) };
}

async function walk(
  inside: InsideFolder,
  path: string,
  order: Omit<WalkOrder, "base" | "prefix" | "excluded" | "protectedFiles">,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<string> {
  const { real, shown, missing } = await inside.locate(path);
  if (missing.length > 0) throw new Error(`${shown} does not exist`);
  const isFile = !(await inside.isFolder(real));
  const folder = await inside.hold(isFile ? dirname(real) : real);
  try {
    const start = isFile ? shown.slice(0, shown.lastIndexOf("/") + 1) : `${shown}/`;
    const prefix = start === "./" ? "" : start;
    const only = isFile
      ? { recursive: false, glob: `^${literalPattern(prefix + basename(real))}$` }
      : {};
    const at = {
      base: folder.base,
      prefix,
      excluded: inside.excludedIn(folder.path),
      protectedFiles: inside.protectedFiles.identities(),
    };
    const found = await walkFolder({ ...order, ...at, ...only }, limits);
    return told(found, order.search === undefined ? "entries" : "matches", limits.timeoutMs);
  } finally {
    await folder.close();
  }
}

function told(
  { lines, end, skipped }: { lines: string[]; end: "whole" | "more" | "time"; skipped: number },
  what: string,
  timeoutMs: number,
): string {
  const notes: string[] = [];
  if (lines.length === 0) notes.push(end === "time" ? `(no ${what} so far)` : `(no ${what})`);
  if (end === "more") notes.push(`(only the first ${lines.length} ${what})`);
  if (end === "time") notes.push(`(stopped after ${timeoutMs / 1000} s: narrow it down)`);
  if (skipped > 0) notes.push(`(${skipped} files or folders were too large or could not be read)`);
  return [...lines, ...notes].join("\n");
}

function writeTool(inside: InsideFolder, approval: CallPolicy): Tool {
  return defineTool<{ path: string; content: string }>({
    name: "write_file",
    description: "Writes a whole text file, new or instead of the old one. Makes missing folders.",
    input: {
      type: "object",
      properties: { path: pathProperty, content: { type: "string" } },
      required: ["path", "content"],
      additionalProperties: false,
    },
    effect: "idempotent",
    approval,
    run: async ({ path, content }, { signal }) => {
      if (content.length > maxEditBytes) throw new Error("that is too much for one file");
      await refuseGit(inside, path);
      signal.throwIfAborted();
      const { shown, existed } = await replaceFile(inside, path, content);
      return `${existed ? "replaced" : "created"} ${shown} (${Buffer.byteLength(content)} bytes)`;
    },
  });
}

function editTool(inside: InsideFolder, approval: CallPolicy): Tool {
  return defineTool<{ path: string; old_text: string; new_text: string; all?: boolean }>({
    name: "edit_file",
    description:
      "Replaces a piece of a text file. The old text must stand in the file exactly so, and once, unless `all` is true.",
    input: {
      type: "object",
      properties: {
        path: pathProperty,
        old_text: { type: "string", minLength: 1, description: "Without line numbers" },
        new_text: { type: "string" },
        all: { type: "boolean", description: "Replaces every occurrence" },
      },
      required: ["path", "old_text", "new_text"],
      additionalProperties: false,
    },
    effect: "idempotent",
    approval,
    run: async ({ path, old_text, new_text, all = false }, context) => {
      await refuseGit(inside, path);
      const { text, shown } = await wholeText(inside, path, context);
      const again = context.attempt > 1;
      const edited = replaceOnce(text, { old: old_text, new: new_text, all, again });
      if (edited.is === "refused") throw new Error(`${shown}: ${edited.why}`);
      if (edited.is === "done before") return `edited ${shown}, before the restart`;
      await replaceFile(inside, path, edited.text);
      const places = edited.count === 1 ? "one place" : `${edited.count} places`;
      return `edited ${shown} in ${places}, from line ${edited.line} on`;
    },
  });
}

/** A hook that is written there runs at the user's next commit, without anybody being asked again. */
async function refuseGit(inside: InsideFolder, path: string): Promise<void> {
  const { way } = await inside.locate(path);
  if (way.split("/").some((step) => step.toLowerCase() === ".git"))
    throw new Error("what is in .git is not written by this tool");
}

async function wholeText(
  inside: InsideFolder,
  path: string,
  { signal }: ToolContext,
): Promise<{ text: string; shown: string }> {
  const { file, size, shown } = await inside.openFile(path);
  try {
    if (size > maxEditBytes) throw new Error(`${shown} is too large to be edited: ${size} bytes`);
    const bytes = await file.readFile({ signal });
    if (fileKind(bytes).is !== "text") throw new Error(`${shown} is no text file`);
    try {
      return {
        text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
        shown,
      };
    } catch (cause) {
      throw new Error(`${shown} is not UTF-8, and would be spoilt by an edit`, { cause });
    }
  } finally {
    await file.close();
  }
}
