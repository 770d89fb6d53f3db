import { isObject } from "@deltawire/wire";
import type { OfferedTool, CallPlan, PlannedCall } from "./offered-tools.ts";
import { findShellTool, buildShellCall } from "./shell-calls.ts";

type FileChange =
  | { type: "create"; path: string; text: string }
  | { type: "replace"; path: string; oldText: string; text: string }
  | { type: "delete"; path: string };

/**
 * Plans a patch if a patch tool is offered, else a command, for prompts such as "create the file hello.txt with `Hello`".
 */
export function planFileCalls(prompt: string, tools: readonly OfferedTool[]): CallPlan {
  const requestedChange = parseFileChange(prompt);
  const call = requestedChange === undefined ? undefined : buildFileCall(requestedChange, tools);
  if (requestedChange === undefined || call === undefined) return { calls: [], text: "" };
  return {
    calls: [call],
    text: `${changeVerbs[requestedChange.type]} \`${requestedChange.path}\`.`,
  };
}

const changeVerbs = { create: "Writing", replace: "Changing", delete: "Deleting" };

function parseFileChange(prompt: string): FileChange | undefined {
  const pathPattern = String.raw`[\`"']?([\w./-]*[\w-]\.\w+|[\w./-]*\/[\w.-]+|[A-Z]\w*file)[\`"']?`;
  const quotedPattern = String.raw`(?:\`([^\`]+)\`|"([^"]+)")`;
  const replaceMatch = new RegExp(
    `\\b(?:replace|change)\\s+${quotedPattern}\\s+(?:with|by|to|into)\\s+${quotedPattern}\\s+in\\s+(?:the\\s+)?(?:file\\s+)?${pathPattern}`,
    "i",
  ).exec(prompt);
  if (replaceMatch !== null) {
    const [, old1, old2, new1, new2, file = ""] = replaceMatch;
    return { type: "replace", path: file, oldText: old1 ?? old2 ?? "", text: new1 ?? new2 ?? "" };
  }
  const createMatch = new RegExp(
    `\\b(?:create|write|patch|add|make)\\b[^\`"'\\n]{0,40}?${pathPattern}\\s*,?\\s*(?:with|containing|that (?:says|contains)|saying)\\b[^\`"]{0,40}${quotedPattern}`,
    "i",
  ).exec(prompt);
  if (createMatch !== null) {
    const [, file = "", text1, text2] = createMatch;
    return { type: "create", path: file, text: text1 ?? text2 ?? "" };
  }
  // Without quotes, the rest of the sentence is the content.
  const unquotedMatch = new RegExp(
    `\\b(?:create|write|make)\\b[^\`"'\\n]{0,40}?${pathPattern}(?:\\s*,?\\s*(?:with|containing|that (?:says|contains)|saying)\\s+([^\\n]{1,200}?))?(?:\\s+in(?:side)?\\s+it)?[.!]?\\s*$`,
    "i",
  ).exec(prompt);
  if (unquotedMatch !== null) {
    const [, file = "", text = sampleText] = unquotedMatch;
    return { type: "create", path: file, text };
  }
  const deleteMatch = new RegExp(
    `\\b(?:delete|remove)\\s+(?:the\\s+)?file\\s+${pathPattern}`,
    "i",
  ).exec(prompt);
  return deleteMatch === null ? undefined : { type: "delete", path: deleteMatch[1] ?? "" };
}

const sampleText = "The demo was here.";

/** Builds a patch that creates a small file, for prompts without a file. */
export function buildSamplePatch(tool: OfferedTool): PlannedCall {
  return buildPatchCall(tool, { type: "create", path: "demo.txt", text: sampleText });
}

export function isPatchTool({ name }: OfferedTool): boolean {
  return /apply_?patch/i.test(name);
}

function buildFileCall(
  requestedChange: FileChange,
  tools: readonly OfferedTool[],
): PlannedCall | undefined {
  const patchTool = tools.find(isPatchTool);
  if (patchTool !== undefined) return buildPatchCall(patchTool, requestedChange);
  const writeCall =
    requestedChange.type === "create" ? buildWriteCall(requestedChange, tools) : undefined;
  if (writeCall !== undefined) return writeCall;
  const shell = findShellTool(tools);
  return shell === undefined
    ? undefined
    : buildShellCall(shell, buildShellCommand(requestedChange));
}

function buildPatchCall(
  { kind, name, parameters }: OfferedTool,
  requestedChange: FileChange,
): PlannedCall {
  const input = `*** Begin Patch\n${formatHunk(requestedChange)}*** End Patch\n`;
  if (kind === "custom") return { kind, name, input };
  const { properties } = parameters;
  if (
    isObject(properties) &&
    properties["path"] !== undefined &&
    properties["type"] !== undefined
  ) {
    const diff = requestedChange.type === "delete" ? {} : { diff: formatDiff(requestedChange) };
    return {
      kind,
      name,
      arguments: {
        type: patchOperations[requestedChange.type],
        path: requestedChange.path,
        ...diff,
      },
    };
  }
  const [property = "input"] = isObject(properties) ? Object.keys(properties) : [];
  return { kind, name, arguments: { [property]: input } };
}

const patchOperations = { create: "create_file", replace: "update_file", delete: "delete_file" };

function formatHunk(requestedChange: FileChange): string {
  switch (requestedChange.type) {
    case "create":
      return `*** Add File: ${requestedChange.path}\n${formatDiff(requestedChange)}`;
    case "replace":
      return `*** Update File: ${requestedChange.path}\n${formatDiff(requestedChange)}`;
    case "delete":
      return `*** Delete File: ${requestedChange.path}\n`;
    default:
      return requestedChange;
  }
}

function formatDiff(requestedChange: Exclude<FileChange, { type: "delete" }>): string {
  const addedLines = prefixLines("+", requestedChange.text);
  return requestedChange.type === "create"
    ? addedLines
    : `@@\n${prefixLines("-", requestedChange.oldText)}${addedLines}`;
}

function prefixLines(prefix: string, text: string): string {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => `${prefix}${line}\n`)
    .join("");
}

function buildWriteCall(
  { path, text }: { path: string; text: string },
  tools: readonly OfferedTool[],
): PlannedCall | undefined {
  for (const { kind, name, parameters } of tools) {
    const { properties } = parameters;
    if (kind !== "function" || !/write|create|save/i.test(name) || !isObject(properties)) continue;
    const names = Object.keys(properties);
    const pathProperty = names.find((property) => /path|file/i.test(property));
    const contentProperty = names.find((property) => /content|text|data|body/i.test(property));
    if (pathProperty !== undefined && contentProperty !== undefined)
      return { kind, name, arguments: { [pathProperty]: path, [contentProperty]: text } };
  }
  return undefined;
}

function buildShellCommand(requestedChange: FileChange): string {
  switch (requestedChange.type) {
    case "create":
      return `printf '%s\\n' ${quoteForShell(requestedChange.text)} > ${quoteForShell(requestedChange.path)}`;
    case "replace":
      return `python3 - <<'EOF'\nimport pathlib\np = pathlib.Path(${JSON.stringify(requestedChange.path)})\np.write_text(p.read_text().replace(${JSON.stringify(requestedChange.oldText)}, ${JSON.stringify(requestedChange.text)}))\nEOF`;
    case "delete":
      return `rm ${quoteForShell(requestedChange.path)}`;
    default:
      return requestedChange;
  }
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
