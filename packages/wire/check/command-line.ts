import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

/**
 * Resolves the path argument of a command against the user's working directory, because npm runs scripts at the root of
 * the repository.
 */
export function resolvePathArgument(defaultPath: string): string {
  const argument = process.argv[2];
  return argument === undefined
    ? resolve(defaultPath)
    : resolve(process.env["INIT_CWD"] ?? ".", argument);
}

/** Reads a JSON file with a list of objects in `field`. Prints an error with the usage and exits if it is invalid. */
export function readJsonFile<T>(path: string, field: keyof T & string, usage: string): T {
  if (!existsSync(path)) exitWithUsage(`${path} does not exist.`, usage);
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    exitWithUsage(`cannot read ${path}: ${getErrorMessage(error)}`, usage);
  }
  const value = Object(parsed) as Record<string, unknown>;
  const list = value[field];
  if (!Array.isArray(list))
    return exitWithUsage(`${path}: expected an object with an array "${field}".`, usage);
  const invalidIndex = list.findIndex((entry) => typeof entry !== "object" || entry === null);
  if (invalidIndex !== -1)
    exitWithUsage(`${path}: ${field}[${invalidIndex}] is not an object.`, usage);
  return value as T;
}

/** Prints the totals of a check and sets the exit code. */
export function reportResults(passed: number, failed: number): void {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function exitWithUsage(message: string, usage: string): never {
  console.error(message);
  console.error(`Usage: ${usage}`);
  process.exit(2);
}
