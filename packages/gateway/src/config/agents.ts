import { readReferencedFile, type ConfigFileContext } from "./referenced-files.ts";
import type { AgentConfig, AgentLimits } from "./config.ts";
import { decodeSection, expectTable } from "./decode-section.ts";
import type { DecodeContext, TomlTable } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { checkModelName, checkIsChatModel, type KnownModelNames } from "./check-model-name.ts";
import { didYouMean } from "@deltawire/tasks";
import { checkModelOptions } from "./model-options.ts";
import type { DecodedSection } from "./setting-definitions.ts";
import { checkToolGroups, type KnownToolGroups } from "./tool-groups.ts";

/** The names and files that an agent can refer to. */
export interface AgentReferences
  extends Omit<KnownModelNames, "agents" | "suggestInstead">, KnownToolGroups {
  readonly fileContext: ConfigFileContext;
}

/** Decodes `[agents.*]`. */
export function decodeAgents(
  table: unknown,
  known: AgentReferences,
  context: DecodeContext,
): Map<string, AgentConfig> {
  const tables = expectTable(table, ["agents"], context.problems);
  const agents = new Map<string, AgentConfig>();
  for (const [name, values] of Object.entries(tables)) {
    const agent = decodeAgent(name, values, tables, known, context);
    if (agent !== undefined) agents.set(name, agent);
  }
  return agents;
}

function decodeAgent(
  name: string,
  table: unknown,
  tables: TomlTable,
  known: AgentReferences,
  context: DecodeContext,
): AgentConfig | undefined {
  const path = ["agents", name];
  checkAgentName(name, path, known, context);
  const values = decodeSection("agents.*", table, path, context);
  const { model } = values;
  if (model !== undefined) {
    const location = [...path, "model"];
    const suggestInstead = (agent: string) =>
      agent === name
        ? 'write "upstream/model"'
        : `to call it as a sub-agent, write agents = ["${agent}"]`;
    checkModelName(model, location, { ...known, agents: tables, suggestInstead }, context);
    checkIsChatModel(model, location, known, context);
    if (values.max_cost !== undefined && known.models.get(model)?.price === undefined)
      context.problems.error(
        [...path, "max_cost"],
        "the model has no price; add it to [models] with price_input and price_output",
      );
  }
  const instructions = decodeInstructions(values, path, known.fileContext, context);
  const groups = checkToolGroups(values.tool_groups, [...path, "tool_groups"], known, context);
  const agents = resolveSubAgents(name, values, tables, context);
  if (model === undefined) return undefined;
  return {
    name,
    model,
    description: values.description ?? "",
    instructions,
    toolGroups: [
      ...groups.filter((group) => group !== "agents"),
      ...(agents.length === 0 ? [] : ["agents"]),
    ],
    agents,
    limits: toAgentLimits(values),
    atLimit: values.at_limit,
    reasoning: values.reasoning,
    effort: values.effort,
    contextWindow: values.context_window,
    approvalSeconds: values.approval_seconds,
    options: checkModelOptions(values.options, [...path, "options"], context),
  };
}

function checkAgentName(
  name: string,
  path: KeyPath,
  known: AgentReferences,
  { problems }: DecodeContext,
): void {
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    problems.error(
      path,
      "invalid agent name; start with a letter and use only letters, digits, - and _, at most 64 characters",
    );
  if (known.models.has(name))
    problems.error(path, "is also a name in [models]; rename one of them");
  const [upstream] =
    [...known.upstreams].find(([, config]) => config?.models?.includes(name)) ?? [];
  if (upstream !== undefined)
    problems.warn(
      path,
      `is also a model of ${upstream}, which clients must now request as ${upstream}/${name}`,
    );
}

function decodeInstructions(
  { instructions, instructions_file: file }: DecodedSection<"agents.*">,
  path: KeyPath,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): string {
  if (file === undefined) return instructions ?? "";
  const location = [...path, "instructions_file"];
  if (instructions !== undefined)
    context.problems.error(location, "cannot be combined with instructions; remove one of them");
  return readReferencedFile(fileContext, file, location, context) ?? "";
}

/** An agent with the tool group `agents` but no `agents` setting may call all other agents. */
function resolveSubAgents(
  name: string,
  { agents, tool_groups: groups }: DecodedSection<"agents.*">,
  tables: TomlTable,
  { problems }: DecodeContext,
): string[] {
  const otherAgents = Object.keys(tables).filter((other) => other !== name);
  const path = ["agents", name, "agents"];
  if (agents === undefined) {
    const groupIndex = groups.indexOf("agents");
    if (groupIndex !== -1 && otherAgents.length === 0)
      problems.warn(
        ["agents", name, "tool_groups", groupIndex],
        "there are no other agents to call",
      );
    return groupIndex === -1 ? [] : otherAgents;
  }
  agents.forEach((agent, index) => {
    const location = [...path, index];
    if (agent === name) problems.error(location, "an agent cannot call itself; remove it");
    else if (!otherAgents.includes(agent)) {
      const suggestion =
        didYouMean(agent, otherAgents) || `; known agents: ${otherAgents.join(", ") || "none"}`;
      problems.error(location, `unknown agent ${JSON.stringify(agent)}${suggestion}`);
    }
  });
  return [...new Set(agents)];
}

function toAgentLimits(values: DecodedSection<"agents.*">): AgentLimits {
  const { max_tokens: tokens, max_cost: cost, max_seconds: seconds } = values;
  return {
    rounds: values.max_rounds,
    depth: values.max_depth,
    ...(tokens === undefined ? {} : { tokens }),
    ...(cost === undefined ? {} : { cost }),
    ...(seconds === undefined ? {} : { seconds }),
  };
}
