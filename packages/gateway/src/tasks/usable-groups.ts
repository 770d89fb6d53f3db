import { didYouMean, quoted } from "@deltawire/tasks";
import type { Config } from "../config/config.ts";

/** The tool groups that can be switched on: those that need a folder have one, and those who are to be asked are there. */
export function usableGroups({ tools, mcp, agents }: Config): string[] {
  return [
    ...(tools.files === undefined ? [] : ["files"]),
    ...(tools.shell === undefined ? [] : ["shell"]),
    "web",
    "time",
    ...(agents.size === 0 ? [] : ["agents"]),
    ...mcp.keys(),
  ];
}

/** Why a group cannot be had that is none of the usable ones, and which can. */
export function noSuchGroup(name: string, config: Config): string {
  if (name === "files" || name === "shell")
    return `the tool group "${name}" has no folder: write folder = "…" under [tools.${name}]`;
  if (name === "agents") return `the tool group "agents" has nobody to ask: no agent is configured`;
  const names = usableGroups(config);
  const hint = didYouMean(name, names);
  return `there is no tool group ${quoted(name)}; there are ${names.join(", ")}${hint === "" ? "" : `;${hint}`}`;
}
