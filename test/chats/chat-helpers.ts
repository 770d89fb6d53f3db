import type { Chats, Runtime, SendResult } from "@deltawire/agent";
import type { TaskApproval, TaskTree } from "@deltawire/tasks";
import {
  toAnswerTree,
  buildCallRecords,
  computeChainStats,
  mergeWarnings,
  getChosenVersion,
  getVersionText,
} from "@deltawire/tasks/chats";
import type { AnswerNode, AnswerVersion, Chat, ChatSettings } from "@deltawire/tasks/chats";
import { expect } from "vitest";
import type { Store } from "@deltawire/store";
import type { ScriptedModels } from "./scripted-models.ts";

/** The services that tests of chats need. */
export interface ChatFixture {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly chats: Chats;
  readonly models: ScriptedModels;
}

/** Creates a chat and returns its id. */
export async function createTestChat(
  { chats }: ChatFixture,
  settings: ChatSettings = {},
): Promise<string> {
  return (await chats.create({ settings })).chat.chat_id;
}

/** Imports a chat with settings of another gateway, whose models may be unknown here, and returns its id. */
export async function importForeignChat(
  { chats }: ChatFixture,
  settings: ChatSettings,
): Promise<string> {
  const { chat } = await chats.create();
  const { text } = await chats.exportAs(chat.chat_id, "json");
  const file = text.replace('"settings": {}', `"settings": ${JSON.stringify(settings)}`);
  const [imported] = await chats.importFrom(JSON.parse(file));
  expect(imported?.chat.settings).toEqual(settings);
  return imported?.chat.chat_id ?? "";
}

export async function readChat({ store }: ChatFixture, chatId: string): Promise<Chat> {
  const stored = await store.getChat(chatId);
  if (stored === undefined) throw new Error("the chat does not exist");
  return stored.chat;
}

/** Reads the stored chat after every change until the predicate returns a result, and returns that result. */
export async function waitForChat<T>(
  fixture: ChatFixture,
  chatId: string,
  predicate: (chat: Chat) => T | undefined | false,
): Promise<T> {
  let notifyChange = (): void => undefined;
  const unsubscribe = fixture.chats.subscribe(() => notifyChange());
  try {
    for (;;) {
      const next = new Promise<void>((resolve) => (notifyChange = resolve));
      const result = predicate(await readChat(fixture, chatId));
      if (result !== undefined && result !== false) return result;
      await next;
    }
  } finally {
    unsubscribe();
  }
}

export type AnswerRef = Pick<SendResult, "node_id" | "version_id" | "task_id" | "after">;

/** Waits until an answer has ended and returns its version. */
export async function waitForAnswerEnd(
  fixture: ChatFixture,
  sent: AnswerRef,
): Promise<EndedAnswer> {
  const { node_id, version_id } = sent;
  const version = await waitForChat(fixture, sent.after.chat.chat_id, (chat) => {
    const answerVersion = getAnswerNode(chat, node_id).versions.find(
      (candidate) => candidate.version_id === version_id,
    );
    return answerVersion?.status === "running" ? undefined : answerVersion;
  });
  return { ...version, chain: summarizeToolChain(version) };
}

export interface EndedAnswer extends AnswerVersion {
  readonly chain: ReturnType<typeof summarizeToolChain>;
}

/** Returns the tool calls of an answer. */
export function summarizeToolChain(version: AnswerVersion) {
  const tree = toAnswerTree(version);
  return {
    calls: buildCallRecords(tree),
    stats: computeChainStats(tree),
    warnings: mergeWarnings(tree),
  };
}

export async function sendAndWait(
  fixture: ChatFixture,
  chatId: string,
  text: string,
  overrides: Partial<Parameters<Chats["send"]>[1]> = {},
): Promise<EndedAnswer & { node_id: string; message_id: string }> {
  const sent = await fixture.chats.send(chatId, { text, ...overrides });
  const version = await waitForAnswerEnd(fixture, sent);
  const message_id = getAnswerNode(sent.after.chat, sent.node_id).parent ?? "";
  return { ...version, node_id: sent.node_id, message_id };
}

