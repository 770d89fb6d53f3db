import type { OutputItem, TaskView, ToolResultItem } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { chatGatewayFixture } from "./chat-fixture.ts";
import { waitUntil } from "./gateway-fixture.ts";
import { TestStream } from "./task-server-fixture.ts";

async function startTask(url: string, input: string): Promise<string> {
  const body = JSON.stringify({ agent: "demo-agent", input });
  const reply = await fetch(`${url}/api/tasks`, { method: "POST", body });
  return ((await reply.json()) as TaskView).task_id;
}

async function waitForEnd(url: string, taskId: string): Promise<TaskView> {
  let view: TaskView | undefined;
  await waitUntil(
    "the task to end",
    async () => {
      view = (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
      return view.status === "completed";
    },
    5000,
  );
  if (view === undefined) throw new Error("the task has not ended");
  return view;
}

const findResult = ({ output }: { output: readonly OutputItem[] }): ToolResultItem => {
  const found = output.find((item) => item.type === "tool_result");
  if (found === undefined) throw new Error("no tool was called");
  return found;
};

const getLastText = ({ output }: TaskView): string => {
  const last = output.at(-1);
  const block = last?.type === "message" ? last.block_list[0] : undefined;
  return block?.type === "text" ? block.text : "";
};

test("the demo agent draws an image, stores it as a blob and cites it", async () => {
  const { url } = await chatGatewayFixture();
  const view = await waitForEnd(url, await startTask(url, 'draw_picture of "a house by the sea"'));
  const [block] = findResult(view).block_list;
  if (block?.type !== "image") throw new Error("the result has no image");
  const image = await fetch(url + block.image_url.url);
  expect(image.headers.get("content-type")).toBe("image/png");
  expect(view.references).toMatchObject([{ title: "An image of a house by the sea" }]);
  expect(getLastText(view)).toMatch(/\[\^1\]$/);
});

test("the demo agent continues after a tool error", async () => {
  const { url } = await chatGatewayFixture();
  const view = await waitForEnd(
    url,
    await startTask(url, 'fail_on_purpose because "the moon is full"'),
  );
  expect(findResult(view)).toMatchObject({ status: "failed", outcome: "failed" });
  expect(JSON.stringify(findResult(view).block_list)).toContain("the moon is full");
  expect(view.status).toBe("completed");
});

test("the demo agent shows the progress of a slow tool, which stops with its task", async () => {
  const { url, client } = await chatGatewayFixture();
  const taskId = await startTask(url, "slow_count to 20");
  const stream = new TestStream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await stream.waitUntil("progress", ({ types }) => types.includes("task.tool_execution.progress"));
  const progressFrame = stream.frames.find(
    ({ event }) => event.type === "task.tool_execution.progress",
  );
  expect(progressFrame?.event).toMatchObject({ message: "1 of 20", fraction: 0.05 });
  const startedAt = Date.now();
  expect((await client.cancelTask(taskId)).status).toBe("canceled");
  await stream.waitUntilEnd();
  // Without the cancellation the tool would count for ten seconds.
  expect(Date.now() - startedAt).toBeLessThan(4000);
});

test("the demo agent streams a report of a tool: text, an image while it is drawn, and a file", async () => {
  const { url } = await chatGatewayFixture();
  const taskId = await startTask(url, 'write_report about "the sea"');
  const stream = new TestStream(`${url}/api/tasks/${taskId}/events?after=-1`);
  await stream.waitUntil("text", ({ types }) => types.includes("task.text.delta"));
  await stream.waitUntil("a partial image", ({ types }) => types.includes("task.image.delta"));
  const live = (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
  expect(findResult(live)).toMatchObject({
    status: "in_progress",
    block_list: [{ text: expect.stringContaining("A report about the sea") }, { type: "image" }],
  });
  await stream.waitUntilEnd();
  const view = await waitForEnd(url, taskId);
  expect(findResult(view).block_list.map(({ type }) => type)).toEqual(["text", "image", "file"]);
  expect(view.references).toMatchObject([
    { title: "A report about the sea", block_indexes: [0, 1] },
  ]);
  expect(getLastText(view)).toMatch(/Reported on the sea\. \[\^1\]$/);
});

test("the demo agent calls sub-agents two levels deep, and the deepest one requests an approval", async () => {
  const { url, client } = await chatGatewayFixture();
  const prompt = 'ask forecaster to ask messenger to send_message to Bob: "It is sunny"';
  const taskId = await startTask(url, prompt);
  await waitUntil("a question", async () => (await client.approvals()).data.length === 1, 30_000);
  const [pending] = (await client.approvals()).data;
  expect(pending).toMatchObject({
    root_task_id: taskId,
    agent: "messenger",
    depth: 2,
    call: { name: "send_message", arguments: '{"to":"Bob","text":"It is sunny"}' },
  });
  await client.decide(pending?.approval.approval_id ?? "", { decision: "approve" });
  const view = await waitForEnd(url, taskId);
  expect(JSON.stringify(view.output)).toContain("The message to Bob would have been sent");
});
