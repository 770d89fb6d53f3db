import {
  ChatApiError,
  getChosenVersion,
  getVersionText,
  type Attachment,
  type Chat,
  type ChatClient,
  type EditBody,
  type EditsReply,
  type UserEdit,
  type SendBody,
  type SendReply,
} from "@deltawire/tasks/chats";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";
import { shallowEqual } from "../shallow-equal.ts";
import {
  requestOnce,
  retryUntilAnswered,
  editAtRevision,
  rebasableEdits,
} from "./retry-requests.ts";
import type { ChatSyncUpdate, SyncedChat } from "./synced-chat.ts";
import type { DraftState, EditContent, OpenChat, AnswerInput } from "./app-store.ts";
import type { Notifier } from "./notifier.ts";

export interface OpenChatOptions {
  readonly chatId: string;
  readonly syncedChat: SyncedChat;
  readonly client: ChatClient;
  readonly environment: Pick<BrowserEnvironment, "schedule" | "random" | "newId">;
  readonly notifier: Notifier;
  /** Called when the gateway has the message of this draft. */
  readonly onSent: (chatId: string, draft: DraftState) => void;
  /** Called when the draft with this key could not be sent because the gateway is unreachable. */
  readonly onUnreachable: (chatId: string, key: string) => void;
  readonly navigateToChat: (chatId: string) => void;
  readonly release: () => void;
}

