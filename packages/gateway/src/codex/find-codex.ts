import { posix, win32 } from "node:path";
import { getVariable, type EnvironmentVariables } from "../config/secret.ts";
import { findProgram } from "../find-program.ts";

export type CodexLookup =
  | { readonly file: string; readonly args: readonly string[] }
  | { readonly problem: string };

/** Finds the installed Codex: the program that `$DELTAWIRE_CODEX` names, by path or name, else `codex`. */
export function findCodex(
  env: EnvironmentVariables,
  platform: NodeJS.Platform,
  isExecutable?: (file: string) => boolean,
): CodexLookup {
  const path = platform === "win32" ? win32 : posix;
  const requestedProgram = getVariable("DELTAWIRE_CODEX", env);
  // Extensions are required on Windows: it cannot start the shell script `codex` that npm installs next to codex.cmd.
  const file = findProgram(requestedProgram ?? "codex", {
    env,
    platform,
    extensions: [".exe", ".cmd"],
    ...(isExecutable === undefined ? {} : { isExecutable }),
  });
  if (file !== undefined) return toLaunchCommand(file, path);
  return {
    problem:
      requestedProgram === undefined
        ? "Codex is not installed, or not on the PATH. Install it with: npm install -g @openai/codex"
        : `DELTAWIRE_CODEX: program not found: ${requestedProgram}`,
  };
}

/** Node cannot spawn scripts or npm's `.cmd` files, so it runs the script, or the one that the `.cmd` file would start. */
function toLaunchCommand(file: string, path: typeof posix): CodexLookup {
  if (isScript(file)) return { file: process.execPath, args: [file] };
  if (!/\.cmd$/i.test(file)) return { file, args: [] };
  const script = path.join(
    path.dirname(file),
    "node_modules",
    "@openai",
    "codex",
    "bin",
    "codex.js",
  );
  return { file: process.execPath, args: [script] };
}

function isScript(file: string): boolean {
  return /\.[cm]?js$/i.test(file);
}
