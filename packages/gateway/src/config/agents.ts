import { textBeside, type Beside } from "./beside.ts";
import type { AgentConfig, AgentLimits } from "./config.ts";
import { decodeSection, tableOf } from "./decode.ts";
import type { Reading, Table } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { checkModel, checkThatItChats, type NamedModels } from "./named-model.ts";
import { didYouMean } from "@deltawire/tasks";
import { usableOptions } from "./options.ts";
import type { Decoded } from "./settings.ts";
import { toolGroupsOf, type KnownGroups } from "./tool-groups.ts";

/** What an agent may name. */
export interface Known extends Omit<NamedModels, "agents" | "insteadOf">, KnownGroups {
  readonly beside: Beside;
}

/** `[agents.*]`. */
export function readAgents(
  table: unknown,
  known: Known,
  reading: Reading,
): Map<string, AgentConfig> {
  const named = tableOf(table, ["agents"], reading.problems);
  const agents = new Map<string, AgentConfig>();
  for (const [name, given] of Object.entries(named)) {
    const agent = readAgent(name, given, named, known, reading);
    if (agent !== undefined) agents.set(name, agent);
  }
  return agents;
}

function readAgent(
  name: string,
  table: unknown,
  named: Table,
  known: Known,
  reading: Reading,
): AgentConfig | undefined {
  const path = ["agents", name];
  checkName(name, path, known, reading);
  const given = decodeSection("agents.*", table, path, reading);
  const { model } = given;
  if (model !== undefined) {
    const place = [...path, "model"];
    const insteadOf = (agent: string) =>
      agent === name
        ? 'write "upstream/model"'
        : `to let it be asked for help write agents = ["${agent}"]`;
    checkModel(model, place, { ...known, agents: named, insteadOf }, reading);
    checkThatItChats(model, place, known, reading);
    if (given.max_cost !== undefined && known.models.get(model)?.price === undefined)
      reading.problems.error(
        [...path, "max_cost"],
        "cannot be kept, for the model has no price; name it in [models] with price_input and price_output",
      );
  }
  const instructions = instructionsOf(given, path, known.beside, reading);
  const groups = toolGroupsOf(given.tool_groups, [...path, "tool_groups"], known, reading);
  const agents = helpersOf(name, given, named, reading);
  if (model === undefined) return undefined;
  return {
    name,
    model,
    description: given.description ?? "",
    instructions,
    toolGroups: [
      ...groups.filter((group) => group !== "agents"),
      ...(agents.length === 0 ? [] : ["agents"]),
    ],
    agents,
    limits: limitsOf(given),
    atLimit: given.at_limit,
    reasoning: given.reasoning,
    effort: given.effort,
    contextWindow: given.context_window,
    approvalSeconds: given.approval_seconds,
    options: usableOptions(given.options, [...path, "options"], reading),
  };
}

function checkName(name: string, path: KeyPath, known: Known, { problems }: Reading): void {
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    problems.error(
      path,
      "is no name for an agent; begin with a letter and use letters, digits, - and _ only, 64 at most",
    );
  if (known.models.has(name))
    problems.error(path, "is a name of [models] too, and clients ask for both; rename one of them");
  const [upstream] = [...known.upstreams].find(([, one]) => one?.models?.includes(name)) ?? [];
  if (upstream !== undefined)
    problems.warn(
      path,
      `is the name of a model of ${upstream} too, which clients now have to call ${upstream}/${name}`,
    );
}

function instructionsOf(
  { instructions, instructions_file: file }: Decoded<"agents.*">,
  path: KeyPath,
  beside: Beside,
  reading: Reading,
): string {
  if (file === undefined) return instructions ?? "";
  const place = [...path, "instructions_file"];
  if (instructions !== undefined)
    reading.problems.error(place, "is there beside instructions; keep one of the two");
  return textBeside(beside, file, place, reading) ?? "";
}

/** Who says that it may ask, but not whom, may ask all. */
function helpersOf(
  name: string,
  { agents, tool_groups: groups }: Decoded<"agents.*">,
  named: Table,
  { problems }: Reading,
): string[] {
  const others = Object.keys(named).filter((other) => other !== name);
  const path = ["agents", name, "agents"];
  if (agents === undefined) {
    const group = groups.indexOf("agents");
    if (group !== -1 && others.length === 0)
      problems.warn(
        ["agents", name, "tool_groups", group],
        "lets it ask other agents, and there are none",
      );
    return group === -1 ? [] : others;
  }
  agents.forEach((agent, index) => {
    const place = [...path, index];
    if (agent === name) problems.error(place, "is the agent itself; take it out");
    else if (!others.includes(agent)) {
      const near = didYouMean(agent, others) || ` known are ${others.join(", ") || "none"}`;
      problems.error(place, `there is no agent ${JSON.stringify(agent)};${near}`);
    }
  });
  return [...new Set(agents)];
}

function limitsOf(given: Decoded<"agents.*">): AgentLimits {
  const { max_tokens: tokens, max_cost: cost, max_seconds: seconds } = given;
  return {
    rounds: given.max_rounds,
    depth: given.max_depth,
    ...(tokens === undefined ? {} : { tokens }),
    ...(cost === undefined ? {} : { cost }),
    ...(seconds === undefined ? {} : { seconds }),
  };
}
