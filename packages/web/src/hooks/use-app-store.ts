import { createContext, useContext, useEffect, useMemo, useRef } from "react";
import type { TaskTree } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import type { OpenChat, AppStore } from "../state/app-store.ts";
import type { AppCommand } from "../state/command-registry.ts";
import { createCell } from "../cell.ts";
import { useCellSelector } from "./use-cell.ts";

export const AppStoreContext = createContext<AppStore | undefined>(undefined);

export function useAppStore(): AppStore {
  const app = useContext(AppStoreContext);
  if (app === undefined) throw new Error("useAppStore must be used inside an AppStoreContext");
  return app;
}

/** Registers commands while the component is mounted. A command always calls its latest `run`. */
export function useCommands(commands: readonly AppCommand[]): void {
  const { commands: registry } = useAppStore();
  const latestCommands = useRef(commands);
  useEffect(() => {
    latestCommands.current = commands;
  });
  // Commands are registered again only if something other than `run` changes.
  const definitionsJson = JSON.stringify(commands.map(({ run: _run, ...rest }) => rest));
  useEffect(() => {
    const definitions = JSON.parse(definitionsJson) as Omit<AppCommand, "run">[];
    return registry.register(
      definitions.map((command) => ({
        ...command,
        run: () => latestCommands.current.find(({ id }) => id === command.id)?.run(),
      })),
    );
  }, [registry, definitionsJson]);
}

/** Keeps the chat open while the component is mounted. */
export function useOpenChat(chatId: string): OpenChat;
export function useOpenChat(chatId: string | undefined): OpenChat | undefined;
export function useOpenChat(chatId: string | undefined): OpenChat | undefined {
  const app = useAppStore();
  const chat = useMemo(() => {
    if (chatId === undefined) return undefined;
    const openChat = app.openChat(chatId);
    // React may render without mounting, so only the effect holds the chat. A released chat stays open for a while.
    openChat.release();
    return openChat;
  }, [app, chatId]);
  useEffect(() => {
    if (chatId === undefined) return undefined;
    const openChat = app.openChat(chatId);
    return () => openChat.release();
  }, [app, chatId]);
  return chat;
}

type TaskNode = NonNullable<TaskTree["tasks"][string]>;

/** Selects a value from the live task of an answer. Returns undefined if the answer is not running. */
export function useRunningTask<Selected>(
  version: AnswerVersion | undefined,
  select: (task: TaskNode) => Selected,
): Selected | undefined {
  const app = useAppStore();
  const taskId = version?.status === "running" ? version.task_id : undefined;
  return useCellSelector(taskId === undefined ? emptyTreeCell : app.taskTree(taskId), (tree) => {
    const task = tree?.tasks[taskId ?? ""];
    return task === undefined ? undefined : select(task);
  });
}

const emptyTreeCell = createCell<TaskTree | undefined>(undefined);
