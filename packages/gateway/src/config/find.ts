import { existsSync, statSync } from "node:fs";
import { posix, win32, type PlatformPath } from "node:path";
import { ConfigError } from "./problems.ts";
import { variableValue, type Environment } from "./secret.ts";

/** Where the gateway runs. */
export interface World {
  readonly cwd: string;
  readonly env: Environment;
  /** The user's home folder. */
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

const fileName = "deltawire.toml";
/** Of the store, in the data folder. */
export const storeFileName = "deltawire.db";

/** The configuration to use: the one asked for, else the first that is there. */
export function findConfig(
  world: World & { readonly explicit?: string | undefined },
): string | undefined {
  const { explicit, cwd, platform } = world;
  if (explicit === undefined) return configPlaces(world).find((path) => existsSync(path));
  const path = pathOf(platform).resolve(cwd, explicit);
  if (existsSync(path)) return path;
  throw new ConfigError([`--config: ${explicit} does not exist; give the path of a file`]);
}

/** The files that are looked for, the first one first. */
export function configPlaces(world: World): string[] {
  const { cwd, platform } = world;
  const path = pathOf(platform);
  return [
    path.join(cwd, fileName),
    ...configFolders(world).map((folder) => path.join(folder, "deltawire", fileName)),
  ];
}

function configFolders(world: World): string[] {
  const { home, platform } = world;
  const path = pathOf(platform);
  if (platform === "win32")
    return [folderIn(world, "APPDATA") ?? path.join(home, "AppData", "Roaming")];
  const common = folderIn(world, "XDG_CONFIG_HOME") ?? path.join(home, ".config");
  return platform === "darwin"
    ? [common, path.join(home, "Library", "Application Support")]
    : [common];
}

/** Where things are kept that are no settings, such as the sealing key. */
export function dataFolder(world: Omit<World, "cwd">): string {
  const { home, platform } = world;
  const path = pathOf(platform);
  const usual = () => {
    if (platform === "win32")
      return folderIn(world, "LOCALAPPDATA") ?? path.join(home, "AppData", "Local");
    return platform === "darwin"
      ? path.join(home, "Library", "Application Support")
      : path.join(home, ".local", "share");
  };
  const folder = platform === "win32" ? usual() : (folderIn(world, "XDG_DATA_HOME") ?? usual());
  return path.join(folder, "deltawire");
}

/** The folder of `--data`, else the user's. Throws a ConfigError if it is none. */
export function dataFolderOf(given: string | undefined, world: World): string {
  if (given === undefined) return dataFolder(world);
  const folder = pathOf(world.platform).resolve(world.cwd, given);
  if (given.trim() === "" || (existsSync(folder) && !statSync(folder).isDirectory()))
    throw new ConfigError([`--data: ${given || '""'} is not a folder; give the path of a folder`]);
  return folder;
}

/** By the XDG specification a relative path is to be ignored. */
function folderIn({ env, platform }: Omit<World, "cwd">, variable: string): string | undefined {
  const value = variableValue(variable, env);
  return value !== undefined && pathOf(platform).isAbsolute(value) ? value : undefined;
}

function pathOf(platform: NodeJS.Platform): PlatformPath {
  return platform === "win32" ? win32 : posix;
}
