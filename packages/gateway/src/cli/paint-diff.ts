import { getVariable } from "../config/secret.ts";
import type { DiffLine } from "../migrate/diff.ts";
import type { Terminal } from "../terminal.ts";

/** Returns the lines of a diff as text, in color if the terminal supports it. */
export function paintDiff(lines: readonly DiffLine[], terminal: Terminal): string[] {
  return lines.map(supportsColor(terminal) ? colorize : ({ text }) => text);
}

function supportsColor({ stdout, env }: Terminal): boolean {
  const isPlain = getVariable("NO_COLOR", env) !== undefined || env["TERM"] === "dumb";
  return stdout.isTTY === true && !isPlain;
}

function colorize({ kind, text }: DiffLine): string {
  const color = ansiColors[kind];
  return color === undefined ? text : `\u001B[${color}m${text}\u001B[0m`;
}

const ansiColors: Partial<Record<DiffLine["kind"], number>> = {
  file: 1,
  hunk: 36,
  removed: 31,
  added: 32,
};
