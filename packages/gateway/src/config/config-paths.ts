import { existsSync, statSync } from "node:fs";
import { posix, win32, type PlatformPath } from "node:path";
import { ConfigError } from "./config-problems.ts";
import { getVariable, type EnvironmentVariables } from "./secret.ts";

/** The parts of the process environment that determine the paths of files. */
export interface HostEnvironment {
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  /** The user's home folder. */
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

const configFileName = "deltawire.toml";
/** The file name of the database in the data folder. */
export const storeFileName = "deltawire.db";

/** Returns the path of `--config`, else the first search path that exists. Throws a ConfigError if `--config` does not exist. */
export function findConfigFile(
  host: HostEnvironment & { readonly configFlag?: string | undefined },
): string | undefined {
  const { configFlag, cwd, platform } = host;
  if (configFlag === undefined) return listConfigPaths(host).find((path) => existsSync(path));
  const path = getPathModule(platform).resolve(cwd, configFlag);
  if (existsSync(path)) return path;
  throw new ConfigError([`--config: ${configFlag} does not exist`]);
}

/** Returns the possible paths of the configuration file in order of precedence. */
export function listConfigPaths(host: HostEnvironment): string[] {
  const { cwd, platform } = host;
  const path = getPathModule(platform);
  return [
    path.join(cwd, configFileName),
    ...listConfigFolders(host).map((folder) => path.join(folder, "deltawire", configFileName)),
  ];
}

function listConfigFolders(host: HostEnvironment): string[] {
  const { home, platform } = host;
  const path = getPathModule(platform);
  if (platform === "win32")
    return [readFolderVariable(host, "APPDATA") ?? path.join(home, "AppData", "Roaming")];
  const configHome = readFolderVariable(host, "XDG_CONFIG_HOME") ?? path.join(home, ".config");
  return platform === "darwin"
    ? [configHome, path.join(home, "Library", "Application Support")]
    : [configHome];
}

/** Returns the folder for everything except the configuration, such as the database and the sealing key. */
export function getDefaultDataFolder(host: Omit<HostEnvironment, "cwd">): string {
  const { home, platform } = host;
  const path = getPathModule(platform);
  const defaultFolder = () => {
    if (platform === "win32")
      return readFolderVariable(host, "LOCALAPPDATA") ?? path.join(home, "AppData", "Local");
    return platform === "darwin"
      ? path.join(home, "Library", "Application Support")
      : path.join(home, ".local", "share");
  };
  const folder =
    platform === "win32"
      ? defaultFolder()
      : (readFolderVariable(host, "XDG_DATA_HOME") ?? defaultFolder());
  return path.join(folder, "deltawire");
}

/** Returns the folder of `--data`, else the default one. Throws a ConfigError if it is not a folder. */
export function resolveDataFolder(flag: string | undefined, host: HostEnvironment): string {
  if (flag === undefined) return getDefaultDataFolder(host);
  const folder = getPathModule(host.platform).resolve(host.cwd, flag);
  if (flag.trim() === "" || (existsSync(folder) && !statSync(folder).isDirectory()))
    throw new ConfigError([`--data: ${flag || '""'} is not a folder`]);
  return folder;
}

/** Returns the folder that the variable names, or undefined. The XDG specification requires that relative paths are ignored. */
function readFolderVariable(
  { env, platform }: Omit<HostEnvironment, "cwd">,
  variable: string,
): string | undefined {
  const value = getVariable(variable, env);
  return value !== undefined && getPathModule(platform).isAbsolute(value) ? value : undefined;
}

function getPathModule(platform: NodeJS.Platform): PlatformPath {
  return platform === "win32" ? win32 : posix;
}
