import {
  EventClient,
  type StreamEvent,
  type StreamHandlers,
  type TaskEvent,
} from "@deltawire/tasks";
import { createChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FollowedTasks } from "../../src/state/followed-tasks.ts";
import type { OpenChat } from "../../src/state/page.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, openTab, until } from "../node-world.ts";
import { answered, answerIn, newChat, say } from "./chat-tab.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

function taskOf(chat: OpenChat): string {
  return answerIn(chat.state.get())?.task_id ?? "";
}

test("sub-agents of several answers are told apart on the one stream, also after it was lost", async () => {
  const world = nodeWorld(gateway.url);
  const page = openTab(gateway.url, world);
  const words = 'ask forecaster to ask messenger to send_message to Bob: "It is sunny"';
  const chats = [
    await newChat(page, { agent: "demo-agent" }),
    await newChat(page, { agent: "demo-agent" }),
  ];
  for (const chat of chats) await say(page, chat, words);
  const waiting = await until(page.approvals.pending, (pending) => pending.length === 2);
  expect(waiting.map(({ depth, agent }) => [depth, agent])).toEqual([
    [2, "messenger"],
    [2, "messenger"],
  ]);
  for (const chat of chats) {
    const tree = page.taskTree(taskOf(chat)).get();
    expect(Object.values(tree?.tasks ?? {}).map(({ info }) => info.agent)).toEqual([
      "demo-agent",
      "forecaster",
      "messenger",
    ]);
  }
  // What comes after this goes on where the stream was: nobody says again whose tasks they are.
  world.turn({ online: false });
  world.turn({ online: true });
  await until(page.connection, ({ is }) => is === "live");
  const ids = chats.map(taskOf);
  const ended = ids.map((taskId) =>
    until(page.taskTree(taskId), (tree) => tree?.tasks[taskId]?.status === "completed"),
  );
  for (const { approval } of waiting)
    await page.approvals.decide(approval.approval_id, { decision: "approve" });
  const trees = await Promise.all(ended);
  const client = createChatClient({ fetch, base: gateway.url });
  for (const [index, taskId] of ids.entries()) {
    const view = await client.task(taskId);
    expect(view.approvals).toEqual(trees[index]?.approvals);
    expect(Object.values(trees[index]?.tasks ?? {}).map(({ status }) => status)).toEqual([
      "completed",
      "completed",
      "completed",
    ]);
  }
  for (const chat of chats) await answered(chat);
});

test("a task that is named before it begins is asked for again until it has", async () => {
  const opened: StreamHandlers[] = [];
  const word = (event: StreamEvent | TaskEvent) => opened.at(-1)?.event(event);
  const world = nodeWorld("", { faster: 100 });
  const client = new EventClient({
    schedule: world.schedule,
    transport(_request, handlers) {
      opened.push(handlers);
      return { close: () => undefined };
    },
  });
  const tasks = new FollowedTasks({ client, world, onChange: () => undefined });
  tasks.follow("task_1");
  client.open();
  for (let times = 1; times <= 3; times += 1) {
    expect(opened).toHaveLength(times);
    word({ type: "task.stream.refused", task_id: "task_1", code: "not_found", message: "none" });
    await expect.poll(() => opened.length, { timeout: 5000 }).toBe(times + 1);
  }
  const at = { task_id: "task_1", as_of: 0, references: [], approvals: [], state_hash: "" };
  word({ type: "task.snapshot", ...at, tasks: {} });
  await until(tasks.tree("task_1"), (tree) => tree?.head === 0);
  tasks.close();
  client.close();
});
