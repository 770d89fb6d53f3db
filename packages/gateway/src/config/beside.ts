import { join, resolve } from "node:path";
import type { Reading } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";

/** What a configuration lies among: paths in it are meant from its folder. */
export interface Beside {
  /** Without it, relative paths are left as they are. */
  readonly folder?: string;
  /** What `~` stands for. */
  readonly home?: string;
  /** Without it, files that are named are taken to be there, and are empty: for a check of the text alone. */
  readonly readFile?: (path: string) => string;
}

export function pathFrom({ folder, home }: Beside, path: string): string {
  const found = home !== undefined && /^~(?:[/\\]|$)/.test(path) ? join(home, path.slice(1)) : path;
  return folder === undefined ? found : resolve(folder, found);
}

/** The text of a file that is named in the configuration, or undefined where that cannot be used and has been said. */
export function textBeside(
  beside: Beside,
  path: string,
  place: KeyPath,
  { problems }: Reading,
): string | undefined {
  if (beside.readFile === undefined) return "";
  const found = pathFrom(beside, path);
  try {
    const text = beside.readFile(found).replace(/^\uFEFF/, "");
    if (text.trim() !== "") return text;
    problems.error(place, `${found} is an empty file; write a text into it, or leave it out`);
  } catch (cause) {
    problems.error(place, `${found} ${readFault(cause)}`);
  }
  return undefined;
}

/** Why a file could not be read, and what to do. */
export function readFault(cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === undefined) throw cause;
  return readFaults[code] ?? `cannot be read (${code})`;
}

const readFaults: Readonly<Record<string, string>> = {
  EACCES: "may not be read; change its permissions",
  EISDIR: "is a folder; give the path of a file",
  ENOENT: "does not exist; give the path of a file, seen from the folder of the configuration",
  EPERM: "may not be read; change its permissions",
};
