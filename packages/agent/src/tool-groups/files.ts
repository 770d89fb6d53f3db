import { basename, dirname } from "node:path";
import { defineTool } from "../define-tool.ts";
import type { CallPolicy, Tool, ToolContext, ToolGroup } from "../tool.ts";
import { replaceText } from "./edit-text.ts";
import { detectFileKind } from "./detect-file-kind.ts";
import { SandboxedFolder } from "./sandboxed-folder.ts";
import type { ProtectedPath } from "./protected-files.ts";
import { readLines, type LinePage } from "./read-lines.ts";
import { replaceFileAtomic } from "./replace-file-atomic.ts";
import { globToPattern, escapePattern, findPatternProblem, walkFolder } from "./walk-folder.ts";
import type { WalkRequest } from "./walk-worker.ts";

export interface FilesOptions {
  /** The tools cannot read or write anything outside of this folder. */
  folder: string;
  /** Absolute paths of files and folders in `folder` that the tools cannot access. */
  exclude?: readonly ProtectedPath[];
  /** If true, `write_file` and `edit_file` are not available. */
  readOnly?: boolean;
  /** Approval policy of the tools that write. Default `ask_once`. */
  approval?: CallPolicy;
  /** Time limit of one listing or search, in milliseconds; default 10,000. */
  searchTimeoutMs?: number;
}

const filesDescription = "Read, list, search, write and edit files within one folder.";

const filesRules = `Files: all paths are relative to one folder; nothing outside of it can be reached.
Look before you edit: read the file, or find the place with search_files.
Prefer edit_file, with enough surrounding text to make the match unique, over rewriting the complete file.`;

const maxImageBytes = 8 * 1024 * 1024;
const maxEditBytes = 8 * 1024 * 1024;
const maxSearchLines = 300;

export function filesGroup(options: FilesOptions): ToolGroup {
  const sandbox = new SandboxedFolder(options.folder, options.exclude);
  const { readOnly = false, approval = "ask_once", searchTimeoutMs = 10_000 } = options;
  return {
    name: "files",
    description: filesDescription,
    rules: filesRules,
    tools: [
      createReadTool(sandbox),
      createListTool(sandbox, searchTimeoutMs),
      createSearchTool(sandbox, searchTimeoutMs),
      ...(readOnly ? [] : [createWriteTool(sandbox, approval), createEditTool(sandbox, approval)]),
    ],
  };
}

const pathProperty = { type: "string", description: "Relative to the folder", minLength: 1 };

function createReadTool(sandbox: SandboxedFolder): Tool {
  return defineTool<{ path: string; start_line?: number; lines?: number }>({
    name: "read_file",
    description:
      "Reads a text file in pages of numbered lines, or shows an image (PNG, JPEG, GIF, WebP).",
    input: {
      type: "object",
      properties: {
        path: pathProperty,
        start_line: { type: "integer", minimum: 1, description: "The first line, counted from 1" },
        lines: {
          type: "integer",
          minimum: 1,
          maximum: 2000,
          description: "Number of lines; default 500",
        },
      },
      required: ["path"],
      additionalProperties: false,
    },
    effect: "pure",
    run: async ({ path, start_line: firstLine = 1, lines: lineCount = 500 }, { signal }) => {
      const { file, size, displayPath } = await sandbox.openFile(path);
      try {
        const head = Buffer.alloc(8192);
        const { bytesRead } = await file.read(head, 0, head.length, 0);
        const kind = detectFileKind(head.subarray(0, bytesRead));
        if (kind.type === "binary")
          throw new Error(`${displayPath} is a binary file of ${size} bytes`);
        if (kind.type === "image") {
          if (size > maxImageBytes)
            throw new Error(`the image ${displayPath} is too large: ${size} bytes`);
          const bytes = Buffer.alloc(size);
          const read = await file.read(bytes, 0, size, 0);
          return buildImageOutput(bytes.subarray(0, read.bytesRead), kind.mediaType);
        }
        return formatPage(
          displayPath,
          firstLine,
          await readLines(file, firstLine, lineCount, signal),
        );
      } finally {
        await file.close();
      }
    },
  });
}

