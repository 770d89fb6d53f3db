import type { Chats, Runtime, Sent } from "@deltawire/agent";
import type { TaskApproval, TaskTree } from "@deltawire/tasks";
import {
  answerTree,
  callRecords,
  chainStats,
  chainWarnings,
  chosenVersion,
  wordsOf,
} from "@deltawire/tasks/chats";
import type { AnswerNode, AnswerVersion, Chat, ChatSettings } from "@deltawire/tasks/chats";
import { expect } from "vitest";
import type { Store } from "@deltawire/store";
import type { ScriptedModel } from "./scripted-replies.ts";

/** Chats with what is behind them, as tests use them. */
export interface ChatFixture {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly chats: Chats;
  readonly models: ScriptedModel;
}

/** A new chat's id. */
export async function newChat(
  { chats }: ChatFixture,
  settings: ChatSettings = {},
): Promise<string> {
  return (await chats.create({ settings })).chat.chat_id;
}

/** The id of a chat that comes from a gateway where other names are known. */
export async function foreignChat({ chats }: ChatFixture, settings: ChatSettings): Promise<string> {
  const { chat } = await chats.create();
  const { text } = await chats.exportAs(chat.chat_id, "json");
  const file = text.replace('"settings": {}', `"settings": ${JSON.stringify(settings)}`);
  const [imported] = await chats.importFrom(JSON.parse(file));
  expect(imported?.chat.settings).toEqual(settings);
  return imported?.chat.chat_id ?? "";
}

export async function chatOf({ store }: ChatFixture, chatId: string): Promise<Chat> {
  const kept = await store.chat(chatId);
  if (kept === undefined) throw new Error("the chat is gone");
  return kept.chat;
}

/** What is kept as soon as it is so. */
export async function until<T>(
  world: ChatFixture,
  chatId: string,
  is: (chat: Chat) => T | undefined | false,
): Promise<T> {
  let changed = (): void => undefined;
  const end = world.chats.subscribe(() => changed());
  try {
    for (;;) {
      const next = new Promise<void>((resolve) => (changed = resolve));
      const found = is(await chatOf(world, chatId));
      if (found !== undefined && found !== false) return found;
      await next;
    }
  } finally {
    end();
  }
}

export type Answer = Pick<Sent, "node_id" | "version_id" | "task_id" | "after">;

/** The version of an answer that was sent for, once it has come to its end. */
export async function ended(world: ChatFixture, sent: Answer): Promise<EndedAnswer> {
  const { node_id, version_id } = sent;
  const version = await until(world, sent.after.chat.chat_id, (chat) => {
    const found = answerIn(chat, node_id).versions.find((one) => one.version_id === version_id);
    return found?.status === "running" ? undefined : found;
  });
  return { ...version, chain: chainOf(version) };
}

export interface EndedAnswer extends AnswerVersion {
  readonly chain: ReturnType<typeof chainOf>;
}

/** What the tools of an answer did. */
export function chainOf(version: AnswerVersion) {
  const tree = answerTree(version);
  return { calls: callRecords(tree), stats: chainStats(tree), warnings: chainWarnings(tree) };
}

export async function sendAndEnd(
  world: ChatFixture,
  chatId: string,
  text: string,
  more: Partial<Parameters<Chats["send"]>[1]> = {},
): Promise<EndedAnswer & { node_id: string; message_id: string }> {
  const sent = await world.chats.send(chatId, { text, ...more });
  const version = await ended(world, sent);
  const message_id = answerIn(sent.after.chat, sent.node_id).parent ?? "";
  return { ...version, node_id: sent.node_id, message_id };
}

/** What it is refused with: nothing was written, and no model was asked. */
export async function refusedAndUnchanged(
  world: ChatFixture,
  chatId: string,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const before = await world.store.chat(chatId);
  const error = await work().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(await world.store.chat(chatId)).toEqual(before);
  expect(world.models.bodies).toEqual([]);
  return error;
}

export function answerIn({ nodes }: Chat, nodeId: string): AnswerNode {
  const node = nodes[nodeId];
  if (node?.kind !== "answer") throw new Error(`${nodeId} is no answer`);
  return node;
}

/** What people read on the current path. */
export async function pathWords(world: ChatFixture, chatId: string): Promise<string[]> {
  const chat = await chatOf(world, chatId);
  const words: string[] = [];
  for (let id = chat.chosen[""]; id !== undefined; id = chat.chosen[id]) {
    const node = chat.nodes[id];
    if (node !== undefined)
      words.push(node.kind === "separator" ? "---" : wordsOf(chosenVersion(node)));
  }
  return words;
}

/** The state of a task as soon as it is so. */
export async function taskUntil(
  { runtime }: ChatFixture,
  taskId: string,
  is: (state: TaskTree) => boolean,
): Promise<TaskTree> {
  let told = (_state: TaskTree): void => undefined;
  const found = new Promise<TaskTree>((resolve) => (told = resolve));
  const end = runtime.subscribe(taskId, (_entries, state) => is(state) && told(state));
  const now = await runtime.state(taskId);
  if (is(now)) told(now);
  return found.finally(end);
}

/** What a person is asked. */
export async function question(world: ChatFixture, { task_id }: Answer): Promise<TaskApproval> {
  const isOpen = ({ status }: TaskApproval): boolean => status === "pending";
  const state = await taskUntil(world, task_id, ({ approvals }) => approvals.some(isOpen));
  const found = state.approvals.find(isOpen);
  if (found === undefined) throw new Error("nothing is asked");
  return found;
}

type Decision = Parameters<Runtime["decide"]>[1]["decision"];

export async function decide(
  world: ChatFixture,
  answer: Answer,
  decision: Decision,
  reason?: string,
): Promise<void> {
  const { approval_id } = await question(world, answer);
  const by = { by: "test", ...(reason === undefined ? {} : { reason }) };
  expect(await world.runtime.decide(approval_id, { decision, ...by })).toMatchObject({
    is: "resolved",
  });
}

/** Everything that the last request told the model, as roles and words: "user: Hello". */
export function told(world: ChatFixture, request = world.models.asked.length - 1): string[] {
  return (world.models.asked[request]?.input ?? []).map((item) => {
    if (item.type === "function_call") return `${item.name} ${item.arguments}`;
    if (item.type === "function_call_output") return `=> ${JSON.stringify(item.output)}`;
    if (item.type === "reasoning") return `reasoning ${item.encrypted_content ?? ""}`;
    const parts = item.content ?? [];
    return `${item.role}: ${parts.map(({ text, type }) => text ?? `<${type}>`).join(" | ")}`;
  });
}

/** Until these words of an answer that runs are kept. */
export async function said(world: ChatFixture, { task_id }: Answer, words: string): Promise<void> {
  await taskUntil(world, task_id, ({ tasks }) =>
    JSON.stringify(tasks[task_id]?.output ?? []).includes(words),
  );
}
