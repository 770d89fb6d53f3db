import {
  ChatApiError,
  chosenVersion,
  wordsOf,
  type Attachment,
  type Chat,
  type ChatClient,
  type EditBody,
  type EditsReply,
  type PersonEdit,
  type SendBody,
  type SentReply,
} from "@deltawire/tasks/chats";
import type { World } from "../browser/world.ts";
import { isSame } from "../same.ts";
import { askOnce, askUntilAnswered, editAt, lasting } from "./asking.ts";
import type { Change, KeptChat } from "./kept-chat.ts";
import type { DraftState, EditWords, OpenChat, Word } from "./page.ts";
import type { Telling } from "./telling.ts";

export interface OpenChatOptions {
  readonly chatId: string;
  readonly kept: KeptChat;
  readonly client: ChatClient;
  readonly world: Pick<World, "schedule" | "random" | "newId">;
  readonly telling: Telling;
  /** The gateway has the message of this draft. */
  readonly onSent: (chatId: string, draft: DraftState) => void;
  /** The gateway could not be reached for the draft of this key. */
  readonly onUnreached: (chatId: string, key: string) => void;
  readonly goTo: (chatId: string) => void;
  readonly release: () => void;
}

/** What a person can do with a chat that is shown. */
export function createOpenChat(options: OpenChatOptions): OpenChat {
  const { chatId, kept, client, world, telling, onSent, onUnreached, goTo, release } = options;
  let lastChange: Promise<unknown> = Promise.resolve();

  /** Edits go one after the other: each is at the revision that the one before it has made. */
  const inOrder = <Result>(action: () => Promise<Result>): Promise<Result> => {
    const result = lastChange.then(action);
    lastChange = result.catch(() => undefined);
    return result;
  };

  const shown = async (reply: Change): Promise<true> => {
    await kept.apply(reply);
    return true;
  };

  const attempt = async (action: () => Promise<Change>): Promise<boolean> =>
    (await telling.attempt(async () => shown(await action()))) === true;

  const ask = (post: (key: { idempotencyKey: string }) => Promise<Change>): Promise<boolean> =>
    attempt(() => askOnce(post, world));

  const edit = (edits: readonly PersonEdit[]): Promise<EditsReply> =>
    editAt(kept.ready?.chat.revision ?? 0, {
      post: (revision) => client.edits(chatId, { revision, edits }),
      isLasting: edits.every(({ type }) => lasting.has(type)),
      onConflict: (stamp) => kept.catchUp(stamp),
    });

  const change = (...edits: PersonEdit[]): Promise<boolean> =>
    inOrder(() => attempt(() => edit(edits)));

  const undo = (removalIds: readonly string[]): Promise<boolean> =>
    inOrder(async () => {
      for (const removal_id of removalIds.toReversed())
        if (!(await attempt(() => client.undo(chatId, { removal_id })))) return false;
      return true;
    });

  const remove = (removal: PersonEdit, text: () => string): Promise<boolean> =>
    inOrder(async () => {
      const reply = await telling.attempt(() => edit([removal]));
      if (reply === undefined) return false;
      await shown(reply);
      const { removal_ids = [] } = reply;
      const action = { label: telling.words().undo, run: () => void undo(removal_ids) };
      telling.toasts.show({ kind: "info", text: text(), action });
      return true;
    });

  return {
    chatId,
    state: kept.state,
    readAnew: () => kept.readAnew(),
    async send(draft, parent) {
      const reply = await telling.attempt(
        () => sendOnce(draft, parent),
        () => onUnreached(chatId, draft.key),
      );
      if (reply === undefined) return false;
      onSent(chatId, draft);
      if (reply !== "sent before") await shown(reply);
      return true;
    },
    rerun: (nodeId, choice = {}) =>
      ask((key) => client.rerun(chatId, { ...choice, node_id: nodeId }, key)),
    continueAnswer: (nodeId) =>
      ask((key) => client.continueAnswer(chatId, { node_id: nodeId }, key)),
    editMessage(nodeId, edit, { as, send }) {
      const { text, attachments, key } = edit;
      const body = { node_id: nodeId, text, as, send, ...(attachments && { attachments }) };
      if (!send) return rewrite(body, edit);
      // The same words as a branch are another request.
      const idempotencyKey = `${key}.${as}`;
      return attempt(() =>
        askUntilAnswered(() => client.edit(chatId, body, { idempotencyKey }), world),
      );
    },
    editAnswer: (nodeId, text) => rewrite({ node_id: nodeId, text }, { text }),
    stop: (nodeId) =>
      attempt(() => client.stop(chatId, nodeId === undefined ? {} : { node_id: nodeId })),
    change,
    deleteNode: (nodeId, children) =>
      remove({ type: "delete_node", node_id: nodeId, children }, () => telling.words().nodeDeleted),
    deleteVersion: (nodeId, versionId) =>
      remove(
        { type: "delete_version", node_id: nodeId, version_id: versionId },
        () => telling.words().versionDeleted,
      ),
    async extract(nodeId) {
      const reply = await telling.attempt(() =>
        askOnce((key) => client.extract(chatId, { node_id: nodeId }, key), world),
      );
      if (reply !== undefined) goTo(reply.chat.chat_id);
      return reply?.chat.chat_id;
    },
    async tell(taskId, word) {
      const unreached = () => onUnreached(chatId, word.key);
      return (await telling.attempt(() => tellOnce(taskId, word), unreached)) === true;
    },
    cancelTask: async (taskId) =>
      (await telling.attempt(() => client.cancelTask(taskId))) !== undefined,
    release,
  };

  /** Without asking a model. There is no key for that: at an older revision it is refused, and what is so already is done. */
  function rewrite(body: EditBody, words: EditWords): Promise<boolean> {
    return inOrder(async () => {
      const { ready } = kept;
      if (ready === undefined) return attempt(() => client.edit(chatId, body));
      if (isWritten(ready.chat, body.node_id, words)) return true;
      return attempt(() => client.edit(chatId, { ...body, revision: ready.chat.revision }));
    });
  }

  async function tellOnce(taskId: string, { text, delivery, key }: Word): Promise<true> {
    // A message under the same key would be another request.
    const idempotencyKey = `${key}.told`;
    try {
      const tell = () => client.steer(taskId, text, delivery, { idempotencyKey });
      await askUntilAnswered(tell, world);
    } catch (failure) {
      // The same words, told now instead of later or the other way round: they have come.
      if (!(failure instanceof ChatApiError && failure.code === "idempotency_conflict"))
        throw failure;
    }
    return true;
  }

  async function sendOnce(
    draft: DraftState,
    parent: string | null,
  ): Promise<SentReply | "sent before"> {
    const { text, attachments, contexts, options: modelOptions, key } = draft;
    const body: SendBody = {
      text,
      attachments,
      contexts,
      parent,
      ...(modelOptions === undefined ? {} : { options: modelOptions }),
    };
    try {
      return await askUntilAnswered(
        () => client.send(chatId, body, { idempotencyKey: key }),
        world,
      );
    } catch (failure) {
      // The same words under the same key, at another place: the chat has gone on, with this very message.
      if (failure instanceof ChatApiError && failure.code === "idempotency_conflict")
        return "sent before";
      throw failure;
    }
  }
}

/** Whether a person's words stand there now. */
function isWritten(chat: Chat, nodeId: string, { text, attachments }: EditWords): boolean {
  const node = chat.nodes[nodeId];
  if (node?.kind === "answer") {
    const version = chosenVersion(node);
    return version.by === "user" && wordsOf(version) === text;
  }
  if (node?.kind !== "user") return false;
  const version = chosenVersion(node);
  const hasAttachments =
    attachments === undefined || isSame(urlsOf(version.attachments), urlsOf(attachments));
  return version.text === text && hasAttachments;
}

function urlsOf(attachments: readonly Attachment[]): string[] {
  return attachments.map(({ url }) => url);
}
