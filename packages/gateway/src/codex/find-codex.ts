import { posix, win32 } from "node:path";
import { variableValue, type Environment } from "../config/secret.ts";
import { findProgram } from "../find-program.ts";

export type FoundCodex =
  | { readonly file: string; readonly args: readonly string[] }
  | { readonly problem: string };

/** The installed Codex: `$DELTAWIRE_CODEX`, a path or a name, else `codex`. */
export function findCodex(
  env: Environment,
  platform: NodeJS.Platform,
  canRun?: (file: string) => boolean,
): FoundCodex {
  const path = platform === "win32" ? win32 : posix;
  const wanted = variableValue("DELTAWIRE_CODEX", env);
  // Beside codex.cmd npm puts a `codex` for shells that Windows cannot start.
  const file = findProgram(wanted ?? "codex", {
    env,
    platform,
    endings: [".exe", ".cmd"],
    ...(canRun === undefined ? {} : { canRun }),
  });
  if (file !== undefined) return started(file, path);
  return {
    problem:
      wanted === undefined
        ? "Codex is not installed, or not on the PATH. Install it with: npm install -g @openai/codex"
        : `DELTAWIRE_CODEX: there is no program ${wanted}`,
  };
}

/** Node starts neither scripts nor npm's `.cmd` files by themselves; what npm's file would start lies beside it. */
function started(file: string, path: typeof posix): FoundCodex {
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
