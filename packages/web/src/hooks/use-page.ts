import { createContext, useContext, useEffect, useMemo, useRef } from "react";
import type { TaskTree } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import type { OpenChat, Page } from "../state/page.ts";
import type { Command } from "../state/commands.ts";
import { cell } from "../cell.ts";
import { usePicked } from "./use-cell.ts";

export const PageContext = createContext<Page | undefined>(undefined);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === undefined) throw new Error("there is no page around this component");
  return page;
}

/** Offers commands for as long as the component is there. They are known by their ids, titles and keys; `run` is the last one given. */
export function useCommands(commands: readonly Command[]): void {
  const { commands: registry } = usePage();
  const last = useRef(commands);
  useEffect(() => {
    last.current = commands;
  });
  const shape = JSON.stringify(commands.map(({ run: _run, ...rest }) => rest));
  useEffect(() => {
    const known = JSON.parse(shape) as Omit<Command, "run">[];
    return registry.add(
      known.map((command) => ({
        ...command,
        run: () => last.current.find(({ id }) => id === command.id)?.run(),
      })),
    );
  }, [registry, shape]);
}

/** The chat for as long as the component shows it. */
export function useOpenChat(chatId: string): OpenChat;
export function useOpenChat(chatId: string | undefined): OpenChat | undefined;
export function useOpenChat(chatId: string | undefined): OpenChat | undefined {
  const page = usePage();
  const chat = useMemo(() => {
    if (chatId === undefined) return undefined;
    const found = page.openChat(chatId);
    // React may draw and never show: it is held from the effect on, and until then the page keeps it a while.
    found.release();
    return found;
  }, [page, chatId]);
  useEffect(() => {
    if (chatId === undefined) return undefined;
    const held = page.openChat(chatId);
    return () => held.release();
  }, [page, chatId]);
  return chat;
}

type Task = NonNullable<TaskTree["tasks"][string]>;

/** Returns what `pick` finds in the live task of an answer; undefined unless the answer is running. */
export function useRunningTask<Picked>(
  version: AnswerVersion | undefined,
  pick: (task: Task) => Picked,
): Picked | undefined {
  const page = usePage();
  const taskId = version?.status === "running" ? version.task_id : undefined;
  return usePicked(taskId === undefined ? noTree : page.taskTree(taskId), (tree) => {
    const task = tree?.tasks[taskId ?? ""];
    return task === undefined ? undefined : pick(task);
  });
}

const noTree = cell<TaskTree | undefined>(undefined);
