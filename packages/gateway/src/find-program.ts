import { accessSync, constants, statSync } from "node:fs";
import { posix, win32 } from "node:path";
import type { EnvironmentVariables } from "./config/secret.ts";

interface FindProgramOptions {
  readonly env: EnvironmentVariables;
  readonly platform: NodeJS.Platform;
  /** Tried in this order on Windows if the name has no extension. Default: `.exe`, `.cmd`. */
  readonly extensions?: readonly string[];
  /** Folder from which relative paths are resolved. Default: the working directory of the process. */
  readonly cwd?: string | undefined;
  readonly isExecutable?: (file: string) => boolean;
}

/** Finds a program by its path, or by its name on the PATH. Returns undefined if no executable file matches. */
export function findProgram(name: string, options: FindProgramOptions): string | undefined {
  const {
    env,
    platform,
    extensions = [".exe", ".cmd"],
    cwd = "",
    isExecutable = isExecutableFile,
  } = options;
  const path = platform === "win32" ? win32 : posix;
  const isPath = /[\\/]/.test(name);
  const folders = isPath ? [cwd] : getSearchPath(env, platform).split(path.delimiter);
  const suffixes = platform === "win32" && !/\.\w+$/.test(name) ? extensions : [""];
  return folders
    .filter((folder) => isPath || folder !== "")
    .flatMap((folder) => suffixes.map((suffix) => joinPath(path, folder, `${name}${suffix}`)))
    .find(isExecutable);
}

function joinPath(path: typeof posix, folder: string, name: string): string {
  return folder === "" || path.isAbsolute(name) ? path.normalize(name) : path.join(folder, name);
}

/** Returns the value of PATH. On Windows variable names are case-insensitive, and it is often called `Path`. */
function getSearchPath(env: EnvironmentVariables, platform: NodeJS.Platform): string {
  const name = platform === "win32" ? Object.keys(env).find((key) => /^path$/i.test(key)) : "PATH";
  return env[name ?? "PATH"] ?? "";
}

function isExecutableFile(file: string): boolean {
  try {
    // Scripts are run by Node, so they need not be executable.
    accessSync(file, /\.[cm]?js$/i.test(file) ? constants.R_OK : constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
