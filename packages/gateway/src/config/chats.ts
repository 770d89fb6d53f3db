import { checkTimeZone } from "@deltawire/agent";
import type { ChatsConfig } from "./config.ts";
import { decodeSection } from "./decode.ts";
import type { Reading } from "./decode-value.ts";
import { checkModel, checkThatItChats, type NamedModels } from "./named-model.ts";
import { didYouMean } from "@deltawire/tasks";
import { usableOptions } from "./options.ts";
import { toolGroupsOf, type KnownGroups } from "./tool-groups.ts";

type KnownToChats = Omit<NamedModels, "insteadOf"> & KnownGroups;

/** The agent of the built-in demo that has all of its tools and sub-agents. */
export const demoAgent = "demo-agent";

/** Those that a gateway with the demo has where the file names none. */
export const demoAgentNames: readonly string[] = [demoAgent, "forecaster", "messenger"];

/** `[chats]`: what chats have that say nothing else. */
export function readChats(table: unknown, known: KnownToChats, reading: Reading): ChatsConfig {
  const { problems } = reading;
  const given = decodeSection("chats", table, ["chats"], reading);
  const { model, agent, title_model: titleModel } = given;
  const written = Object.keys(known.agents);
  const agents = written.length === 0 && known.demo ? demoAgentNames : written;
  if (model !== undefined)
    checkModel(
      model,
      ["chats", "model"],
      { ...known, insteadOf: (name) => `write agent = ${JSON.stringify(name)}` },
      reading,
    );
  if (agent !== undefined && model !== undefined)
    problems.error(["chats", "agent"], "is there beside model; keep one of the two");
  else if (agent !== undefined && !agents.includes(agent)) {
    const near = didYouMean(agent, agents) || ` known are ${agents.join(", ") || "none"}`;
    problems.error(["chats", "agent"], `there is no agent ${JSON.stringify(agent)};${near}`);
  }
  if (titleModel !== undefined) {
    const place = ["chats", "title_model"];
    checkModel(titleModel, place, { ...known, insteadOf: () => 'write "upstream/model"' }, reading);
    checkThatItChats(titleModel, place, known, reading);
  }
  if (given.time_zone !== undefined && !checkTimeZone(given.time_zone))
    problems.error(
      ["chats", "time_zone"],
      `there is no time zone ${JSON.stringify(given.time_zone)}; write a name such as Europe/Berlin`,
    );
  const group = given.tool_groups.indexOf("agents");
  if (group !== -1 && agents.length === 0)
    problems.warn(["chats", "tool_groups", group], "lets it ask agents, and there are none");
  return {
    model,
    agent,
    instructions: given.instructions ?? "",
    toolGroups: toolGroupsOf(given.tool_groups, ["chats", "tool_groups"], known, reading),
    turns: given.turns,
    rounds: given.rounds,
    retrySeconds: given.retry_seconds,
    seconds: given.seconds,
    results: given.results,
    titles: given.titles,
    titleModel,
    options: usableOptions(given.options, ["chats", "options"], reading),
    privacy: [...new Set(given.privacy)],
    timeZone: given.time_zone,
    exactTime: given.exact_time,
    deletedDays: given.deleted_days,
  };
}
