import type { PrivacyField } from "@deltawire/tasks/chats";
import { isFoundKind } from "./field-search.ts";
import { compileOwnPattern } from "./own-pattern.ts";
import { longestLabel } from "./placeholder.ts";

const mostFields = 200;
const longestValue = 1000;

/** What is wrong with the fields of privacy settings, each with where: `[2].pattern: matches the empty text`. */
export function checkPrivacyFields(fields: readonly PrivacyField[]): string[] {
  if (fields.length > mostFields)
    return [`: has ${fields.length} fields; ${mostFields} are the most`];
  return fields.flatMap((field, index) =>
    problemsOfField(field).map((problem) => `[${index}]${problem}`),
  );
}

function problemsOfField({ kind, value, pattern, label }: PrivacyField): string[] {
  const problems: string[] = [];
  const needsValue = kind === "name" || kind === "text";
  if (!needsValue && kind !== "pattern" && !isFoundKind(kind))
    return [`.kind: there is no kind "${String(kind)}"`];
  if (kind === "pattern") {
    if (value !== undefined) problems.push(".value: a pattern has none");
    const problem = pattern === undefined ? "is missing" : compileOwnPattern(pattern).problem;
    if (problem !== undefined) problems.push(`.pattern: ${problem}`);
  } else if (pattern !== undefined) problems.push('.pattern: only for the kind "pattern"');
  if (value !== undefined) problems.push(...valueProblems(value));
  else if (needsValue) problems.push(".value: is missing");
  if (label !== undefined) problems.push(...labelProblems(label, value));
  return problems;
}

function valueProblems(value: string): string[] {
  if (value.length > longestValue)
    return [`.value: has ${value.length} characters; ${longestValue} are the most`];
  // One letter would be found in every word.
  if (value.trim().length < 2) return [".value: has fewer than 2 characters"];
  if (!/[\p{L}\p{N}]/u.test(value)) return [".value: has neither a letter nor a digit"];
  return [];
}

function labelProblems(label: string, value: string | undefined): string[] {
  if (!new RegExp(`^[A-Za-z][A-Za-z0-9_]{0,${longestLabel - 1}}$`).test(label))
    return [
      `.label: must begin with a letter and have letters, digits and "_" only, ${longestLabel} at the most`,
    ];
  const told = value === undefined ? "" : value.trim().toLowerCase().replaceAll(/\s+/g, "_");
  if (told !== "" && label.toLowerCase().includes(told)) return [".label: tells the value"];
  return [];
}
