import {
  parseBlobHash,
  blobPath,
  trimSplitSurrogates,
  type BlobStore,
  type ExpandedArguments,
} from "@deltawire/tasks";
import type { Tool } from "../tool.ts";
import { expandReferences, findReferences } from "./variable-references.ts";
import { variableToolNames } from "./variables.ts";
import type { Variables } from "./variables.ts";

/** Maximum number of known names in the error about an unknown name. */
const maxListedNames = 50;
/** Limit for the expanded arguments of one call, in characters. */
const maxExpansionLength = 4_000_000;
/** Longer expansions are stored as a blob; the approval shows their beginning and end. */
const maxInlineLength = 20_000;
const excerptLength = 4_000;

/** `text` is the expanded JSON, if anything was expanded. It contains no references itself. */
export type Expansion =
  | { ok: true; value: unknown; text?: string }
  | { ok: false; problems: string[] };

type ToolTraits = Pick<Tool, "name" | "expandsVariables">;

/** Replaces the references in the JSON of a call's arguments with the values of the variables. */
export async function expandArguments(
  tool: ToolTraits,
  json: string,
  variables: Variables | undefined,
): Promise<Expansion> {
  const names = findExpandableReferences(tool, json, variables);
  if (variables === undefined || names.length === 0) return { ok: true, value: JSON.parse(json) };
  if (tool.expandsVariables === false)
    return { ok: false, problems: names.map(formatNotExpandedProblem) };
  const values = new Map<string, string>();
  const unknownNames: string[] = [];
  let length = 0;
  for (const name of names) {
    const value = await variables.read(name);
    length += value?.length ?? 0;
    if (length > maxExpansionLength) return createTooLongProblem();
    if (value === undefined) unknownNames.push(name);
    else values.set(name, value);
  }
  if (unknownNames.length > 0)
    return { ok: false, problems: await formatUnknownNames(unknownNames, variables) };
  const expanded = expandReferences(json, values, maxExpansionLength);
  if (expanded === undefined) return createTooLongProblem();
  const text = escapeAllReferences(JSON.stringify(expanded));
  return { ok: true, value: JSON.parse(text), text };
}

/** True if `expandArguments` would replace anything. */
export function hasReferences(
  tool: ToolTraits,
  json: string,
  variables: Variables | undefined,
): boolean {
  return findExpandableReferences(tool, json, variables).length > 0;
}

/** Returns an expansion as an approval stores it: inline, or as a blob with an excerpt. */
export async function storeExpansion(text: string, blobs: BlobStore): Promise<ExpandedArguments> {
  if (text.length <= maxInlineLength) return { text };
  const hash = await blobs.put(Buffer.from(text, "utf8"), "application/json; charset=utf-8");
  return {
    head: trimSplitSurrogates(text.slice(0, excerptLength)),
    tail: text.slice(-excerptLength).replace(/^[\uDC00-\uDFFF]/, ""),
    length: text.length,
    url: blobPath + hash,
  };
}

/** Returns the complete text, or undefined if its blob was deleted. */
export async function readExpansion(
  expanded: ExpandedArguments,
  blobs: BlobStore,
): Promise<string | undefined> {
  if ("text" in expanded) return expanded.text;
  const blob = await blobs.get(parseBlobHash(expanded.url) ?? "");
  return blob === undefined ? undefined : Buffer.from(blob.bytes).toString("utf8");
}

/** The tools that read variables take names, so references in their arguments are not expanded. */
function findExpandableReferences(
  { name }: ToolTraits,
  json: string,
  variables: Variables | undefined,
): string[] {
  if (variables === undefined || Object.values<string>(variableToolNames).includes(name)) return [];
  return findReferences(json);
}

/** Escapes references in the inserted values, so that they are not expanded if a client sends the JSON back. */
function escapeAllReferences(json: string): string {
  return json.replaceAll("{{var:", String.raw`\u007b{var:`);
}

function formatNotExpandedProblem(name: string): string {
  return `{{var:${name}}} is not expanded in the arguments of this tool; read the variable with ${variableToolNames.read} and copy what you need, or write it to a file with another tool and pass the path of the file`;
}

function createTooLongProblem(): Expansion {
  const problem = `the expanded arguments have more than ${maxExpansionLength} characters; pass less text`;
  return { ok: false, problems: [problem] };
}

async function formatUnknownNames(
  unknownNames: readonly string[],
  variables: Variables,
): Promise<string[]> {
  const names = (await variables.list()).map(({ name }) => name);
  const remainder =
    names.length > maxListedNames ? `, and ${names.length - maxListedNames} more` : "";
  const knownNames =
    names.length === 0
      ? "no variables exist"
      : `known variables: ${names.slice(-maxListedNames).join(", ")}${remainder}`;
  return unknownNames.map((name) => `unknown variable "${name}"; ${knownNames}`);
}
