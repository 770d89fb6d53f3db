import { describe, expect, test } from "vitest";
import type { Block, OutputItem, TaskView } from "@deltawire/tasks";
import { testGateway } from "./gateway-fixture.ts";

const demo = "[server]\nport = 0\ndemo = true\n[store]\npath = ':memory:'";
const input = "ask forecaster about the weather in Paris";

type Item = OutputItem | Block;

/** Returns the `content` of every message and result, including those of sub-agents, in the order of the view. */
function listContents(items: readonly Item[]): unknown[] {
  return items.flatMap((item) => {
    if (item.type === "message") return [["message", item.content]];
    if (item.type !== "tool_result") return [];
    return [["tool_result", item.content], ...listContents(item.block_list)];
  });
}

async function demoTask(include?: readonly string[]) {
  const gateway = await testGateway(demo);
  const started = await fetch(`${gateway.url}/api/tasks`, {
    method: "POST",
    headers: { accept: "text/event-stream" },
    body: JSON.stringify({ agent: "demo-agent", input, ...(include && { include }) }),
  });
  // The stream ends with the task.
  const events = await started.text();
  const address = gateway.url + String(started.headers.get("location"));
  return {
    events,
    view: async (query = "", path = "") => {
      const response = await fetch(`${address}${path}${query}`);
      return (await response.json()) as TaskView;
    },
    get: (query: string) => fetch(address + query),
    gateway,
  };
}

describe("content", () => {
  test("is on messages and results of a task that was created with it, in the stream and in the view", async () => {
    const { view, events } = await demoTask(["content"]);
    const { output } = await view();
    const last = output.at(-1);
    if (last?.type !== "message") throw new Error("the last item is not a message");
    const [block] = last.block_list;
    expect(block?.type).toBe("text");
    expect(last.content).toEqual([{ type: "text", text: (block as { text: string }).text }]);
    expect(listContents(output).every((one) => Array.isArray((one as unknown[])[1]))).toBe(true);
    expect(events).toContain(JSON.stringify(last.content));
    expect(events).toContain("<referencable-item>");
  });

  test("of a task that was created without it is returned on request, and is the same", async () => {
    const taskWithContent = await demoTask(["content"]);
    const silent = await demoTask();
    expect(silent.events).not.toContain("<referencable-item>");
    expect(silent.events).not.toContain('"content"');
    const plain = await silent.view();
    expect(JSON.stringify(plain)).not.toContain('"content"');
    const full = await silent.view("?include=content");
    expect(listContents(full.output)).toEqual(listContents((await taskWithContent.view()).output));
    expect(listContents(full.output).length).toBeGreaterThan(3);
    // Also for a sub-agent's own task.
    const call = plain.output.find((item) => item.type === "tool_call");
    const child = await fetch(`${silent.gateway.url}/api/tasks/${call?.call_id}?include=content`);
    const { output } = (await child.json()) as TaskView;
    expect(listContents(output).every((one) => Array.isArray((one as unknown[])[1]))).toBe(true);
  });

  test("can be requested together with the task, and an unknown value is rejected", async () => {
    const { get } = await demoTask();
    for (const query of ["?include=task,content", "?include=task&include=content"]) {
      const both = await (await get(query)).json();
      expect(both).toMatchObject({ task: { agent: "demo-agent" } });
      expect(JSON.stringify(both)).toContain("<referencable-item>");
    }
    const rejected = await get("?include=contents");
    expect(rejected.status).toBe(400);
    expect(await rejected.json()).toMatchObject({
      error: { param: "include", message: expect.stringContaining('"content"') },
    });
  });
});