function buildImageOutput(bytes: Uint8Array, mediaType: string): unknown {
  const imageBlock = { type: "image", bytes, media_type: mediaType };
  return { message_content: [imageBlock], block_list: [imageBlock] };
}

function formatPage(displayPath: string, firstLine: number, { lines, hasMore }: LinePage): string {
  if (lines.length === 0)
    return firstLine === 1
      ? `${displayPath} is empty`
      : `${displayPath} has fewer than ${firstLine} lines`;
  const width = String(firstLine + lines.length - 1).length;
  const numberedLines = lines.map(
    (line, index) => `${String(firstLine + index).padStart(width)}  ${line}`,
  );
  if (hasMore)
    numberedLines.push(`(more lines follow; continue with start_line ${firstLine + lines.length})`);
  return numberedLines.join("\n");
}

function createListTool(sandbox: SandboxedFolder, timeoutMs: number): Tool {
  return defineTool<{ path?: string; recursive?: boolean; files?: string }>({
    name: "list_files",
    description:
      "Lists a folder; folders end in /. Recursive listings skip the contents of .git and node_modules.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: "Default: the complete folder" },
        recursive: { type: "boolean" },
        files: {
          type: "string",
          maxLength: 200,
          description: "Only files that match this glob, e.g. *.ts or src/**/*.md",
        },
      },
      additionalProperties: false,
    },
    effect: "pure",
    timeoutMs: timeoutMs + 5_000,
    run: async ({ path = ".", recursive = false, files }, { signal }) =>
      walkPath(
        sandbox,
        path,
        { recursive, ...toGlobOption(files), limit: 1_000 },
        { timeoutMs, signal },
      ),
  });
}

function createSearchTool(sandbox: SandboxedFolder, timeoutMs: number): Tool {
  return defineTool<{ pattern: string; path?: string; files?: string; ignore_case?: boolean }>({
    name: "search_files",
    description:
      "Finds the lines of text files that match a JavaScript regular expression, as path:line: text.",
    input: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, maxLength: 1000 },
        path: { type: "string", description: "A folder or a file. Default: the complete folder" },
        files: {
          type: "string",
          maxLength: 200,
          description: "Only files that match this glob, e.g. *.ts or src/**/*.md",
        },
        ignore_case: { type: "boolean" },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    effect: "pure",
    timeoutMs: timeoutMs + 5_000,
    run: async ({ pattern, path = ".", files, ignore_case: ignoreCase = false }, { signal }) => {
      const problem = findPatternProblem(pattern);
      if (problem !== undefined) throw new Error(`invalid pattern: ${problem}`);
      const walkRequest = {
        recursive: true,
        search: { pattern, ignoreCase },
        limit: maxSearchLines,
      };
      return walkPath(
        sandbox,
        path,
        { ...walkRequest, ...toGlobOption(files) },
        { timeoutMs, signal },
      );
    },
  });
}

function toGlobOption(files: string | undefined): { glob?: string } {
  return files === undefined || files === "" ? {} : { glob: globToPattern(files) };
}

