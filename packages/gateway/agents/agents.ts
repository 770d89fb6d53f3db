import type { Agent } from "./agent.ts";
import { clientSets } from "../../../test/pinned-clients.ts";
import { anthropicSdkAgents } from "./programs/anthropic-sdk.ts";
import { claudeCodeAgents } from "./programs/claude-code.ts";
import { codexAgents } from "./programs/codex.ts";
import { langchainAgents } from "./programs/langchain.ts";
import { opencodeAgents } from "./programs/opencode.ts";
import { piAgents } from "./programs/pi.ts";
import { qwenCodeAgents } from "./programs/qwen-code.ts";

/** The rows of the table. */
const agents: readonly Agent[] = [
  ...codexAgents,
  ...claudeCodeAgents,
  ...piAgents,
  ...qwenCodeAgents,
  ...langchainAgents,
  ...anthropicSdkAgents,
  ...opencodeAgents,
];

/** `names`: only these agents, or all if it is empty. `isLong`: also opencode and older versions. */
export interface AgentSelection {
  names: readonly string[];
  isLong: boolean;
}

export function selectAgents({ names, isLong }: AgentSelection): Agent[] {
  return agents.filter(
    (agent) =>
      (isLong || agent.isLong !== true) && (names.length === 0 || names.includes(agent.name)),
  );
}

export const agentNames: readonly string[] = [...new Set(agents.map(({ name }) => name))];

/** Returns for example `pi 0.87.1, chat`. */
export function describeAgent({ name, version, set, wire }: Agent): string {
  const [pinned] = set === undefined ? [] : Object.values<string>(clientSets[set]);
  return `${name} ${version ?? pinned ?? ""}, ${wire}`;
}
