import { accessSync, constants, statSync } from "node:fs";
import { posix, win32 } from "node:path";
import type { Environment } from "./config/secret.ts";

interface ProgramSearch {
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
  /** On Windows, where a name is given without one. */
  readonly endings?: readonly string[];
  /** What a relative path is relative to. */
  readonly cwd?: string | undefined;
  readonly canRun?: (file: string) => boolean;
}

/** The file of a program that is named by a path, or by a name on the PATH; undefined: there is none that can be run. */
export function findProgram(name: string, search: ProgramSearch): string | undefined {
  const { env, platform, endings = [".exe", ".cmd"], cwd = "", canRun = isRunnable } = search;
  const path = platform === "win32" ? win32 : posix;
  const isPath = /[\\/]/.test(name);
  const folders = isPath ? [cwd] : searchPath(env, platform).split(path.delimiter);
  const ends = platform === "win32" && !/\.\w+$/.test(name) ? endings : [""];
  return folders
    .filter((folder) => isPath || folder !== "")
    .flatMap((folder) => ends.map((end) => placed(path, folder, `${name}${end}`)))
    .find(canRun);
}

function placed(path: typeof posix, folder: string, name: string): string {
  return folder === "" || path.isAbsolute(name) ? path.normalize(name) : path.join(folder, name);
}

/** `Path` on Windows, where the names of variables have no case. */
function searchPath(env: Environment, platform: NodeJS.Platform): string {
  const name = platform === "win32" ? Object.keys(env).find((key) => /^path$/i.test(key)) : "PATH";
  return env[name ?? "PATH"] ?? "";
}

function isRunnable(file: string): boolean {
  try {
    accessSync(file, /\.[cm]?js$/i.test(file) ? constants.R_OK : constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
