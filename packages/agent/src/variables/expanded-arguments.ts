import {
  blobHash,
  blobPath,
  wholeCharacters,
  type BlobStore,
  type ExpandedArguments,
} from "@deltawire/tasks";
import type { Tool } from "../tool.ts";
import { expandReferences, referencesIn } from "./expand.ts";
import { variableTools } from "./variables.ts";
import type { Variables } from "./variables.ts";

/** Names that an error lists for a model that has used an unknown one. */
const mostNames = 50;
/** Of all texts that are put into the arguments of one call, in characters. */
const longestExpansion = 4_000_000;
/** A longer text is a blob, and the approval has the beginning and the end of it. */
const longestInline = 20_000;
const excerptLength = 4_000;

/** `text`: the expanded JSON, if there was anything to expand. It has no references itself. */
export type Expansion =
  | { ok: true; value: unknown; text?: string }
  | { ok: false; problems: string[] };

type ToolTraits = Pick<Tool, "name" | "expandsVariables">;

/** Replaces the references in the JSON of a call's arguments by the texts that they stand for. */
export async function expandArguments(
  tool: ToolTraits,
  json: string,
  variables: Variables | undefined,
): Promise<Expansion> {
  const names = referencesOf(tool, json, variables);
  if (variables === undefined || names.length === 0) return { ok: true, value: JSON.parse(json) };
  if (tool.expandsVariables === false) return { ok: false, problems: names.map(notExpanded) };
  const values = new Map<string, string>();
  const unknown: string[] = [];
  let length = 0;
  for (const name of names) {
    const value = await variables.read(name);
    length += value?.length ?? 0;
    if (length > longestExpansion) return tooLong();
    if (value === undefined) unknown.push(name);
    else values.set(name, value);
  }
  if (unknown.length > 0) return { ok: false, problems: await problems(unknown, variables) };
  const expanded = expandReferences(json, values, longestExpansion);
  if (expanded === undefined) return tooLong();
  const text = withoutReferences(JSON.stringify(expanded));
  return { ok: true, value: JSON.parse(text), text };
}

/** Whether anything in the arguments would be replaced. */
export function hasReferences(
  tool: ToolTraits,
  json: string,
  variables: Variables | undefined,
): boolean {
  return referencesOf(tool, json, variables).length > 0;
}

/** What an approval shows of an expansion, and what is run of it later. */
export async function storeExpansion(text: string, blobs: BlobStore): Promise<ExpandedArguments> {
  if (text.length <= longestInline) return { text };
  const hash = await blobs.put(Buffer.from(text, "utf8"), "application/json; charset=utf-8");
  return {
    head: wholeCharacters(text.slice(0, excerptLength)),
    tail: text.slice(-excerptLength).replace(/^[\uDC00-\uDFFF]/, ""),
    length: text.length,
    url: blobPath + hash,
  };
}

/** The complete text; undefined if its blob is gone. */
export async function readExpansion(
  expanded: ExpandedArguments,
  blobs: BlobStore,
): Promise<string | undefined> {
  if ("text" in expanded) return expanded.text;
  const blob = await blobs.get(blobHash(expanded.url) ?? "");
  return blob === undefined ? undefined : Buffer.from(blob.bytes).toString("utf8");
}

/** The tools that read variables take names: a reference is none of theirs. */
function referencesOf(
  { name }: ToolTraits,
  json: string,
  variables: Variables | undefined,
): string[] {
  if (variables === undefined || Object.values<string>(variableTools).includes(name)) return [];
  return referencesIn(json);
}

/** Returns the same JSON with references in the inserted texts escaped, so that no client that sends it back expands them. */
function withoutReferences(json: string): string {
  return json.replaceAll("{{var:", String.raw`\u007b{var:`);
}

function notExpanded(name: string): string {
  return `{{var:${name}}} is not replaced in the arguments of this tool: read the variable with ${variableTools.read} and write what you need of it, or have it written to a file by a tool that writes files and name the file here`;
}

function tooLong(): Expansion {
  const problem = `with their variables in place the arguments would have more than ${longestExpansion} characters: pass on less`;
  return { ok: false, problems: [problem] };
}

async function problems(unknown: readonly string[], variables: Variables): Promise<string[]> {
  const names = (await variables.list()).map(({ name }) => name);
  const more = names.length > mostNames ? `, and ${names.length - mostNames} more` : "";
  const there =
    names.length === 0
      ? "there are none"
      : `there are ${names.slice(-mostNames).join(", ")}${more}`;
  return unknown.map((name) => `there is no variable "${name}" to put in: ${there}`);
}