async function walkPath(
  sandbox: SandboxedFolder,
  path: string,
  walkRequest: Omit<WalkRequest, "basePath" | "prefix" | "excluded" | "protectedFiles">,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<string> {
  const { realPath, displayPath, missingSegments } = await sandbox.resolvePath(path);
  if (missingSegments.length > 0) throw new Error(`${displayPath} does not exist`);
  const isFile = !(await sandbox.isFolder(realPath));
  const folder = await sandbox.openFolder(isFile ? dirname(realPath) : realPath);
  try {
    const start = isFile
      ? displayPath.slice(0, displayPath.lastIndexOf("/") + 1)
      : `${displayPath}/`;
    const prefix = start === "./" ? "" : start;
    const fileOptions = isFile
      ? { recursive: false, glob: `^${escapePattern(prefix + basename(realPath))}$` }
      : {};
    const folderOptions = {
      basePath: folder.basePath,
      prefix,
      excluded: sandbox.listExcluded(folder.realPath),
      protectedFiles: sandbox.protectedFiles.listIdentities(),
    };
    const walkResult = await walkFolder(
      { ...walkRequest, ...folderOptions, ...fileOptions },
      limits,
    );
    return formatWalkResult(
      walkResult,
      walkRequest.search === undefined ? "entries" : "matches",
      limits.timeoutMs,
    );
  } finally {
    await folder.close();
  }
}

function formatWalkResult(
  { lines, end, skipped }: { lines: string[]; end: "complete" | "more" | "time"; skipped: number },
  noun: string,
  timeoutMs: number,
): string {
  const notices: string[] = [];
  if (lines.length === 0) notices.push(end === "time" ? `(no ${noun} so far)` : `(no ${noun})`);
  if (end === "more") notices.push(`(only the first ${lines.length} ${noun})`);
  if (end === "time") notices.push(`(timed out after ${timeoutMs / 1000} s; narrow the search)`);
  if (skipped > 0) notices.push(`(${skipped} files or folders skipped: too large or not readable)`);
  return [...lines, ...notices].join("\n");
}

function createWriteTool(sandbox: SandboxedFolder, approval: CallPolicy): Tool {
  return defineTool<{ path: string; content: string }>({
    name: "write_file",
    description: "Writes a complete text file, creating or replacing it. Creates missing folders.",
    input: {
      type: "object",
      properties: { path: pathProperty, content: { type: "string" } },
      required: ["path", "content"],
      additionalProperties: false,
    },
    effect: "idempotent",
    approval,
    run: async ({ path, content }, { signal }) => {
      if (content.length > maxEditBytes) throw new Error("the content is too long for one file");
      await assertNotInGitFolder(sandbox, path);
      signal.throwIfAborted();
      const { displayPath, existed } = await replaceFileAtomic(sandbox, path, content);
      return `${existed ? "replaced" : "created"} ${displayPath} (${Buffer.byteLength(content)} bytes)`;
    },
  });
}

function createEditTool(sandbox: SandboxedFolder, approval: CallPolicy): Tool {
  return defineTool<{ path: string; old_text: string; new_text: string; all?: boolean }>({
    name: "edit_file",
    description:
      "Replaces part of a text file. The old text must occur in the file exactly, and only once unless `all` is true.",
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
      await assertNotInGitFolder(sandbox, path);
      const { text, displayPath } = await readFullText(sandbox, path, context);
      const isRetry = context.attempt > 1;
      const editResult = replaceText(text, {
        oldText: old_text,
        newText: new_text,
        replaceAll: all,
        isRetry,
      });
      if (editResult.status === "rejected") throw new Error(`${displayPath}: ${editResult.reason}`);
      if (editResult.status === "already_applied")
        return `edited ${displayPath} before the restart`;
      await replaceFileAtomic(sandbox, path, editResult.text);
      const places = editResult.count === 1 ? "one place" : `${editResult.count} places`;
      return `edited ${displayPath} in ${places}, starting at line ${editResult.line}`;
    },
  });
}

/** Throws for a path in `.git`: a hook written there would run at the user's next commit without approval. */
async function assertNotInGitFolder(sandbox: SandboxedFolder, path: string): Promise<void> {
  const { relativePath } = await sandbox.resolvePath(path);
  if (relativePath.split("/").some((step) => step.toLowerCase() === ".git"))
    throw new Error("this tool does not write to .git");
}

async function readFullText(
  sandbox: SandboxedFolder,
  path: string,
  { signal }: ToolContext,
): Promise<{ text: string; displayPath: string }> {
  const { file, size, displayPath } = await sandbox.openFile(path);
  try {
    if (size > maxEditBytes)
      throw new Error(`${displayPath} is too large to be edited: ${size} bytes`);
    const bytes = await file.readFile({ signal });
    if (detectFileKind(bytes).type !== "text") throw new Error(`${displayPath} is not a text file`);
    try {
      return {
        text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
        displayPath,
      };
    } catch (cause) {
      throw new Error(`${displayPath} is not UTF-8; an edit would corrupt it`, { cause });
    }
  } finally {
    await file.close();
  }
}