/** Creates the actions of an open chat. */
export function createOpenChat(options: OpenChatOptions): OpenChat {
  const {
    chatId,
    syncedChat,
    client,
    environment,
    notifier,
    onSent,
    onUnreachable,
    navigateToChat,
    release,
  } = options;
  let lastChange: Promise<unknown> = Promise.resolve();

  /** Runs edits one after another, because each needs the revision that results from the previous one. */
  const runInOrder = <Result>(action: () => Promise<Result>): Promise<Result> => {
    const result = lastChange.then(action);
    lastChange = result.catch(() => undefined);
    return result;
  };

  const applyReply = async (reply: ChatSyncUpdate): Promise<true> => {
    await syncedChat.apply(reply);
    return true;
  };

  const attempt = async (action: () => Promise<ChatSyncUpdate>): Promise<boolean> =>
    (await notifier.attempt(async () => applyReply(await action()))) === true;

  const requestAndApply = (
    post: (key: { idempotencyKey: string }) => Promise<ChatSyncUpdate>,
  ): Promise<boolean> => attempt(() => requestOnce(post, environment));

  const edit = (edits: readonly UserEdit[]): Promise<EditsReply> =>
    editAtRevision(syncedChat.ready?.chat.revision ?? 0, {
      post: (revision) => client.applyEdits(chatId, { revision, edits }),
      isRebasable: edits.every(({ type }) => rebasableEdits.has(type)),
      onConflict: (stamp) => syncedChat.loadChangesUntil(stamp),
    });

  const change = (...edits: UserEdit[]): Promise<boolean> =>
    runInOrder(() => attempt(() => edit(edits)));

  const undo = (removalIds: readonly string[]): Promise<boolean> =>
    runInOrder(async () => {
      for (const removal_id of removalIds.toReversed())
        if (!(await attempt(() => client.undo(chatId, { removal_id })))) return false;
      return true;
    });

  const remove = (removal: UserEdit, getText: () => string): Promise<boolean> =>
    runInOrder(async () => {
      const reply = await notifier.attempt(() => edit([removal]));
      if (reply === undefined) return false;
      await applyReply(reply);
      const { removal_ids = [] } = reply;
      const action = { label: notifier.getMessages().undo, run: () => void undo(removal_ids) };
      notifier.toasts.show({ kind: "info", text: getText(), action });
      return true;
    });

  return {
    chatId,
    state: syncedChat.state,
    reload: () => syncedChat.reload(),
    async send(draft, parent) {
      const reply = await notifier.attempt(
        () => sendOnce(draft, parent),
        () => onUnreachable(chatId, draft.key),
      );
      if (reply === undefined) return false;
      onSent(chatId, draft);
      if (reply !== "already sent") await applyReply(reply);
      return true;
    },
    rerun: (nodeId, choice = {}) =>
      requestAndApply((key) => client.rerun(chatId, { ...choice, node_id: nodeId }, key)),
    continueAnswer: (nodeId) =>
      requestAndApply((key) => client.continueAnswer(chatId, { node_id: nodeId }, key)),
    editMessage(nodeId, edit, { as, send }) {
      const { text, attachments, key } = edit;
      const body = { node_id: nodeId, text, as, send, ...(attachments && { attachments }) };
      if (!send) return rewrite(body, edit);
      // Sending the same text as a branch and as a version are different requests.
      const idempotencyKey = `${key}.${as}`;
      return attempt(() =>
        retryUntilAnswered(() => client.editMessage(chatId, body, { idempotencyKey }), environment),
      );
    },
    editAnswer: (nodeId, text) => rewrite({ node_id: nodeId, text }, { text }),
    stop: (nodeId) =>
      attempt(() => client.stop(chatId, nodeId === undefined ? {} : { node_id: nodeId })),
    change,
    deleteNode: (nodeId, children) =>
      remove(
        { type: "delete_node", node_id: nodeId, children },
        () => notifier.getMessages().nodeDeleted,
      ),
    deleteVersion: (nodeId, versionId) =>
      remove(
        { type: "delete_version", node_id: nodeId, version_id: versionId },
        () => notifier.getMessages().versionDeleted,
      ),
    async extract(nodeId) {
      const reply = await notifier.attempt(() =>
        requestOnce((key) => client.extract(chatId, { node_id: nodeId }, key), environment),
      );
      if (reply !== undefined) navigateToChat(reply.chat.chat_id);
      return reply?.chat.chat_id;
    },
    async sendInput(taskId, input) {
      const onInputUnreachable = () => onUnreachable(chatId, input.key);
      return (
        (await notifier.attempt(() => sendInputOnce(taskId, input), onInputUnreachable)) === true
      );
    },
    cancelTask: async (taskId) =>
      (await notifier.attempt(() => client.cancelTask(taskId))) !== undefined,
    release,
  };

  /** Saves text without calling a model. Needs no idempotency key, because stale revisions are rejected. */
  function rewrite(body: EditBody, content: EditContent): Promise<boolean> {
    return runInOrder(async () => {
      const { ready } = syncedChat;
      if (ready === undefined) return attempt(() => client.editMessage(chatId, body));
      if (hasContent(ready.chat, body.node_id, content)) return true;
      return attempt(() => client.editMessage(chatId, { ...body, revision: ready.chat.revision }));
    });
  }

  async function sendInputOnce(
    taskId: string,
    { text, delivery, key }: AnswerInput,
  ): Promise<true> {
    // The key without a suffix is used when the draft is sent as a message.
    const idempotencyKey = `${key}.steer`;
    try {
      const steer = () => client.steer(taskId, text, delivery, { idempotencyKey });
      await retryUntilAnswered(steer, environment);
    } catch (failure) {
      // A conflict means that the same text was already sent with the other delivery.
      if (!(failure instanceof ChatApiError && failure.code === "idempotency_conflict"))
        throw failure;
    }
    return true;
  }

  async function sendOnce(
    draft: DraftState,
    parent: string | null,
  ): Promise<SendReply | "already sent"> {
    const { text, attachments, contexts, options: modelOptions, key } = draft;
    const body: SendBody = {
      text,
      attachments,
      contexts,
      parent,
      ...(modelOptions === undefined ? {} : { options: modelOptions }),
    };
    try {
      return await retryUntilAnswered(
        () => client.send(chatId, body, { idempotencyKey: key }),
        environment,
      );
    } catch (failure) {
      // The key was used with another parent: the message was already sent, and the chat has changed since.
      if (failure instanceof ChatApiError && failure.code === "idempotency_conflict")
        return "already sent";
      throw failure;
    }
  }
}

/** True if the shown version already has this content. */
function hasContent(chat: Chat, nodeId: string, { text, attachments }: EditContent): boolean {
  const node = chat.nodes[nodeId];
  if (node?.kind === "answer") {
    const version = getChosenVersion(node);
    return version.by === "user" && getVersionText(version) === text;
  }
  if (node?.kind !== "user") return false;
  const version = getChosenVersion(node);
  const hasAttachments =
    attachments === undefined || shallowEqual(getUrls(version.attachments), getUrls(attachments));
  return version.text === text && hasAttachments;
}

function getUrls(attachments: readonly Attachment[]): string[] {
  return attachments.map(({ url }) => url);
}

/** Returns undefined while the chat loads, or if it could not be loaded. */
export function getLoadedChat({ state }: OpenChat): Chat | undefined {
  const current = state.get();
  return current.status === "ready" ? current.chat : undefined;
}
