import { quoteExcerpt } from "@deltawire/tasks";
import type { Chat, ChatSettings, ModelOptions, UserVersion } from "@deltawire/tasks/chats";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions } from "./chats-options.ts";
import { modelTypeHandlers, type ModelTypeHandler } from "./model-type-handlers.ts";
import type { ModelCapabilities } from "../model.ts";
import { filterSupportedOptions, mergeOptions } from "../options/model-options.ts";

/** Overrides the settings of the chat for one answer. */
export interface AnswerOverrides {
  readonly agent?: string;
  readonly model?: string;
  /** Take precedence over the options of the message. */
  readonly options?: ModelOptions;
}

/** The agent and model that will answer, with the merged options. */
export interface AnswerPlan {
  readonly agent: string | undefined;
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly handler: ModelTypeHandler;
  readonly options: ModelOptions;
  readonly toolGroups: readonly string[];
  /** Notices about settings that are ignored because the model does not support them or they no longer exist. */
  readonly notices: readonly string[];
}

/** Options are merged with increasing priority: defaults, model, agent, chat, message, overrides. */
export async function planAnswer(
  chat: Chat,
  message: UserVersion,
  overrides: AnswerOverrides,
  {
    defaults,
    defaultResponder,
    getModelInfo,
    getAgentInfo,
    findUnknownName,
    skills,
  }: Pick<
    Required<ChatsOptions>,
    "defaults" | "defaultResponder" | "getModelInfo" | "getAgentInfo" | "findUnknownName" | "skills"
  >,
): Promise<AnswerPlan> {
  const { agent: agentName, model: modelName } =
    findResponder(overrides, chat.settings) ?? (await defaultResponder());
  // Agents can also be selected as a model.
  const name = agentName ?? modelName;
  const agent = name === undefined ? undefined : getAgentInfo(name);
  if (agentName !== undefined && agent === undefined)
    throw await createUnknownAgentError(agentName, overrides, findUnknownName);
  const model = agent?.model ?? modelName;
  if (model === undefined)
    throw new ChatError(
      "cannot_send",
      "no model is selected; set settings.model or settings.agent of the chat, or `model` under [chats] in the configuration",
      { param: "model" },
    );
  const modelInfo = await getModelInfo(model);
  const { capabilities } = modelInfo;
  const merged = mergeOptions([
    defaults.settings.options,
    modelInfo.options,
    agent?.options,
    chat.settings.options,
    message.options,
    overrides.options,
  ]);
  const { options, notices } = filterSupportedOptions(merged, capabilities, model);
  const handler = modelTypeHandlers[capabilities.type];
  const requestedGroups = chat.settings.tool_groups ?? defaults.settings.tool_groups ?? [];
  const canCallTools = handler.supportsTools && capabilities.tools;
  const allGroups = [...new Set([...(agent?.toolGroups ?? []), ...requestedGroups])];
  const missingSkills = (chat.settings.skills ?? []).filter(
    (name) => !skills.some((skill) => skill.name === name),
  );
  return {
    agent: agent === undefined ? undefined : name,
    model,
    capabilities,
    handler,
    options,
    toolGroups: canCallTools ? requestedGroups : [],
    notices: [
      ...notices,
      ...(canCallTools || allGroups.length === 0 ? [] : [formatNoToolsNotice(model, allGroups)]),
      ...missingSkills.map((name) => `the skill "${name}" no longer exists and was ignored`),
    ],
  };
}

/** Returns the first settings that name an agent or a model. */
function findResponder(
  ...candidates: readonly Pick<ChatSettings, "agent" | "model">[]
): Pick<ChatSettings, "agent" | "model"> | undefined {
  return candidates.find(({ agent, model }) => agent !== undefined || model !== undefined);
}

async function createUnknownAgentError(
  agent: string,
  overrides: AnswerOverrides,
  findUnknownName: Required<ChatsOptions>["findUnknownName"],
): Promise<ChatError> {
  const problem = await findUnknownName({ agent });
  const reason = problem?.reason ?? `unknown agent ${quoteExcerpt(agent)}`;
  const hint = overrides.agent === undefined ? "; select another in the chat settings" : "";
  return new ChatError("cannot_send", reason + hint, { param: "agent" });
}

function formatNoToolsNotice(model: string, groups: readonly string[]): string {
  return `${model} does not support tools; ignored tool groups: ${groups.join(", ")}`;
}
