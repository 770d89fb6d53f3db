import { getVariable, type EnvironmentVariables } from "../config/secret.ts";
import { findProgram } from "../find-program.ts";
import { toLaunchCommand, type LaunchCommand } from "../launch-program.ts";

export type CodexLookup = LaunchCommand | { readonly problem: string };

/** Finds the installed Codex: the program that `$DELTAWIRE_CODEX` names, by path or name, else `codex`. */
export function findCodex(
  env: EnvironmentVariables,
  platform: NodeJS.Platform,
  isExecutable?: (file: string) => boolean,
): CodexLookup {
  const requestedProgram = getVariable("DELTAWIRE_CODEX", env);
  // Extensions are required on Windows: it cannot start the shell script `codex` that npm installs next to codex.cmd.
  const file = findProgram(requestedProgram ?? "codex", {
    env,
    platform,
    extensions: [".exe", ".cmd"],
    ...(isExecutable === undefined ? {} : { isExecutable }),
  });
  if (file !== undefined) return toLaunchCommand(file, platform, "@openai/codex/bin/codex.js");
  return {
    problem:
      requestedProgram === undefined
        ? "Codex is not installed, or not on the PATH. Install it with: npm install -g @openai/codex"
        : `DELTAWIRE_CODEX: program not found: ${requestedProgram}`,
  };
}
