import type { TaskLimits } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { validateModelOptions } from "./options/model-options.ts";
import type { Model } from "./model.ts";
import {
  validateLimits,
  validateOneOf,
  validateApprovalPolicy,
  validateString,
  validateUniqueToolNames,
  resultPolicies,
} from "./validate-definition.ts";
import type { CallPolicy, ResultPolicy, Tool, ToolGroup } from "./tool.ts";

export interface Agent {
  readonly name: string;
  /** Shown to the agents that may call this one. */
  readonly description: string;
  readonly instructions: string;
  /** A model name that the runtime resolves, or the model itself. */
  readonly model: string | Model;
  readonly tools: readonly (Tool | ToolGroup)[];
  /** Sub-agents that this agent may call. */
  readonly agents: readonly Agent[];
  /** Approval policy for calls to the sub-agents and for their results. */
  readonly helpApproval: { readonly call: CallPolicy; readonly result: ResultPolicy };
  /**
   * Whether a user must approve the results of the tools before the model sees them. A tool's own policy and the setting of a
   * chat take precedence. Undefined: the default for chats, or `never` outside of chats.
   */
  readonly resultApproval: ResultPolicy | undefined;
  readonly limits: TaskLimits;
  /** What happens at a limit: `finish` requests a final answer without tools, `ask` asks the user whether to continue. */
  readonly atLimit: "finish" | "ask";
  /** `raw` streams the unabridged reasoning of open models. */
  readonly reasoning: "summary" | "raw";
  readonly effort: string | undefined;
  /** In tokens; default 128,000. The history is compacted before it exceeds this size. */
  readonly contextWindow: number;
  /** How long an unavailable model is retried, in seconds. Undefined: the runtime's default. */
  readonly retrySeconds?: number | undefined;
  /** How long an approval stays open, in seconds. Undefined: it never expires. */
  readonly approvalSeconds: number | undefined;
  /** Model parameters, by their names in the Responses API. Those of a request take precedence. */
  readonly options: JsonObject;
}

export type AgentDefinition = Pick<Agent, "name" | "instructions" | "model"> &
  Partial<Omit<Agent, "name" | "instructions" | "model">>;

export const defaultLimits = { rounds: 10, depth: 3 } as const satisfies TaskLimits;

/** Returns the agent with defaults filled in. Throws a TypeError if the definition is invalid. */
export function defineAgent(definition: AgentDefinition): Agent {
  const { name, instructions, model, tools = [], limits = {} } = definition;
  if (typeof name !== "string" || !/^[A-Za-z][\w-]{0,63}$/.test(name))
    throw new TypeError(
      `invalid agent name "${name}": must start with a letter and contain only letters, digits, _ and - (at most 64)`,
    );
  const label = `the agent ${name}`;
  validateString(`the instructions of ${label}`, instructions);
  if (typeof model !== "string" && typeof model?.stream !== "function")
    throw new TypeError(`${label} needs a model: a name, or an object with a stream function`);
  validateLimits(`the limits of ${label}`, limits);
  validateApprovalPolicy(`helpApproval of ${label}`, definition.helpApproval ?? {});
  validateOneOf(`resultApproval of ${label}`, definition.resultApproval ?? "never", resultPolicies);
  validateOneOf(`atLimit of ${label}`, definition.atLimit ?? "finish", ["finish", "ask"]);
  const [problem] = validateModelOptions(definition.options ?? {});
  if (problem !== undefined) throw new TypeError(`the options of ${label}: ${problem}`);
  validateUniqueToolNames(
    label,
    // The tools of a group can change, so they are checked when a task starts.
    tools.flatMap((entry) => ("tools" in entry ? [] : [entry.name])),
  );
  return {
    description: "",
    tools: [],
    agents: [],
    helpApproval: { call: "auto", result: "never" },
    resultApproval: undefined,
    atLimit: "finish",
    reasoning: "summary",
    effort: undefined,
    contextWindow: 128_000,
    approvalSeconds: undefined,
    options: {},
    ...definition,
    limits: { ...defaultLimits, ...limits },
  };
}

/** Returns the name of the agent's model as it appears in events and prices. */
export function getModelName({ model, name }: Agent): string {
  return typeof model === "string" ? model : (model.name ?? name);
}
