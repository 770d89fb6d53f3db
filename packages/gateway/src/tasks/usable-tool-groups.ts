import { didYouMean, quoteExcerpt } from "@deltawire/tasks";
import type { Config } from "../config/config.ts";

/** Lists the tool groups that can be enabled: `files` and `shell` need a folder, `agents` needs a configured agent. */
export function listUsableToolGroups({ tools, mcp, agents }: Config): string[] {
  return [
    ...(tools.files === undefined ? [] : ["files"]),
    ...(tools.shell === undefined ? [] : ["shell"]),
    "web",
    "time",
    ...(agents.size === 0 ? [] : ["agents"]),
    ...mcp.keys(),
  ];
}

/** Returns why a tool group cannot be enabled, and which ones can. */
export function describeUnknownToolGroup(name: string, config: Config): string {
  if (name === "files" || name === "shell")
    return `tool group "${name}" has no folder; set folder = "…" in [tools.${name}]`;
  if (name === "agents") return `tool group "agents" is unavailable because no agent is configured`;
  const names = listUsableToolGroups(config);
  const hint = didYouMean(name, names);
  return `unknown tool group ${quoteExcerpt(name)}${hint}; available: ${names.join(", ")}`;
}
