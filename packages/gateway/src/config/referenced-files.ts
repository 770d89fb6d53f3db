import { join, resolve } from "node:path";
import type { DecodeContext } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";

/** How paths in a configuration file are resolved and read. */
export interface ConfigFileContext {
  /** The folder of the configuration file. Undefined: relative paths are not resolved. */
  readonly folder?: string;
  /** The home directory, which replaces a leading `~`. */
  readonly home?: string;
  /** Undefined: referenced files are not read and count as empty, so only the configuration file itself is checked. */
  readonly readFile?: (path: string) => string;
}

export function resolveConfigPath({ folder, home }: ConfigFileContext, path: string): string {
  const resolvedPath =
    home !== undefined && /^~(?:[/\\]|$)/.test(path) ? join(home, path.slice(1)) : path;
  return folder === undefined ? resolvedPath : resolve(folder, resolvedPath);
}

/** Returns the text of a file named in the configuration. If it cannot be read or is empty, reports an error and returns undefined. */
export function readReferencedFile(
  fileContext: ConfigFileContext,
  path: string,
  location: KeyPath,
  { problems }: DecodeContext,
): string | undefined {
  if (fileContext.readFile === undefined) return "";
  const resolvedPath = resolveConfigPath(fileContext, path);
  try {
    const text = fileContext.readFile(resolvedPath).replace(/^\uFEFF/, "");
    if (text.trim() !== "") return text;
    problems.error(location, `${resolvedPath} is empty; add text to it, or remove the setting`);
  } catch (cause) {
    problems.error(location, `${resolvedPath} ${describeReadError(cause)}`);
  }
  return undefined;
}

/** Returns why a file could not be read, and what to do. Rethrows `cause` if it is not a system error. */
export function describeReadError(cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === undefined) throw cause;
  return readErrorMessages[code] ?? `cannot be read (${code})`;
}

const readErrorMessages: Readonly<Record<string, string>> = {
  EACCES: "cannot be read; check its permissions",
  EISDIR: "is a folder; set the path of a file",
  ENOENT: "does not exist; paths are relative to the folder of the configuration",
  EPERM: "cannot be read; check its permissions",
};
