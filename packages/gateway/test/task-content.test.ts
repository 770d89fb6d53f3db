import { describe, expect, test } from "vitest";
import type { Block, OutputItem, TaskView } from "@deltawire/tasks";
import { aGateway } from "./scene.ts";

const demo = "[server]\nport = 0\ndemo = true\n[store]\npath = ':memory:'";
const input = "ask forecaster about the weather in Paris";

type Item = OutputItem | Block;

/** The `content` of every message and result, those of sub-agents included, in the order of the view. */
function contentsOf(items: readonly Item[]): unknown[] {
  return items.flatMap((item) => {
    if (item.type === "message") return [["message", item.content]];
    if (item.type !== "tool_result") return [];
    return [["tool_result", item.content], ...contentsOf(item.block_list)];
  });
}

async function demoTask(include?: readonly string[]) {
  const gateway = await aGateway(demo);
  const started = await fetch(`${gateway.url}/api/tasks`, {
    method: "POST",
    headers: { accept: "text/event-stream" },
    body: JSON.stringify({ agent: "demo-agent", input, ...(include && { include }) }),
  });
  // The stream ends when the task has.
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
    if (last?.type !== "message") throw new Error("the last item is no message");
    const [block] = last.block_list;
    expect(block?.type).toBe("text");
    expect(last.content).toEqual([{ type: "text", text: (block as { text: string }).text }]);
    expect(contentsOf(output).every((one) => Array.isArray((one as unknown[])[1]))).toBe(true);
    expect(events).toContain(JSON.stringify(last.content));
    expect(events).toContain("<referencable-item>");
  });

  test("of a task that was created without it is answered to whoever asks for it, and is the same", async () => {
    const asked = await demoTask(["content"]);
    const silent = await demoTask();
    expect(silent.events).not.toContain("<referencable-item>");
    expect(silent.events).not.toContain('"content"');
    const plain = await silent.view();
    expect(JSON.stringify(plain)).not.toContain('"content"');
    const full = await silent.view("?include=content");
    expect(contentsOf(full.output)).toEqual(contentsOf((await asked.view()).output));
    expect(contentsOf(full.output).length).toBeGreaterThan(3);
    // A sub-agent's own task too.
    const call = plain.output.find((item) => item.type === "tool_call");
    const child = await fetch(`${silent.gateway.url}/api/tasks/${call?.call_id}?include=content`);
    const { output } = (await child.json()) as TaskView;
    expect(contentsOf(output).every((one) => Array.isArray((one as unknown[])[1]))).toBe(true);
  });

  test("can be had together with what was asked, and an unknown word is refused", async () => {
    const { get } = await demoTask();
    for (const query of ["?include=task,content", "?include=task&include=content"]) {
      const both = await (await get(query)).json();
      expect(both).toMatchObject({ task: { agent: "demo-agent" } });
      expect(JSON.stringify(both)).toContain("<referencable-item>");
    }
    const refused = await get("?include=contents");
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { param: "include", message: expect.stringContaining('"content"') },
    });
  });
});
