import type { Reading } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import type { ReadMcpServers } from "./mcp.ts";
import { didYouMean } from "@deltawire/tasks";
import { builtInGroups, type ReadTools } from "./tools.ts";

export interface KnownGroups {
  readonly tools: ReadTools;
  readonly mcp: ReadMcpServers;
}

/** The tool groups that an agent or a chat names, each once. */
export function toolGroupsOf(
  groups: readonly string[],
  path: KeyPath,
  { tools, mcp }: KnownGroups,
  { problems }: Reading,
): string[] {
  const names: string[] = [...builtInGroups, ...mcp.keys()];
  groups.forEach((group, index) => {
    const place = [...path, index];
    if (!names.includes(group)) {
      const near = didYouMean(group, names) || ` known are ${names.join(", ")}`;
      problems.error(place, `there is no tool group ${JSON.stringify(group)};${near}`);
    } else if (tools.refused.has(group)) return;
    else if ((group === "files" || group === "shell") && tools.groups[group] === undefined)
      problems.error(place, `${group} needs a folder; write folder = "…" under [tools.${group}]`);
  });
  return [...new Set(groups)];
}
