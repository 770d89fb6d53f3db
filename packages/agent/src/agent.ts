import type { Limits } from "@deltawire/tasks";
import type { Model } from "./model.ts";
import type { CallPolicy, ResultPolicy, Tool, ToolGroup } from "./tool.ts";

export interface Agent {
  readonly name: string;
  /** For the agents that may ask it for help. */
  readonly description: string;
  readonly instructions: string;
  /** A name that the runtime resolves, or a model of its own. */
  readonly model: string | Model;
  readonly tools: readonly (Tool | ToolGroup)[];
  /** Those that it may ask for help. */
  readonly agents: readonly Agent[];
  /** Who is asked before another agent is, and before its answer is told on. */
  readonly helpApproval: { readonly call: CallPolicy; readonly result: ResultPolicy };
  readonly limits: Limits;
  /** What happens at a limit: the model is asked once more without tools, or the user whether to go on. */
  readonly atLimit: "finish" | "ask";
  /** `raw` streams the reasoning of open models as it is. */
  readonly reasoning: "summary" | "raw";
  readonly effort: string | undefined;
  /** Tokens that the model can take; history is compacted before that. */
  readonly contextWindow: number;
  /** How long a question to a person stays open; undefined: for ever. */
  readonly approvalSeconds: number | undefined;
}

export type AgentDefinition = Pick<Agent, "name" | "instructions" | "model"> &
  Partial<Omit<Agent, "name" | "instructions" | "model">>;

/** An agent with what it leaves out filled in. */
export function defineAgent(definition: AgentDefinition): Agent {
  const { name } = definition;
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    throw new TypeError(
      `the agent's name "${name}" must begin with a letter and have only letters, digits, _ and -`,
    );
  return {
    description: "",
    tools: [],
    agents: [],
    helpApproval: { call: "auto", result: "never" },
    atLimit: "finish",
    reasoning: "summary",
    effort: undefined,
    contextWindow: 128_000,
    approvalSeconds: undefined,
    ...definition,
    limits: { rounds: 10, depth: 3, ...definition.limits },
  };
}
