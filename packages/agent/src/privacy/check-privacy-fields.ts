import type { PrivacyField } from "@deltawire/tasks/chats";
import { isDetectableKind } from "./field-search.ts";
import { compileCustomPattern } from "./custom-pattern.ts";
import { maxLabelLength } from "./placeholder.ts";

const maxFields = 200;
const maxValueLength = 1000;

/** Returns the problems of the fields of privacy settings, each with its path: `[2].pattern: must not match the empty string`. */
export function checkPrivacyFields(fields: readonly PrivacyField[]): string[] {
  if (fields.length > maxFields)
    return [`: must have at most ${maxFields} fields, has ${fields.length}`];
  return fields.flatMap((field, index) =>
    findFieldProblems(field).map((problem) => `[${index}]${problem}`),
  );
}

function findFieldProblems({ kind, value, pattern, label }: PrivacyField): string[] {
  const problems: string[] = [];
  const needsValue = kind === "name" || kind === "text";
  if (!needsValue && kind !== "pattern" && !isDetectableKind(kind))
    return [`.kind: unknown kind "${String(kind)}"`];
  if (kind === "pattern") {
    if (value !== undefined) problems.push('.value: not allowed for the kind "pattern"');
    const problem = pattern === undefined ? "is required" : compileCustomPattern(pattern).problem;
    if (problem !== undefined) problems.push(`.pattern: ${problem}`);
  } else if (pattern !== undefined) problems.push('.pattern: only allowed for the kind "pattern"');
  if (value !== undefined) problems.push(...findValueProblems(value));
  else if (needsValue) problems.push(".value: is required");
  if (label !== undefined) problems.push(...findLabelProblems(label, value));
  return problems;
}

function findValueProblems(value: string): string[] {
  if (value.length > maxValueLength)
    return [`.value: must have at most ${maxValueLength} characters, has ${value.length}`];
  // A single letter would be found in nearly every word.
  if (value.trim().length < 2) return [".value: must have at least 2 characters"];
  if (!/[\p{L}\p{N}]/u.test(value)) return [".value: must contain a letter or a digit"];
  return [];
}

function findLabelProblems(label: string, value: string | undefined): string[] {
  if (!new RegExp(`^[A-Za-z][A-Za-z0-9_]{0,${maxLabelLength - 1}}$`).test(label))
    return [
      `.label: must start with a letter, contain only letters, digits and "_", and have at most ${maxLabelLength} characters`,
    ];
  const normalizedValue =
    value === undefined ? "" : value.trim().toLowerCase().replaceAll(/\s+/g, "_");
  if (normalizedValue !== "" && label.toLowerCase().includes(normalizedValue))
    return [".label: must not contain the value"];
  return [];
}
