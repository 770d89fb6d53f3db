import type { AgentConfig, Config } from "../config/config.ts";

/** Who owns an agent in the list of models. */
export const agentOwner = "deltawire-agent";

/** The agent that a client means by a model's name. No name of `[models]` is one of an agent. */
export function agentNamed(
  { agents }: Pick<Config, "agents">,
  name: string,
): AgentConfig | undefined {
  return agents.get(name);
}
