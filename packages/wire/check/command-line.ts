import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

/** The path that a command was given, from where the user stood: npm itself stands at the repository's root. */
export function pathArgument(usual: string): string {
  const given = process.argv[2];
  return given === undefined ? resolve(usual) : resolve(process.env["INIT_CWD"] ?? ".", given);
}

/** A JSON file of the given form, or the end of the command with a word on what is wrong. */
export function readJsonFile<T>(path: string, field: keyof T & string, usage: string): T {
  if (!existsSync(path)) stop(`${path} does not exist.`, usage);
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    stop(`${path} cannot be read: ${messageOf(error)}`, usage);
  }
  const value = Object(parsed) as Record<string, unknown>;
  const list = value[field];
  if (!Array.isArray(list))
    return stop(`${path}: expected an object with a list "${field}".`, usage);
  const odd = list.findIndex((entry) => typeof entry !== "object" || entry === null);
  if (odd !== -1) stop(`${path}: ${field}[${odd}] is no object.`, usage);
  return value as T;
}

/** The last line of a command that plays cases, and its exit code. */
export function report(passed: number, failed: number): void {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stop(message: string, usage: string): never {
  console.error(message);
  console.error(`Usage: ${usage}`);
  process.exit(2);
}
