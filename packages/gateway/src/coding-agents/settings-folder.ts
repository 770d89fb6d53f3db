import { resolve } from "node:path";
import type { HostEnvironment } from "../config/config-paths.ts";
import { getVariable } from "../config/secret.ts";

/** Returns the folder that the variable names, else the default one, relative to the home folder. */
export function findSettingsFolder(
  variable: string,
  defaultFolder: string,
  { cwd, env, home }: HostEnvironment,
): string {
  const folder = getVariable(variable, env);
  return folder === undefined ? resolve(home, defaultFolder) : resolve(cwd, folder);
}
