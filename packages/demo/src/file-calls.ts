import { isObject } from "@deltawire/wire";
import type { OfferedTool, Plan, PlannedCall } from "./offered-tools.ts";
import { shellAmong, shellCall } from "./shell-calls.ts";

type FileChange =
  | { change: "create"; path: string; text: string }
  | { change: "replace"; path: string; old: string; text: string }
  | { change: "delete"; path: string };

/** "create the file hello.txt with `Hello`": a patch where a patch tool is offered, else a command. */
export function fileCalls(words: string, tools: readonly OfferedTool[]): Plan {
  const wanted = fileChange(words);
  const call = wanted === undefined ? undefined : callFor(wanted, tools);
  if (wanted === undefined || call === undefined) return { calls: [], says: "" };
  return { calls: [call], says: `${saying[wanted.change]} \`${wanted.path}\`.` };
}

const saying = { create: "I write", replace: "I change", delete: "I delete" };

function fileChange(words: string): FileChange | undefined {
  const path = String.raw`[\`"']?([\w./-]*[\w-]\.\w+|[\w./-]*\/[\w.-]+|[A-Z]\w*file)[\`"']?`;
  const quoted = String.raw`(?:\`([^\`]+)\`|"([^"]+)")`;
  const replace = new RegExp(
    `\\b(?:replace|change)\\s+${quoted}\\s+(?:with|by|to|into)\\s+${quoted}\\s+in\\s+(?:the\\s+)?(?:file\\s+)?${path}`,
    "i",
  ).exec(words);
  if (replace !== null) {
    const [, old1, old2, new1, new2, file = ""] = replace;
    return { change: "replace", path: file, old: old1 ?? old2 ?? "", text: new1 ?? new2 ?? "" };
  }
  const create = new RegExp(
    `\\b(?:create|write|patch|add|make)\\b[^\`"'\\n]{0,40}?${path}\\s*,?\\s*(?:with|containing|that (?:says|contains)|saying)\\b[^\`"]{0,40}${quoted}`,
    "i",
  ).exec(words);
  if (create !== null) {
    const [, file = "", text1, text2] = create;
    return { change: "create", path: file, text: text1 ?? text2 ?? "" };
  }
  // Without quotes, the rest of the sentence is what it should say.
  const plain = new RegExp(
    `\\b(?:create|write|make)\\b[^\`"'\\n]{0,40}?${path}(?:\\s*,?\\s*(?:with|containing|that (?:says|contains)|saying)\\s+([^\\n]{1,200}?))?(?:\\s+in(?:side)?\\s+it)?[.!]?\\s*$`,
    "i",
  ).exec(words);
  if (plain !== null) {
    const [, file = "", text = sampleText] = plain;
    return { change: "create", path: file, text };
  }
  const remove = new RegExp(`\\b(?:delete|remove)\\s+(?:the\\s+)?file\\s+${path}`, "i").exec(words);
  return remove === null ? undefined : { change: "delete", path: remove[1] ?? "" };
}

const sampleText = "The demo was here.";

/** A patch that writes a small file, for a patch tool that is called without a file in mind. */
export function samplePatch(tool: OfferedTool): PlannedCall {
  return patchCall(tool, { change: "create", path: "demo.txt", text: sampleText });
}

export function isPatcher({ name }: OfferedTool): boolean {
  return /apply_?patch/i.test(name);
}

function callFor(wanted: FileChange, tools: readonly OfferedTool[]): PlannedCall | undefined {
  const patcher = tools.find(isPatcher);
  if (patcher !== undefined) return patchCall(patcher, wanted);
  const writer = wanted.change === "create" ? writerCall(wanted, tools) : undefined;
  if (writer !== undefined) return writer;
  const shell = shellAmong(tools);
  return shell === undefined ? undefined : shellCall(shell, commandFor(wanted));
}

function patchCall({ kind, name, parameters }: OfferedTool, wanted: FileChange): PlannedCall {
  const input = `*** Begin Patch\n${hunk(wanted)}*** End Patch\n`;
  if (kind === "custom") return { kind, name, input };
  const { properties } = parameters;
  if (
    isObject(properties) &&
    properties["path"] !== undefined &&
    properties["type"] !== undefined
  ) {
    const diff = wanted.change === "delete" ? {} : { diff: diffOf(wanted) };
    return {
      kind,
      name,
      arguments: { type: operation[wanted.change], path: wanted.path, ...diff },
    };
  }
  const [only = "input"] = isObject(properties) ? Object.keys(properties) : [];
  return { kind, name, arguments: { [only]: input } };
}

const operation = { create: "create_file", replace: "update_file", delete: "delete_file" };

function hunk(wanted: FileChange): string {
  switch (wanted.change) {
    case "create":
      return `*** Add File: ${wanted.path}\n${diffOf(wanted)}`;
    case "replace":
      return `*** Update File: ${wanted.path}\n${diffOf(wanted)}`;
    case "delete":
      return `*** Delete File: ${wanted.path}\n`;
    default:
      return wanted;
  }
}

function diffOf(wanted: Exclude<FileChange, { change: "delete" }>): string {
  const added = lines("+", wanted.text);
  return wanted.change === "create" ? added : `@@\n${lines("-", wanted.old)}${added}`;
}

function lines(mark: string, text: string): string {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => `${mark}${line}\n`)
    .join("");
}

function writerCall(
  { path, text }: { path: string; text: string },
  tools: readonly OfferedTool[],
): PlannedCall | undefined {
  for (const { kind, name, parameters } of tools) {
    const { properties } = parameters;
    if (kind !== "function" || !/write|create|save/i.test(name) || !isObject(properties)) continue;
    const names = Object.keys(properties);
    const file = names.find((property) => /path|file/i.test(property));
    const content = names.find((property) => /content|text|data|body/i.test(property));
    if (file !== undefined && content !== undefined)
      return { kind, name, arguments: { [file]: path, [content]: text } };
  }
  return undefined;
}

function commandFor(wanted: FileChange): string {
  switch (wanted.change) {
    case "create":
      return `printf '%s\\n' ${quotedForShell(wanted.text)} > ${quotedForShell(wanted.path)}`;
    case "replace":
      return `python3 - <<'EOF'\nimport pathlib\np = pathlib.Path(${JSON.stringify(wanted.path)})\np.write_text(p.read_text().replace(${JSON.stringify(wanted.old)}, ${JSON.stringify(wanted.text)}))\nEOF`;
    case "delete":
      return `rm ${quotedForShell(wanted.path)}`;
    default:
      return wanted;
  }
}

function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
