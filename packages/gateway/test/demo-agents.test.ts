import type { OutputItem, TaskView, ToolResultItem } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { chatScene } from "./chat-scene.ts";
import { until } from "./scene.ts";
import { Stream } from "./task-stage.ts";

async function started(url: string, input: string): Promise<string> {
  const body = JSON.stringify({ agent: "demo-agent", input });
  const reply = await fetch(`${url}/api/tasks`, { method: "POST", body });
  return ((await reply.json()) as TaskView).task_id;
}

async function ended(url: string, taskId: string): Promise<TaskView> {
  let view: TaskView | undefined;
  await until(
    "the task to end",
    async () => {
      view = (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
      return view.status === "completed";
    },
    5000,
  );
  if (view === undefined) throw new Error("it has not ended");
  return view;
}

const resultIn = ({ output }: { output: readonly OutputItem[] }): ToolResultItem => {
  const found = output.find((item) => item.type === "tool_result");
  if (found === undefined) throw new Error("nothing was called");
  return found;
};

const lastWords = ({ output }: TaskView): string => {
  const last = output.at(-1);
  const block = last?.type === "message" ? last.block_list[0] : undefined;
  return block?.type === "text" ? block.text : "";
};

test("a picture is drawn, kept as a blob and cited", async () => {
  const { url } = await chatScene();
  const view = await ended(url, await started(url, 'draw_picture of "a house by the sea"'));
  const [block] = resultIn(view).block_list;
  if (block?.type !== "image") throw new Error("no picture came");
  const picture = await fetch(url + block.image_url.url);
  expect(picture.headers.get("content-type")).toBe("image/png");
  expect(view.references).toMatchObject([{ title: "A picture of a house by the sea" }]);
  expect(lastWords(view)).toMatch(/\[\^1\]$/);
});

test("a tool that fails does so in words, and the agent goes on", async () => {
  const { url } = await chatScene();
  const view = await ended(url, await started(url, 'fail_on_purpose because "the moon is full"'));
  expect(resultIn(view)).toMatchObject({ status: "failed", outcome: "failed" });
  expect(JSON.stringify(resultIn(view).block_list)).toContain("the moon is full");
  expect(view.status).toBe("completed");
});

test("a slow tool tells how far it is, and stops with its task", async () => {
  const { url, client } = await chatScene();
  const taskId = await started(url, "slow_count to 20");
  const stream = new Stream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await stream.until("progress", ({ types }) => types.includes("task.tool_execution.progress"));
  const told = stream.frames.find(({ event }) => event.type === "task.tool_execution.progress");
  expect(told?.event).toMatchObject({ message: "1 of 20", fraction: 0.05 });
  const began = Date.now();
  expect((await client.cancelTask(taskId)).status).toBe("canceled");
  await stream.untilEnd();
  // It would count for ten seconds.
  expect(Date.now() - began).toBeLessThan(4000);
});

test("a tool streams its report: words, a picture as it is painted, a file", async () => {
  const { url } = await chatScene();
  const taskId = await started(url, 'write_report about "the sea"');
  const stream = new Stream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await stream.until("text", ({ types }) => types.includes("task.text.delta"));
  await stream.until("a partial picture", ({ types }) => types.includes("task.image.delta"));
  const live = (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
  expect(resultIn(live)).toMatchObject({
    status: "in_progress",
    block_list: [{ text: expect.stringContaining("A report about the sea") }, { type: "image" }],
  });
  await stream.untilEnd();
  const view = await ended(url, taskId);
  expect(resultIn(view).block_list.map(({ type }) => type)).toEqual(["text", "image", "file"]);
  expect(view.references).toMatchObject([
    { title: "A report about the sea", block_indexes: [0, 1] },
  ]);
  expect(lastWords(view)).toMatch(/Reported on the sea\. \[\^1\]$/);
});

test("sub-agents nest two deep, and the deepest asks a person", async () => {
  const { url, client } = await chatScene();
  const words = 'ask forecaster to ask messenger to send_message to Bob: "It is sunny"';
  const taskId = await started(url, words);
  await until("a question", async () => (await client.approvals()).data.length === 1, 30_000);
  const [pending] = (await client.approvals()).data;
  expect(pending).toMatchObject({
    root_task_id: taskId,
    agent: "messenger",
    depth: 2,
    call: { name: "send_message", arguments: '{"to":"Bob","text":"It is sunny"}' },
  });
  await client.decide(pending?.approval.approval_id ?? "", { decision: "approve" });
  const view = await ended(url, taskId);
  expect(JSON.stringify(view.output)).toContain("The message to Bob would have been sent");
});
