import {
  getChosenVersion,
  lastNodeOnPath,
  getVersionText,
  type AnswerVersion,
  type ChatSettings,
} from "@deltawire/tasks/chats";
import { expect } from "vitest";
import type { OpenChat, OpenChatState, AppStore } from "../../src/state/app-store.ts";
import { waitForCell } from "../node-environment.ts";

type ReadyChatState = Extract<OpenChatState, { status: "ready" }>;

export function isReady(state: OpenChatState): state is ReadyChatState {
  return state.status === "ready";
}

/** Creates a chat and opens it. */
export async function openNewChat(app: AppStore, settings: ChatSettings): Promise<OpenChat> {
  await waitForCell(app.connection, ({ status }) => status === "live");
  const chatId = await app.createAndOpenChat(settings);
  expect(chatId).toBeDefined();
  const chat = app.openChat(chatId ?? "");
  await waitForCell(chat.state, isReady);
  return chat;
}

/** Sends a message at the end of the shown path, as the composer does. */
export async function sendMessage(app: AppStore, chat: OpenChat, text: string): Promise<boolean> {
  const state = await waitForCell(chat.state, isReady);
  app.getDraft(chat.chatId).change({ text });
  const parent = lastNodeOnPath(state.chat)?.node_id ?? null;
  return chat.send(app.getDraft(chat.chatId).get(), parent);
}

/** Returns the shown version of the last answer on the path. */
export function getLastAnswer(state: OpenChatState): AnswerVersion | undefined {
  const node = state.status === "ready" ? lastNodeOnPath(state.chat) : undefined;
  return node?.kind === "answer" ? getChosenVersion(node) : undefined;
}

export async function waitForAnswer(chat: OpenChat, status = "completed"): Promise<ReadyChatState> {
  const state = await waitForCell(chat.state, (value) => getLastAnswer(value)?.status === status);
  return state as ReadyChatState;
}

/** Returns the displayed text of the last answer: from its task while it runs, else from the chat. */
export function getVisibleAnswerText(app: AppStore, chat: OpenChat): string {
  const version = getLastAnswer(chat.state.get());
  if (version === undefined) return "";
  if (version.status !== "running") return getVersionText(version);
  const { task_id = "" } = version;
  const output = app.taskTree(task_id).get()?.tasks[task_id]?.output ?? version.output;
  return getVersionText({ ...version, output: output.filter((item) => item.type !== "retracted") });
}