/** Returns the error of an action that must be rejected. Fails if the chat was changed or a model was requested. */
export async function expectRejectedUnchanged(
  fixture: ChatFixture,
  chatId: string,
  action: () => Promise<unknown>,
): Promise<unknown> {
  const before = await fixture.store.getChat(chatId);
  const error = await action().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(await fixture.store.getChat(chatId)).toEqual(before);
  expect(fixture.models.bodies).toEqual([]);
  return error;
}

export function getAnswerNode({ nodes }: Chat, nodeId: string): AnswerNode {
  const node = nodes[nodeId];
  if (node?.kind !== "answer") throw new Error(`${nodeId} is not an answer`);
  return node;
}

/** Returns the texts of the nodes on the current path; a separator is "---". */
export async function readPathTexts(fixture: ChatFixture, chatId: string): Promise<string[]> {
  const chat = await readChat(fixture, chatId);
  const texts: string[] = [];
  for (let id = chat.chosen[""]; id !== undefined; id = chat.chosen[id]) {
    const node = chat.nodes[id];
    if (node !== undefined)
      texts.push(node.kind === "separator" ? "---" : getVersionText(getChosenVersion(node)));
  }
  return texts;
}

/** Waits until the state of a task satisfies the predicate and returns it. */
export async function waitForTask(
  { runtime }: ChatFixture,
  taskId: string,
  predicate: (state: TaskTree) => boolean,
): Promise<TaskTree> {
  let resolveState = (_state: TaskTree): void => undefined;
  const matchingState = new Promise<TaskTree>((resolve) => (resolveState = resolve));
  const unsubscribe = runtime.subscribe(taskId, () => {
    const state = runtime.live(taskId);
    if (state !== undefined && predicate(state)) resolveState(state);
  });
  const now = await runtime.state(taskId);
  if (predicate(now)) resolveState(now);
  return matchingState.finally(unsubscribe);
}

/** Waits until an answer has a pending approval and returns it. */
export async function waitForQuestion(
  fixture: ChatFixture,
  { task_id }: AnswerRef,
): Promise<TaskApproval> {
  const isOpen = ({ status }: TaskApproval): boolean => status === "pending";
  const state = await waitForTask(fixture, task_id, ({ approvals }) => approvals.some(isOpen));
  const approval = state.approvals.find(isOpen);
  if (approval === undefined) throw new Error("no pending approval");
  return approval;
}

type Decision = Parameters<Runtime["decide"]>[1]["decision"];

export async function decideQuestion(
  fixture: ChatFixture,
  answer: AnswerRef,
  decision: Decision,
  reason?: string,
): Promise<void> {
  const { approval_id } = await waitForQuestion(fixture, answer);
  const by = { by: "test", ...(reason === undefined ? {} : { reason }) };
  expect(await fixture.runtime.decide(approval_id, { decision, ...by })).toMatchObject({
    type: "resolved",
  });
}

/** Returns the items of a model request, by default of the last one, as lines such as "user: Hello". */
export function listSentItems(
  fixture: ChatFixture,
  request = fixture.models.requests.length - 1,
): string[] {
  return (fixture.models.requests[request]?.input ?? []).map((item) => {
    if (item.type === "function_call") return `${item.name} ${item.arguments}`;
    if (item.type === "function_call_output") return `=> ${JSON.stringify(item.output)}`;
    if (item.type === "reasoning") return `reasoning ${item.encrypted_content ?? ""}`;
    const parts = item.content ?? [];
    return `${item.role}: ${parts.map(({ text, type }) => text ?? `<${type}>`).join(" | ")}`;
  });
}

/** Waits until this text of a running answer is stored. */
export async function waitForAnswerText(
  fixture: ChatFixture,
  { task_id }: AnswerRef,
  text: string,
): Promise<void> {
  await waitForTask(fixture, task_id, ({ tasks }) =>
    JSON.stringify(tasks[task_id]?.output ?? []).includes(text),
  );
}
