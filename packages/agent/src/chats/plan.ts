import { quoted } from "@deltawire/tasks";
import type { Chat, ChatSettings, ModelOptions, UserVersion } from "@deltawire/tasks/chats";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions } from "./chat-ports.ts";
import { handlers, type Handler } from "./handlers.ts";
import type { ModelAbilities } from "../model.ts";
import { fitOptions, mergeOptions } from "../options/model-options.ts";

/** For one answer, over what the chat says. */
export interface AnswerChoice {
  readonly agent?: string;
  readonly model?: string;
  /** Over those of the message. */
  readonly options?: ModelOptions;
}

/** Who answers, and how it is asked. */
export interface Plan {
  readonly agent: string | undefined;
  readonly model: string;
  readonly abilities: ModelAbilities;
  readonly handler: Handler;
  readonly options: ModelOptions;
  readonly toolGroups: readonly string[];
  /** What of the settings this model cannot do, or nobody can any more. */
  readonly notices: readonly string[];
}

/** Options are merged in the order of their nearness: defaults, model, agent, chat, message. */
export async function planOf(
  chat: Chat,
  message: UserVersion,
  choice: AnswerChoice,
  {
    defaults,
    defaultResponder,
    modelFacts,
    agentFacts,
    checkNames,
    skills,
  }: Pick<
    Required<ChatsOptions>,
    "defaults" | "defaultResponder" | "modelFacts" | "agentFacts" | "checkNames" | "skills"
  >,
): Promise<Plan> {
  const { agent: agentName, model: modelName } =
    answering(choice, chat.settings) ?? (await defaultResponder());
  // Every agent is a model too.
  const name = agentName ?? modelName;
  const agent = name === undefined ? undefined : agentFacts(name);
  if (agentName !== undefined && agent === undefined)
    throw await unknownAgent(agentName, choice, checkNames);
  const model = agent?.model ?? modelName;
  if (model === undefined)
    throw new ChatError(
      "cannot_send",
      "no model is chosen: set settings.model or settings.agent of the chat, or `model` under [chats] in the configuration",
      { param: "model" },
    );
  const facts = await modelFacts(model);
  const { abilities } = facts;
  const merged = mergeOptions([
    defaults.settings.options,
    facts.options,
    agent?.options,
    chat.settings.options,
    message.options,
    choice.options,
  ]);
  const { options, notices } = fitOptions(merged, abilities, model);
  const handler = handlers[abilities.type];
  const wanted = chat.settings.tool_groups ?? defaults.settings.tool_groups ?? [];
  const mayCall = handler.tools && abilities.tools;
  const offered = [...new Set([...(agent?.toolGroups ?? []), ...wanted])];
  const gone = (chat.settings.skills ?? []).filter(
    (name) => !skills.some((one) => one.name === name),
  );
  return {
    agent: agent === undefined ? undefined : name,
    model,
    abilities,
    handler,
    options,
    toolGroups: mayCall ? wanted : [],
    notices: [
      ...notices,
      ...(mayCall || offered.length === 0 ? [] : [noTools(model, offered)]),
      ...gone.map((name) => `there is no skill "${name}" any more: it was left out`),
    ],
  };
}

/** The nearest that says one of the two. */
function answering(
  ...layers: readonly Pick<ChatSettings, "agent" | "model">[]
): Pick<ChatSettings, "agent" | "model"> | undefined {
  return layers.find(({ agent, model }) => agent !== undefined || model !== undefined);
}

async function unknownAgent(
  agent: string,
  choice: AnswerChoice,
  checkNames: Required<ChatsOptions>["checkNames"],
): Promise<ChatError> {
  const problem = (await checkNames({ agent })) ?? `agent: there is no agent ${quoted(agent)}`;
  const told = problem.slice(problem.indexOf(": ") + 2);
  const help = choice.agent === undefined ? "; choose another in the settings of the chat" : "";
  return new ChatError("cannot_send", told + help, { param: "agent" });
}

function noTools(model: string, groups: readonly string[]): string {
  return `${model} cannot call tools: ${groups.join(", ")} ${groups.length === 1 ? "was" : "were"} left out`;
}
