import { setTimeout as sleep } from "node:timers/promises";
import {
  emptyTree,
  reduce,
  buildTaskView,
  validateLog,
  type TaskEvent,
  type TaskView,
  type ToolResultItem,
} from "@deltawire/tasks";
import { createChatClient, type AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test, vi } from "vitest";
import { listAnswers, chatGatewayFixture, waitUntilSettled } from "./chat-fixture.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { TestStream } from "./task-server-fixture.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

const messageText = 'write_report about "the sea"';
const settings = { agent: "demo-agent" };

function getToolResult({ output }: Pick<AnswerVersion, "output">): ToolResultItem {
  const results = output.filter((item) => item.type === "tool_result");
  expect(results).toHaveLength(1);
  return results[0] as ToolResultItem;
}

async function fetchEvents(url: string, taskId: string): Promise<TaskEvent[]> {
  const stream = new TestStream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await stream.waitUntilEnd();
  return stream.frames
    .map(({ event }) => event as TaskEvent)
    .filter((event) => typeof event.sequence_number === "number");
}

test("a task whose gateway is killed while a tool streams continues, and its view, its events and its chat have the same result", async () => {
  const cwd = temporaryFolder("[server]\nport = 0\ndemo = true\n[chats]\ntitles = false\n");
  const first = startDeltawire([], { cwd });
  const client = createChatClient({ baseUrl: await first.url, fetch });
  const { chat } = await client.create({ settings });
  const { task_id: taskId } = await client.send(chat.chat_id, { text: messageText });
  const live = new TestStream(`${await first.url}/api/tasks/${taskId}/events?after=-1`);
  await live.waitUntil("text", ({ types }) => types.includes("task.text.delta"));
  await live.waitUntil("a partial image", ({ types }) => types.includes("task.image.delta"));
  // A client that opens the chat now receives what has been streamed.
  const opened = await client.get(chat.chat_id);
  const partialResult = getToolResult(listAnswers(opened.chat)[0] as AnswerVersion);
  expect(partialResult.status).toBe("in_progress");
  expect(partialResult.block_list).toMatchObject([{ type: "text" }, { type: "image" }]);
  first.child.kill("SIGKILL");
  await first.ended;
  const second = startDeltawire([], { cwd });
  const url = await second.url;
  const clientAfterRestart = createChatClient({ baseUrl: url, fetch });
  const view = async (): Promise<TaskView> =>
    (await fetch(`${url}/api/tasks/${taskId}`)).json() as Promise<TaskView>;
  while ((await view()).status !== "completed") await sleep(50);
  const stored = await view();
  expect(getToolResult(stored).block_list.map(({ type }) => type)).toEqual([
    "text",
    "image",
    "file",
  ]);
  const events = await fetchEvents(url, taskId);
  expect(validateLog(events, { complete: true })).toBeUndefined();
  const state = reduce(emptyTree, events);
  expect(buildTaskView(state)).toEqual(stored);
  const { chat: settled } = await waitUntilSettled(clientAfterRestart, chat.chat_id);
  // The task state still has the result that the kill interrupted; the view omits it.
  expect(listAnswers(settled)[0]?.output).toEqual(state.tasks[taskId]?.output);
});

test("a chat whose tool was canceled before its image arrived can be exported and imported", async () => {
  const { client, url } = await chatGatewayFixture();
  const { chat } = await client.create({ settings });
  const { task_id: taskId } = await client.send(chat.chat_id, { text: messageText });
  const live = new TestStream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await live.waitUntil("text", ({ types }) => types.includes("task.text.delta"));
  await live.waitUntil("an image is announced", ({ types }) => types.includes("task.image.added"));
  await client.cancelTask(taskId);
  const { chat: stopped } = await waitUntilSettled(client, chat.chat_id);
  expect(getToolResult(listAnswers(stopped)[0] as AnswerVersion)).toMatchObject({
    outcome: "canceled",
  });
  for (const format of ["markdown", "html", "openai"] as const) {
    const { text } = await client.exportAs(chat.chat_id, format);
    expect(text).toContain("A report about the sea");
  }
  const file = await client.exportAs(chat.chat_id, "json");
  const imported = await client.importFile(JSON.parse(file.text));
  expect(JSON.stringify(imported)).toContain("chat_");
});
