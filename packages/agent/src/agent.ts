import type { Limits } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { checkOptions } from "./options/model-options.ts";
import type { Model } from "./model.ts";
import {
  mustBeLimits,
  mustBeOneOf,
  mustBePolicy,
  mustBeText,
  mustBeUnique,
  resultPolicies,
} from "./must-be.ts";
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
  /**
   * Whether people see the results of its tools before the model does, for those tools that do not say. Undefined: never,
   * or in a chat as the chat says.
   */
  readonly results: ResultPolicy | undefined;
  readonly limits: Limits;
  /** What happens at a limit: the model is asked once more without tools, or the user whether to go on. */
  readonly atLimit: "finish" | "ask";
  /** `raw` streams the reasoning of open models as it is. */
  readonly reasoning: "summary" | "raw";
  readonly effort: string | undefined;
  /** Tokens that the model can take; history is compacted before that. */
  readonly contextWindow: number;
  /** How long a model that cannot be asked is asked again, in seconds; undefined: as the runtime is configured. */
  readonly retrySeconds?: number | undefined;
  /** How long a question to a person stays open; undefined: for ever. */
  readonly approvalSeconds: number | undefined;
  /** Parameters for its model, by their names on the Responses wire; those of a request are merged over them. */
  readonly options: JsonObject;
}

export type AgentDefinition = Pick<Agent, "name" | "instructions" | "model"> &
  Partial<Omit<Agent, "name" | "instructions" | "model">>;

export const usualLimits = { rounds: 10, depth: 3 } as const satisfies Limits;

/** An agent with what it leaves out filled in. A TypeError where the definition cannot work. */
export function defineAgent(definition: AgentDefinition): Agent {
  const { name, instructions, model, tools = [], limits = {} } = definition;
  if (typeof name !== "string" || !/^[A-Za-z][\w-]{0,63}$/.test(name))
    throw new TypeError(
      `the agent's name "${name}" must begin with a letter and have only letters, digits, _ and -`,
    );
  const agent = `the agent ${name}`;
  mustBeText(`the instructions of ${agent}`, instructions);
  if (typeof model !== "string" && typeof model?.stream !== "function")
    throw new TypeError(`${agent} needs a model: its name, or an object with a function stream`);
  mustBeLimits(`the limits of ${agent}`, limits);
  mustBePolicy(`helpApproval of ${agent}`, definition.helpApproval ?? {});
  mustBeOneOf(`results of ${agent}`, definition.results ?? "never", resultPolicies);
  mustBeOneOf(`atLimit of ${agent}`, definition.atLimit ?? "finish", ["finish", "ask"]);
  const [problem] = checkOptions(definition.options ?? {});
  if (problem !== undefined) throw new TypeError(`the options of ${agent}: ${problem}`);
  mustBeUnique(
    agent,
    // The tools of a group may change: those are looked at when a task begins.
    tools.flatMap((one) => ("tools" in one ? [] : [one.name])),
  );
  return {
    description: "",
    tools: [],
    agents: [],
    helpApproval: { call: "auto", result: "never" },
    results: undefined,
    atLimit: "finish",
    reasoning: "summary",
    effort: undefined,
    contextWindow: 128_000,
    approvalSeconds: undefined,
    options: {},
    ...definition,
    limits: { ...usualLimits, ...limits },
  };
}

/** What events and prices call the model of an agent. */
export function modelNameOf({ model, name }: Agent): string {
  return typeof model === "string" ? model : (model.name ?? name);
}
