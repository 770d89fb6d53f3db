import { EventClient, eventsOverFetch } from "@deltawire/tasks";
import {
  createChatClient,
  followChats,
  type ChatChange,
  type ChatSettings,
} from "@deltawire/tasks/chats";
import { createSession } from "./session.ts";
import type { World } from "../browser/world.ts";
import { isSame } from "../same.ts";
import { languageOf } from "../words/words.ts";
import { createApprovals } from "./approvals.ts";
import { askOnce } from "./asking.ts";
import { cell } from "../cell.ts";
import { createChatList } from "./chat-list.ts";
import { createCommands } from "./commands.ts";
import { keepConnected } from "./connection.ts";
import { createDrafts } from "./drafts.ts";
import { FollowedTasks } from "./followed-tasks.ts";
import { createNewChatSettings, createPreferences } from "./preferences.ts";
import { OpenChats } from "./open-chats.ts";
import type { Page } from "./page.ts";
import { createChoices } from "./read-choices.ts";
import { createTelling } from "./telling.ts";
import { createToasts } from "./toasts.ts";
import { uploadFile } from "./upload.ts";
import { stateWords } from "./words.ts";

/** What no feed tells is asked for: all of it while nobody looks. */
const lookEveryMs = 20_000;

/** Everything that the page knows and does, on the browser that is handed in. It begins at once. */
export function createPage(world: World): Page {
  const { base, schedule, storage, router, now } = world;
  const toasts = createToasts();
  const preferences = createPreferences(storage, languageOf(world.languages));
  const telling = createTelling(toasts, () => stateWords[preferences.get().language]);
  const session = createSession(world);
  const fetch: World["fetch"] = async (url, request) => {
    const reply = await world.fetch(url, request);
    if (reply.status === 401) void session.check();
    return reply;
  };
  const client = createChatClient({ fetch, base });
  const events = new EventClient({
    transport: eventsOverFetch({ AbortController, TextDecoder, fetch: world.fetch }, { base }),
    schedule,
    random: world.random,
    host: world,
  });
  const drafts = createDrafts({
    world,
    onNotKept: () => telling.error(telling.words().draftNotKept),
  });
  const readChoices = createChoices({
    client,
    world,
    mayAsk: () => session.state.get().is === "open" && events.connection.state === "live",
  });
  const retrying = cell<ReadonlySet<string>>(new Set());

  const tasks = new FollowedTasks({
    client: events,
    world,
    onChange() {
      approvals.look();
      const now = retryingChats();
      if (!isSame([...now], [...retrying.get()])) retrying.set(now);
    },
  });
  const chats = new OpenChats({
    client,
    world,
    telling,
    tasks,
    onSent: (chatId, draft) => drafts.sent(chatId, draft),
    onUnreached: (chatId, key) => drafts.draft(chatId).setUnreached(key),
    goTo: (chatId) => router.go({ is: "chat", chatId }),
  });
  const list = createChatList({
    client,
    telling,
    router,
    onChanged: (chatId, reply) => chats.apply(chatId, reply),
  });
  const approvals = createApprovals({
    client,
    storage,
    telling,
    now,
    newId: world.newId,
    trees: () => tasks.trees(),
    placeOf: (taskId) => chats.placeOf(taskId),
  });

  const take = (change: ChatChange) => {
    // Where it is asked may be called otherwise now.
    if (change.type === "chat.changed" && change.chat.waiting > 0) void approvals.read();
    list.take(change);
    chats.take(change);
  };
  /** Where the feed began. */
  let began: number | undefined;
  const followed = followChats(events, {
    change: take,
    reset() {
      void list.reset();
      chats.reset();
      void approvals.read();
    },
    event(event) {
      if (event.type === "approvals.changed") void approvals.read();
      if (event.type !== "chats.opened") return;
      began ??= event.head;
      // Read before the feed began, the list may lack what came between the two.
      void list.catchUp(began);
    },
  });

  const {
    connection,
    reconnect,
    close: disconnect,
  } = keepConnected({
    world,
    session,
    events,
    onOpen() {
      if (list.state.get().is !== "ready") void list.readAnew();
      chats.catchUp();
    },
    onLive() {
      chats.catchUp();
      void approvals.read();
      void readChoices.read();
    },
  });

  let cancelLook: () => void;
  const lookAgain = () => {
    cancelLook = schedule(lookEveryMs, () => {
      lookAgain();
      if (session.state.get().is !== "open") return;
      const { state } = events.connection;
      const isAsleep = state === "suspended";
      if (isAsleep || list.state.get().is === "failed") void list.look();
      if (!isAsleep && state !== "live") return;
      void approvals.read();
      chats.catchUp();
    });
  };
  lookAgain();
  const stopLeaving = world.onLeave((leaving) => drafts.leave(leaving));
  const stopHearing = world.onStored((name, value) => drafts.hear(name, value));
  const stopComingBack = world.onChange(() => {
    if (world.isVisible()) drafts.comeBack();
  });

  return {
    client,
    session,
    connection,
    list,
    choices: readChoices.choices,
    readChoices: () => readChoices.read(),
    retrying,
    approvals,
    preferences,
    router,
    commands: createCommands(),
    toasts,
    openChat: (chatId) => chats.open(chatId),
    reconnect,
    async newChat(settings = {}) {
      const chatId = await createChat(settings);
      if (chatId !== undefined) router.go({ is: "chat", chatId });
      return chatId;
    },
    createChat,
    importFrom: (file) => askOnce((key) => client.importFrom(file, key), world),
    newChatSettings: createNewChatSettings(storage),
    draft: (chatId) => drafts.draft(chatId),
    upload: (file) => uploadFile(file, client, telling),
    taskTree: (taskId) => tasks.tree(taskId),
    progress: (taskId) => tasks.progress(taskId),
    ask: (path, request) => fetch(base + path, request),
    attempt: (action) => telling.attempt(action),
    close() {
      drafts.leave("gone");
      cancelLook();
      readChoices.close();
      stopLeaving();
      stopHearing();
      stopComingBack();
      followed.close();
      disconnect();
      chats.close();
      tasks.close();
      events.close();
    },
  };

  function retryingChats(): Set<string> {
    const roots = tasks.trees().filter(({ tasks: all, root_task_id: root }) => all[root]?.retry);
    return new Set(roots.flatMap(({ root_task_id: root }) => chats.placeOf(root)?.chat_id ?? []));
  }

  async function createChat(
    settings: ChatSettings,
    onUnreachable?: () => void,
  ): Promise<string | undefined> {
    const make = () => askOnce((key) => client.create({ settings }, key), world);
    return (await telling.attempt(make, onUnreachable))?.chat.chat_id;
  }
}
