import type { DecodeContext } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import type { DecodedMcpServers } from "./mcp-servers.ts";
import { didYouMean } from "@deltawire/tasks";
import { builtInToolGroups, type DecodedTools } from "./tools.ts";

export interface KnownToolGroups {
  readonly tools: DecodedTools;
  readonly mcp: DecodedMcpServers;
}

/** Returns the distinct tool groups of an agent or a chat. Reports those that do not exist or are not configured. */
export function checkToolGroups(
  groups: readonly string[],
  path: KeyPath,
  { tools, mcp }: KnownToolGroups,
  { problems }: DecodeContext,
): string[] {
  const names: string[] = [...builtInToolGroups, ...mcp.keys()];
  groups.forEach((group, index) => {
    const location = [...path, index];
    if (!names.includes(group)) {
      const suggestion = didYouMean(group, names) || `; known groups: ${names.join(", ")}`;
      problems.error(location, `unknown tool group ${JSON.stringify(group)}${suggestion}`);
    } else if (tools.invalidGroups.has(group)) return;
    else if ((group === "files" || group === "shell") && tools.groups[group] === undefined)
      problems.error(
        location,
        `${group} needs a folder; write folder = "…" under [tools.${group}]`,
      );
  });
  return [...new Set(groups)];
}
