import {
  chosenVersion,
  lastOnPath,
  wordsOf,
  type AnswerVersion,
  type ChatSettings,
} from "@deltawire/tasks/chats";
import { expect } from "vitest";
import type { OpenChat, OpenChatState, Page } from "../../src/state/page.ts";
import { until } from "../node-world.ts";

type Ready = Extract<OpenChatState, { is: "ready" }>;

export function isReady(state: OpenChatState): state is Ready {
  return state.is === "ready";
}

/** A chat that was just made, shown in a tab. */
export async function newChat(page: Page, settings: ChatSettings): Promise<OpenChat> {
  await until(page.connection, ({ is }) => is === "live");
  const chatId = await page.newChat(settings);
  expect(chatId).toBeDefined();
  const chat = page.openChat(chatId ?? "");
  await until(chat.state, isReady);
  return chat;
}

/** As the composer does it, at the end of what is shown. */
export async function say(page: Page, chat: OpenChat, text: string): Promise<boolean> {
  const state = await until(chat.state, isReady);
  page.draft(chat.chatId).change({ text });
  const parent = lastOnPath(state.chat)?.node_id ?? null;
  return chat.send(page.draft(chat.chatId).get(), parent);
}

/** The last answer on the path, as it is shown. */
export function answerIn(state: OpenChatState): AnswerVersion | undefined {
  const node = state.is === "ready" ? lastOnPath(state.chat) : undefined;
  return node?.kind === "answer" ? chosenVersion(node) : undefined;
}

export async function answered(chat: OpenChat, status = "completed"): Promise<Ready> {
  const state = await until(chat.state, (each) => answerIn(each)?.status === status);
  return state as Ready;
}

/** What the last answer says on the screen: from its task while it runs, else from the chat. */
export function shownWords(page: Page, chat: OpenChat): string {
  const version = answerIn(chat.state.get());
  if (version === undefined) return "";
  if (version.status !== "running") return wordsOf(version);
  const { task_id = "" } = version;
  const output = page.taskTree(task_id).get()?.tasks[task_id]?.output ?? version.output;
  return wordsOf({ ...version, output: output.filter((item) => item.type !== "retracted") });
}
