import {
  createChatClient,
  followChats,
  type Attachment,
  type ChatChange,
  type ChatChoices,
  type FetchLike,
} from "@deltawire/tasks/chats";
import { EventLine } from "../gateway/event-line.ts";
import { createSession } from "../gateway/session.ts";
import type { World } from "../gateway/world.ts";
import { languageOf } from "../words/words.ts";
import { createApprovals } from "./approvals.ts";
import { cell } from "./cell.ts";
import { createChatList } from "./chat-list.ts";
import { createCommands } from "./commands.ts";
import { keepConnected } from "./connection.ts";
import { createDrafts } from "./drafts.ts";
import { FollowedTasks } from "./followed-tasks.ts";
import { OpenChats } from "./open-chats.ts";
import type { Page } from "./page.ts";
import { createPreferences } from "./preferences.ts";
import { createTelling, textOf } from "./telling.ts";
import { createToasts } from "./toasts.ts";
import { stateWords } from "./words.ts";

/** What no feed tells is asked for: approvals of tasks of no chat, and all of it while nobody looks. */
const lookEveryMs = 20_000;

/** Everything that the page knows and does, on the browser that is handed in. It begins at once. */
export function createPage(world: World): Page {
  const { base, schedule, storage, router, now } = world;
  const toasts = createToasts();
  const preferences = createPreferences(storage, languageOf(world.languages));
  const telling = createTelling(toasts, () => stateWords[preferences.get().language]);
  const session = createSession(world);
  const fetch: FetchLike = async (url, request) => {
    const reply = await world.fetch(url, request);
    if (reply.status === 401) void session.check();
    return reply;
  };
  const client = createChatClient({ fetch, base });
  const line = new EventLine(world);
  const drafts = createDrafts(world);
  const choices = cell<ChatChoices | undefined>(undefined);

  const tasks = new FollowedTasks({
    connect: line.connectTask,
    world,
    onChange: () => approvals.look(),
  });
  const chats = new OpenChats({
    client,
    world,
    telling,
    tasks,
    onSent: ({ key }) => drafts.sent(key),
    goTo: (chatId) => router.go({ is: "chat", chatId }),
  });
  const list = createChatList({
    client,
    telling,
    onChanged: (chatId, reply) => chats.apply(chatId, reply),
  });
  const approvals = createApprovals({
    client,
    telling,
    now,
    trees: () => tasks.trees(),
    placeOf: (taskId) => chats.placeOf(taskId),
  });

  const take = (change: ChatChange) => {
    if (mayHaveAsked(change)) void approvals.read();
    list.take(change);
    chats.take(change);
  };
  /** How many answers wait is all that a list knows. */
  const mayHaveAsked = (change: ChatChange): boolean => {
    if (change.type === "chat.removed") return true;
    const { chat_id, waiting } = change.chat;
    return waiting !== (list.summary(chat_id)?.waiting ?? 0);
  };
  /** Where the feed began. */
  let began: number | undefined;
  const followed = followChats(
    (after, handlers) =>
      line.connectChats(after, {
        ...handlers,
        event(event) {
          handlers.event(event);
          if (event.type !== "chats.opened") return;
          began ??= event.head;
          // Read before the feed began, the list may lack what came between the two.
          void list.catchUp(began);
        },
      }),
    {
      change: take,
      reset() {
        void list.reset();
        chats.reset();
        void approvals.read();
      },
    },
    { schedule, random: world.random },
  );

  const { connection, close: disconnect } = keepConnected({
    world,
    session,
    line,
    onOpen() {
      if (list.state.get().is !== "ready") void list.readAnew();
      chats.catchUp();
    },
    onLive() {
      chats.catchUp();
      void approvals.read();
      void client.choices().then(choices.set, () => undefined);
    },
  });

  let cancelLook: () => void;
  const lookAgain = () => {
    cancelLook = schedule(lookEveryMs, () => {
      lookAgain();
      if (session.state.get().is !== "open") return;
      const isAsleep = line.state.get().is === "asleep";
      if (isAsleep || list.state.get().is === "failed") void list.look();
      if (!isAsleep && line.state.get().is !== "live") return;
      void approvals.read();
      chats.catchUp();
    });
  };
  lookAgain();
  const stopLeaving = world.onLeave(() => drafts.save());

  return {
    client,
    session,
    connection,
    list,
    choices,
    approvals,
    preferences,
    router,
    commands: createCommands(),
    toasts,
    openChat: (chatId) => chats.open(chatId),
    reconnect: () => line.retry(),
    async newChat(settings) {
      const body = settings === undefined ? {} : { settings };
      const reply = await telling.attempt(() => client.create(body));
      if (reply !== undefined) router.go({ is: "chat", chatId: reply.chat.chat_id });
      return reply?.chat.chat_id;
    },
    draft: (chatId) => drafts.draft(chatId),
    upload,
    taskTree: (taskId) => tasks.tree(taskId),
    progress: (taskId) => tasks.progress(taskId),
    attempt: (action) => telling.attempt(action),
    close() {
      drafts.save();
      cancelLook();
      stopLeaving();
      followed.close();
      disconnect();
      chats.close();
      tasks.close();
      line.close();
    },
  };

  async function upload(file: File): Promise<Attachment | undefined> {
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const mediaType = file.type === "" ? "application/octet-stream" : file.type;
      const blob = await client.putBlob(bytes, { mediaType, filename: file.name });
      return { kind: kindOf(blob.media_type), filename: file.name, ...blob };
    } catch (failure) {
      const words = telling.words();
      telling.error(words.fileFailed(file.name, textOf(failure, words)));
      return undefined;
    }
  }
}

/** Other pictures are files for a model. */
function kindOf(mediaType: string): Attachment["kind"] {
  if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) return "image";
  return mediaType.startsWith("audio/") ? "audio" : "file";
}
