import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import type { CodingAgent, ConnectableAgent } from "./coding-agent.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwenCode } from "./qwen-code.ts";

/** The agents that `run` knows, in addition to Codex. Other programs get the usual environment variables. */
const codingAgents: readonly CodingAgent[] = [claudeCode, pi, opencode, qwenCode];

/** The agents whose settings `connect` can write. */
export const connectableAgents: readonly ConnectableAgent[] = [codex, ...codingAgents];

/** Finds the agent that a program file belongs to, by the name of the file. */
export function findCodingAgent(program: string): CodingAgent | undefined {
  const name = program.replace(/^.*[\\/]/, "").replace(/\.(?:exe|cmd|[cm]?js)$/i, "");
  return codingAgents.find(({ programs }) => programs.includes(name));
}
