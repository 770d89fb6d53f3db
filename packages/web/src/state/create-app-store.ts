import { EventClient, createFetchTransport } from "@deltawire/tasks";
import { createChatClient, followChats, type ChatSettings } from "@deltawire/tasks/chats";
import { createSession } from "./session.ts";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";
import { shallowEqual } from "../shallow-equal.ts";
import { pickLanguage } from "../messages/define-messages.ts";
import { createApprovalStore } from "./approval-store.ts";
import { requestOnce } from "./retry-requests.ts";
import { createCell } from "../cell.ts";
import { createChatListStore } from "./chat-list-store.ts";
import { createCommandRegistry } from "./command-registry.ts";
import { createConnection } from "./connection.ts";
import { createDraftStore } from "./draft-store.ts";
import { FollowedTasks } from "./followed-tasks.ts";
import { createNewChatSettings, createPreferences } from "./preferences.ts";
import { OpenChats } from "./open-chats.ts";
import { createRefreshPolicy } from "./refresh-policy.ts";
import type { AppStore } from "./app-store.ts";
import { createChoicesLoader } from "./choices-loader.ts";
import { createNotifier } from "./notifier.ts";
import { createToastStore } from "./toast-store.ts";
import { uploadFile } from "./upload-file.ts";
import { stateMessages } from "./messages.ts";

/** Creates the store of the page and connects immediately. */
export function createAppStore(environment: BrowserEnvironment): AppStore {
  const { baseUrl, schedule, storage, router, now } = environment;
  const toasts = createToastStore();
  const preferences = createPreferences(storage, pickLanguage(environment.languages));
  const notifier = createNotifier(toasts, () => stateMessages[preferences.get().language]);
  const session = createSession(environment);
  const fetch: BrowserEnvironment["fetch"] = async (url, request) => {
    const reply = await environment.fetch(url, request);
    if (reply.status === 401) void session.check();
    return reply;
  };
  const client = createChatClient({ fetch, baseUrl });
  const events = new EventClient({
    transport: createFetchTransport(
      { AbortController, TextDecoder, fetch: environment.fetch },
      { baseUrl },
    ),
    schedule,
    random: environment.random,
    host: environment,
  });
  const drafts = createDraftStore({
    environment,
    onSaveFailed: () => notifier.error(notifier.getMessages().draftNotSaved),
  });
  const choicesLoader = createChoicesLoader({
    client,
    environment,
    canRequest: () => session.state.get().status === "open" && events.connection.state === "live",
  });
  const retryingChatIds = createCell<ReadonlySet<string>>(new Set());

  const tasks = new FollowedTasks({
    client: events,
    environment,
    onChange() {
      approvals.updateFromTrees();
      const chatIds = findRetryingChats();
      if (!shallowEqual([...chatIds], [...retryingChatIds.get()])) retryingChatIds.set(chatIds);
    },
  });
  const chats = new OpenChats({
    client,
    environment,
    notifier,
    tasks,
    onSent: (chatId, draft) => drafts.markSent(chatId, draft),
    onUnreachable: (chatId, key) => drafts.get(chatId).setUnreachable(key),
    navigateToChat: (chatId) => router.navigate({ type: "chat", chatId }),
  });
  const chatList = createChatListStore({
    client,
    notifier,
    router,
    onChange: (chatId, reply) => chats.apply(chatId, reply),
  });
  const approvals = createApprovalStore({
    client,
    storage,
    notifier,
    now,
    newId: environment.newId,
    getTrees: () => tasks.trees(),
    findAnswerLocation: (taskId) => chats.findAnswerLocation(taskId),
  });

  const refreshPolicy = createRefreshPolicy({
    environment,
    session,
    events,
    chatList,
    chats,
    approvals,
    choicesLoader,
  });
  const chatFeed = followChats(events, {
    ...refreshPolicy.chatFeed,
    onChange(change) {
      chatList.applyChange(change);
      chats.applyChange(change);
    },
  });
  const {
    connection,
    reconnect,
    close: disconnect,
  } = createConnection({ environment, session, events, ...refreshPolicy.connection });

  const stopPageHide = environment.onPageHide((reason) => drafts.onPageHide(reason));
  const stopStorage = environment.onStorageChange((name, value) =>
    drafts.onStorageChange(name, value),
  );
  const stopPageShow = environment.onChange(() => {
    if (environment.isVisible()) drafts.onPageShow();
  });

  return {
    client,
    session,
    connection,
    chatList,
    choices: choicesLoader.choices,
    reloadChoices: () => choicesLoader.reload(),
    retryingChatIds,
    approvals,
    preferences,
    router,
    commands: createCommandRegistry(),
    toasts,
    openChat: (chatId) => chats.open(chatId),
    reconnect,
    async createAndOpenChat(settings = {}) {
      const chatId = await createChat(settings);
      if (chatId !== undefined) router.navigate({ type: "chat", chatId });
      return chatId;
    },
    createChat,
    importChats: (file) => requestOnce((key) => client.importFile(file, key), environment),
    newChatSettings: createNewChatSettings(storage),
    getDraft: (chatId) => drafts.get(chatId),
    upload: (file) => uploadFile(file, client, notifier),
    taskTree: (taskId) => tasks.tree(taskId),
    progress: (taskId) => tasks.progress(taskId),
    request: (path, request) => fetch(baseUrl + path, request),
    attempt: (action) => notifier.attempt(action),
    close() {
      drafts.onPageHide("unloaded");
      refreshPolicy.close();
      choicesLoader.close();
      stopPageHide();
      stopStorage();
      stopPageShow();
      chatFeed.close();
      disconnect();
      chats.close();
      tasks.close();
      events.close();
    },
  };

  function findRetryingChats(): Set<string> {
    const retryingTrees = tasks
      .trees()
      .filter(({ tasks: states, root_task_id }) => states[root_task_id]?.retry);
    return new Set(
      retryingTrees.flatMap(
        ({ root_task_id }) => chats.findAnswerLocation(root_task_id)?.chat_id ?? [],
      ),
    );
  }

  async function createChat(
    settings: ChatSettings,
    onUnreachable?: () => void,
  ): Promise<string | undefined> {
    const create = () => requestOnce((key) => client.create({ settings }, key), environment);
    return (await notifier.attempt(create, onUnreachable))?.chat.chat_id;
  }
}
