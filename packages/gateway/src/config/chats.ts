import { isTimeZone } from "@deltawire/agent/basics";
import type { ChatsConfig } from "./config.ts";
import { decodeSection } from "./decode-section.ts";
import type { DecodeContext } from "./decode-value.ts";
import { checkModelName, checkIsChatModel, type KnownModelNames } from "./check-model-name.ts";
import { didYouMean } from "@deltawire/tasks";
import { checkModelOptions } from "./model-options.ts";
import { checkToolGroups, type KnownToolGroups } from "./tool-groups.ts";

type ChatReferences = Omit<KnownModelNames, "suggestInstead"> & KnownToolGroups;

/** The agent of the built-in demo that has all of its tools and sub-agents. */
export const demoAgent = "demo-agent";

/** The agents that the demo adds if the configuration defines none. */
export const demoAgentNames: readonly string[] = [demoAgent, "forecaster", "messenger"];

/** Decodes `[chats]`: the defaults of all chats. */
export function decodeChats(
  table: unknown,
  known: ChatReferences,
  context: DecodeContext,
): ChatsConfig {
  const { problems } = context;
  const values = decodeSection("chats", table, ["chats"], context);
  const { model, agent, title_model: titleModel } = values;
  const agentNames = Object.keys(known.agents);
  const agents = agentNames.length === 0 && known.hasDemo ? demoAgentNames : agentNames;
  if (model !== undefined)
    checkModelName(
      model,
      ["chats", "model"],
      { ...known, suggestInstead: (name) => `write agent = ${JSON.stringify(name)}` },
      context,
    );
  if (agent !== undefined && model !== undefined)
    problems.error(["chats", "agent"], "cannot be combined with model; remove one of them");
  else if (agent !== undefined && !agents.includes(agent)) {
    const suggestion =
      didYouMean(agent, agents) || `; known agents: ${agents.join(", ") || "none"}`;
    problems.error(["chats", "agent"], `unknown agent ${JSON.stringify(agent)}${suggestion}`);
  }
  if (titleModel !== undefined) {
    const location = ["chats", "title_model"];
    checkModelName(
      titleModel,
      location,
      { ...known, suggestInstead: () => 'write "upstream/model"' },
      context,
    );
    checkIsChatModel(titleModel, location, known, context);
  }
  if (values.time_zone !== undefined && !isTimeZone(values.time_zone))
    problems.error(
      ["chats", "time_zone"],
      `unknown time zone ${JSON.stringify(values.time_zone)}; use an IANA name such as Europe/Berlin`,
    );
  const groupIndex = values.tool_groups.indexOf("agents");
  if (groupIndex !== -1 && agents.length === 0)
    problems.warn(["chats", "tool_groups", groupIndex], "there are no agents to call");
  return {
    model,
    agent,
    instructions: values.instructions ?? "",
    toolGroups: checkToolGroups(values.tool_groups, ["chats", "tool_groups"], known, context),
    maxTurns: values.turns,
    maxRounds: values.max_rounds,
    retrySeconds: values.retry_seconds,
    maxSeconds: values.max_seconds,
    resultApproval: values.result_approval,
    generateTitles: values.titles,
    titleModel,
    options: checkModelOptions(values.options, ["chats", "options"], context),
    privacy: [...new Set(values.privacy)],
    timeZone: values.time_zone,
    addMessageTimes: values.message_times,
    deletedDays: values.deleted_days,
  };
}
