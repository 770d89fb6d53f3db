import { scopeBlobs, type TaskLimits } from "@deltawire/tasks";
import { getAnswerChain, getChosenVersion, selectContext, pathTo } from "@deltawire/tasks/chats";
import type { AnswerVersion, Chat, UserNode } from "@deltawire/tasks/chats";
import type { ResponseInputItem } from "@deltawire/wire";
import { toInputPart } from "../model/task-history.ts";
import { maxReference, collectReferences } from "../model/history-references.ts";
import { computeMaskId } from "../privacy/vault.ts";
import { buildPrivacyRule } from "../privacy/mask-request.ts";
import type { TaskRequest } from "../task-request.ts";
import type { ChatAgents } from "./chat-agents.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions } from "./chats-options.ts";
import { getEarlierNodes } from "./model-type-handlers.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { buildSystemPrompt } from "./system-prompt.ts";
import {
  renderAnswer,
  renderUserMessage,
  withUniqueCallIds,
  type ChatHistoryOptions,
} from "./model-history.ts";

/** A message to be answered, before the placeholder for its answer is added. */
export interface Question {
  readonly chat: Chat;
  readonly message: UserNode;
  /** The answer version to continue, and all versions that it consists of. */
  readonly continueFrom?: { readonly version: string; readonly versions: readonly AnswerVersion[] };
}

/** Throws if the message cannot be sent to this model. Called before anything is written. */
export function assertQuestionSendable(
  { chat, message, continueFrom }: Question,
  { handler, capabilities }: AnswerPlan,
): void {
  if (continueFrom === undefined)
    return handler.assertSendable(getChosenVersion(message), getEarlierNodes(chat, message));
  if (capabilities.type !== "chat")
    throw new ChatError(
      "cannot_send",
      "only text answers can be continued; rerun the message instead",
    );
}

export interface QuestionServices {
  options: Pick<ChatsOptions, "defaults" | "store"> & { now: () => number };
  agents: ChatAgents;
  /** Owner of the chat. */
  owner: string;
}

/** Builds the request of the task that answers the message, and notices about content that is not sent. */
export async function buildTaskRequest(
  { chat, message, continueFrom }: Question,
  plan: AnswerPlan,
  { options, agents, owner }: QuestionServices,
): Promise<{ request: TaskRequest; notices: readonly string[] }> {
  const { settings, chat_id } = chat;
  const { agent, model, capabilities, handler, toolGroups } = plan;
  const { defaults, store, now } = options;
  const timeZone = settings.time_zone ?? defaults.timeZone;
  const maxTurns = settings.turns ?? defaults.maxTurns;
  const vault = await agents.loadVault(chat_id, settings);
  const versionIds = [
    ...selectContext(chat, { upTo: message.node_id, turns: maxTurns }).flatMap((entry) =>
      entry.kind === "answer" ? entry.versions : [],
    ),
    ...(continueFrom?.versions ?? []),
  ].map(({ version_id }) => version_id);
  const historyOptions: ChatHistoryOptions = {
    model,
    capabilities,
    blobs: scopeBlobs(store, owner),
    vault,
    maskId: computeMaskId(chat_id, agents.resolvePrivacy(settings)),
    timeZone: (settings.message_times ?? defaults.addMessageTimes) ? timeZone : undefined,
    maxTurns,
    // Loads only the replays that are needed; media models receive no history.
    replays: capabilities.type === "chat" ? await store.getReplays(chat_id, versionIds) : {},
  };
  const { content, notices } = await handler.buildInput(
    chat,
    message,
    getChosenVersion(message),
    historyOptions,
  );
  const taskInput =
    continueFrom === undefined
      ? content
      : await continueHistory(content, message, continueFrom.versions, historyOptions);
  const prompt =
    capabilities.type === "chat"
      ? buildSystemPrompt({
          now: new Date(now()),
          timeZone,
          prompt: settings.instructions ?? defaults.settings.instructions ?? "",
          privacyRule: vault === undefined ? "" : buildPrivacyRule(vault),
        })
      : {};
  return {
    request: {
      ...(agent === undefined ? { model } : { agent }),
      ...taskInput,
      history: withUniqueCallIds(taskInput.history ?? []),
      references_before: findHighestReference(chat, message, continueFrom?.versions),
      ...prompt,
      tool_groups: toolGroups,
      session_id: chat_id,
      chat_id,
      limits: { ...pickTimeLimit(defaults.limits), ...settings.limits },
      options: plan.options,
    },
    notices,
  };
}

/** Returns the highest reference number on the path to a message, including groups that the model no longer sees. */
function findHighestReference(
  chat: Chat,
  message: UserNode,
  continuedVersions: readonly AnswerVersion[] = [],
): number {
  const versions = pathTo(chat, message.node_id).flatMap((node) =>
    node.kind === "answer" ? getAnswerChain(node, node.version) : [],
  );
  return [...versions, ...continuedVersions]
    .flatMap(({ references }) => references)
    .reduce((last, { reference_id: n }) => (n > maxReference ? last : Math.max(last, n)), 0);
}

/** The default time limit also applies to configured agents, which otherwise have their own limits. */
function pickTimeLimit({ seconds }: TaskLimits): TaskLimits {
  return seconds === undefined ? {} : { seconds };
}

const continuePrompt = "Continue where you stopped. Do not repeat what you have already written.";

/** Adds the message and the partial answer to the history, and asks the model to continue. */
async function continueHistory(
  { history }: { history: readonly ResponseInputItem[] },
  message: UserNode,
  versions: readonly AnswerVersion[],
  historyOptions: ChatHistoryOptions,
): Promise<Pick<TaskRequest, "history" | "input">> {
  const answerItems = renderAnswer(versions, historyOptions, collectReferences(history));
  if (answerItems.length === 0)
    throw new ChatError(
      "cannot_send",
      "the answer has no text to continue; rerun the message instead",
    );
  const { parts } = await renderUserMessage(getChosenVersion(message), historyOptions);
  const question: ResponseInputItem = {
    type: "message",
    role: "user",
    content: parts.map(toInputPart),
  };
  return { history: [...history, question, ...answerItems], input: continuePrompt };
}
