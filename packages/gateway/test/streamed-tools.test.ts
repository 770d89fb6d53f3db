import { setTimeout as sleep } from "node:timers/promises";
import {
  emptyTree,
  reduce,
  taskView,
  validateLog,
  type TaskEvent,
  type TaskView,
  type ToolResultItem,
} from "@deltawire/tasks";
import { createChatClient, type AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test, vi } from "vitest";
import { answersOf, chatScene, whenSettled } from "./chat-scene.ts";
import { deltawire, temporaryFolder } from "./deltawire-process.ts";
import { Stream } from "./task-stage.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

const words = 'write_report about "the sea"';
const settings = { agent: "demo-agent" };

function resultIn({ output }: Pick<AnswerVersion, "output">): ToolResultItem {
  const results = output.filter((item) => item.type === "tool_result");
  expect(results).toHaveLength(1);
  return results[0] as ToolResultItem;
}

async function eventsOf(url: string, taskId: string): Promise<TaskEvent[]> {
  const stream = new Stream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await stream.untilEnd();
  return stream.frames
    .map(({ event }) => event as TaskEvent)
    .filter((event) => typeof event.sequence_number === "number");
}

test("a gateway that is killed while a tool streams goes on: live, stored and reduced are the same", async () => {
  const cwd = temporaryFolder("[server]\nport = 0\ndemo = true\n[chats]\ntitles = false\n");
  const first = deltawire([], { cwd });
  const client = createChatClient({ base: await first.url, fetch });
  const { chat } = await client.create({ settings });
  const { task_id: taskId } = await client.send(chat.chat_id, { text: words });
  const live = new Stream(`${await first.url}/api/tasks/${taskId}/events?after=-1`);
  await live.until("text", ({ types }) => types.includes("task.text.delta"));
  await live.until("a partial image", ({ types }) => types.includes("task.image.delta"));
  // Whoever opens the chat now sees what has been streamed.
  const opened = await client.open(chat.chat_id);
  const shown = resultIn(answersOf(opened.chat)[0] as AnswerVersion);
  expect(shown.status).toBe("in_progress");
  expect(shown.block_list).toMatchObject([{ type: "text" }, { type: "image" }]);
  first.child.kill("SIGKILL");
  await first.ended;
  const second = deltawire([], { cwd });
  const url = await second.url;
  const again = createChatClient({ base: url, fetch });
  const view = async (): Promise<TaskView> =>
    (await fetch(`${url}/api/tasks/${taskId}`)).json() as Promise<TaskView>;
  while ((await view()).status !== "completed") await sleep(50);
  const stored = await view();
  expect(resultIn(stored).block_list.map(({ type }) => type)).toEqual(["text", "image", "file"]);
  const events = await eventsOf(url, taskId);
  expect(validateLog(events, { complete: true })).toBeUndefined();
  const state = reduce(emptyTree, events);
  expect(taskView(state)).toEqual(stored);
  const { chat: settled } = await whenSettled(again, chat.chat_id);
  // The state of the task, with the result that the kill cut off; its view leaves that out.
  expect(answersOf(settled)[0]?.output).toEqual(state.tasks[taskId]?.output);
});

test("a chat whose tool was stopped before its image came can be exported and imported", async () => {
  const { client, url } = await chatScene();
  const { chat } = await client.create({ settings });
  const { task_id: taskId } = await client.send(chat.chat_id, { text: words });
  const live = new Stream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await live.until("text", ({ types }) => types.includes("task.text.delta"));
  await live.until("an image is announced", ({ types }) => types.includes("task.image.added"));
  await client.cancelTask(taskId);
  const { chat: stopped } = await whenSettled(client, chat.chat_id);
  expect(resultIn(answersOf(stopped)[0] as AnswerVersion)).toMatchObject({ outcome: "canceled" });
  for (const format of ["markdown", "html", "openai"] as const) {
    const { text } = await client.exportAs(chat.chat_id, format);
    expect(text).toContain("A report about the sea");
  }
  const file = await client.exportAs(chat.chat_id, "json");
  const imported = await client.importFrom(JSON.parse(file.text));
  expect(JSON.stringify(imported)).toContain("chat_");
});
