import { currentPath, getChosenVersion, getVersionText } from "@deltawire/tasks/chats";
import type { Chat, StoredChat, ModelEdit } from "@deltawire/tasks/chats";
import type { Model } from "../model.ts";
import { trimPartialPlaceholder } from "../privacy/placeholder.ts";
import { calculateUsage } from "../task/usage.ts";
import type { ChatAgents } from "./chat-agents.ts";
import type { ChatsOptions } from "./chats-options.ts";
import { requestTitle, cleanTitle, type FirstTurn } from "./title-request.ts";

const titleTimeoutMs = 60_000;

export interface TitleServices {
  options: Pick<
    Required<ChatsOptions>,
    | "store"
    | "runtime"
    | "defaults"
    | "getModel"
    | "getMeteredModel"
    | "getPrice"
    | "getModelInfo"
    | "onFailure"
  >;
  agents: ChatAgents;
}

export interface TitleGeneration {
  signal: AbortSignal;
  /** Awaited immediately before the masked request is sent. May abort the signal. */
  beforeRequest?: () => Promise<void>;
}

/**
 * Returns the edit that sets the title of a chat. Undefined if the chat has a title or no answer, or if titles are turned off. If
 * no model can be used, the title is the start of the first message. Usage counts toward the access key of the newest answer.
 */
export async function generateTitle(
  { chat, owner = "" }: StoredChat,
  { options, agents }: TitleServices,
  { signal, beforeRequest }: TitleGeneration,
): Promise<Extract<ModelEdit, { type: "title_by_model" }> | undefined> {
  const { runtime, defaults, getModel, getMeteredModel, getPrice, getModelInfo, onFailure } =
    options;
  if (!defaults.generateTitles || chat.title_by !== "nobody") return undefined;
  const { turn, answerModel } = findFirstTurn(chat);
  if (answerModel === undefined) return undefined;
  const fallback = cleanTitle(turn.user);
  const fallbackEdit =
    fallback === "" ? undefined : ({ type: "title_by_model", title: fallback } as const);
  const name = chat.settings.title_model ?? defaults.settings.title_model ?? answerModel;
  try {
    const { capabilities } = await getModelInfo(name);
    if (capabilities.type !== "chat") return fallbackEdit;
    const accessKey = await findAccessKey(chat, runtime);
    // The chat was created with an access key, but the task that names the key was removed or belongs to another chat.
    if (accessKey === undefined && owner !== "") return fallbackEdit;
    const model = accessKey === undefined ? getModel(name) : getMeteredModel(name, accessKey);
    const vault = await agents.loadVault(chat.chat_id, chat.settings);
    const checkedModel = createCheckedModel(model, beforeRequest);
    const maskedModel = agents.maskModel(chat.chat_id, checkedModel, vault);
    const combinedSignal = AbortSignal.any([signal, AbortSignal.timeout(titleTimeoutMs)]);
    const { title: generatedTitle, usage } = await requestTitle(
      maskedModel,
      name,
      turn,
      combinedSignal,
      vault,
    );
    // Models may truncate a title in the middle of a placeholder.
    const title = vault === undefined ? generatedTitle : trimPartialPlaceholder(generatedTitle);
    const usageField = usage === undefined ? {} : { usage: calculateUsage(usage, getPrice(name)) };
    return title === "" ? fallbackEdit : { type: "title_by_model", title, ...usageField };
  } catch (error) {
    // Started again after the next answer, or when `AnswerSweeper` or a restart finds the title missing.
    if (signal.aborted) return undefined;
    onFailure("no title could be generated for a chat", error);
    return fallbackEdit;
  }
}

/** Returns the id of the access key with which the newest answer was requested. Undefined if there was none. */
async function findAccessKey(
  { chat_id, nodes }: Chat,
  runtime: Pick<ChatsOptions["runtime"], "request">,
): Promise<string | undefined> {
  const versions = Object.values(nodes).flatMap((node) =>
    node.kind === "answer" ? node.versions.filter(({ task_id }) => task_id !== undefined) : [],
  );
  const [newest] = versions.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
  if (newest?.task_id === undefined) return undefined;
  const request = await runtime.request(newest.task_id);
  // Imported and copied answers have tasks of other chats.
  return request.chat_id === chat_id ? request.access_key : undefined;
}

function createCheckedModel(model: Model, beforeRequest: TitleGeneration["beforeRequest"]): Model {
  if (beforeRequest === undefined) return model;
  return {
    ...(model.name !== undefined && { name: model.name }),
    async *stream(request, signal, report) {
      await beforeRequest();
      signal.throwIfAborted();
      yield* model.stream(request, signal, report);
    },
  };
}

/** Returns the first message and the first complete answer, with the model of the answer. */
function findFirstTurn(chat: Chat): { turn: FirstTurn; answerModel: string | undefined } {
  const path = currentPath(chat);
  const answer = path.find(
    (node) => node.kind === "answer" && getChosenVersion(node).status === "completed",
  );
  const user = path.find((node) => node.kind === "user");
  const userVersion = user?.kind === "user" ? getChosenVersion(user) : undefined;
  const answerVersion = answer?.kind === "answer" ? getChosenVersion(answer) : undefined;
  return {
    turn: {
      user: userVersion === undefined ? "" : getVersionText(userVersion),
      answer: answerVersion === undefined ? "" : getVersionText(answerVersion),
    },
    answerModel: answerVersion?.model,
  };
}
