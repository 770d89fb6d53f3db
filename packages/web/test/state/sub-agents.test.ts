import {
  EventClient,
  type StreamEvent,
  type TaskStreamHandlers,
  type TaskEvent,
} from "@deltawire/tasks";
import { createChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FollowedTasks } from "../../src/state/followed-tasks.ts";
import type { OpenChat } from "../../src/state/app-store.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { createNodeEnvironment, openTestApp, waitForCell } from "../node-environment.ts";
import { waitForAnswer, getLastAnswer, openNewChat, sendMessage } from "./chat-helpers.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

function getTaskId(chat: OpenChat): string {
  return getLastAnswer(chat.state.get())?.task_id ?? "";
}

test("sub-agents are assigned to their answers on one stream, even after it was interrupted", async () => {
  const environment = createNodeEnvironment(gateway.url);
  const page = openTestApp(gateway.url, environment);
  const words = 'ask forecaster to ask messenger to send_message to Bob: "It is sunny"';
  const chats = [
    await openNewChat(page, { agent: "demo-agent" }),
    await openNewChat(page, { agent: "demo-agent" }),
  ];
  for (const chat of chats) await sendMessage(page, chat, words);
  const waiting = await waitForCell(page.approvals.pending, (pending) => pending.length === 2);
  expect(waiting.map(({ depth, agent }) => [depth, agent])).toEqual([
    [2, "messenger"],
    [2, "messenger"],
  ]);
  for (const chat of chats) {
    const tree = page.taskTree(getTaskId(chat)).get();
    expect(Object.values(tree?.tasks ?? {}).map(({ info }) => info.agent)).toEqual([
      "demo-agent",
      "forecaster",
      "messenger",
    ]);
  }
  // The stream resumes where it was, without repeating which tasks belong to which root.
  environment.simulate({ online: false });
  environment.simulate({ online: true });
  await waitForCell(page.connection, ({ status }) => status === "live");
  const ids = chats.map(getTaskId);
  const ended = ids.map((taskId) =>
    waitForCell(page.taskTree(taskId), (tree) => tree?.tasks[taskId]?.status === "completed"),
  );
  for (const { approval } of waiting)
    await page.approvals.decide(approval.approval_id, { decision: "approve" });
  const trees = await Promise.all(ended);
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  for (const [index, taskId] of ids.entries()) {
    const view = await client.task(taskId);
    expect(view.approvals).toEqual(trees[index]?.approvals);
    expect(Object.values(trees[index]?.tasks ?? {}).map(({ status }) => status)).toEqual([
      "completed",
      "completed",
      "completed",
    ]);
  }
  for (const chat of chats) await waitForAnswer(chat);
});

test("a task that is followed before it starts is requested again until it has started", async () => {
  const opened: TaskStreamHandlers[] = [];
  const emit = (event: StreamEvent | TaskEvent) => opened.at(-1)?.onEvent(event);
  const environment = createNodeEnvironment("", { faster: 100 });
  const client = new EventClient({
    schedule: environment.schedule,
    transport(_request, handlers) {
      opened.push(handlers);
      return { close: () => undefined };
    },
  });
  const tasks = new FollowedTasks({ client, environment, onChange: () => undefined });
  tasks.follow("task_1");
  client.open();
  for (let times = 1; times <= 3; times += 1) {
    expect(opened).toHaveLength(times);
    emit({ type: "task.stream.rejected", task_id: "task_1", code: "not_found", message: "none" });
    await expect.poll(() => opened.length, { timeout: 5000 }).toBe(times + 1);
  }
  const at = { task_id: "task_1", as_of: 0, references: [], approvals: [], state_hash: "" };
  emit({ type: "task.snapshot", ...at, tasks: {} });
  await waitForCell(tasks.tree("task_1"), (tree) => tree?.head === 0);
  tasks.close();
  client.close();
});
