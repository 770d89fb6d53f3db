import { defineAgent, defineTool, type Agent, type ToolDefinition } from "@deltawire/agent";
import type { ToolEffect } from "@deltawire/tasks";

/** The number of calls of each tool in the scripted run. The second call of `note` is approved for the session. */
export const calls = {
  read: 1,
  put: 1,
  pay: 1,
  note: 2,
  look: 1,
  send: 1,
  wipe: 0,
  peek: 1,
  quote: 1,
};
export type ToolName = keyof typeof calls;
export const toolNames = Object.keys(calls) as ToolName[];

/** Occurs only in the results that the user denies. */
export const secret = "what nobody may be shown";

export const effects: Record<ToolName, ToolEffect> = {
  read: "pure",
  put: "idempotent",
  pay: "once",
  note: "once",
  look: "pure",
  send: "once",
  wipe: "once",
  peek: "pure",
  quote: "once",
};

/** Creates agents whose tools only report to the counter. `run`: the name of the run there. */
export function createAgents(counter: string, run: string): Agent[] {
  const defineCountedTool = (name: ToolName, overrides: Partial<ToolDefinition<unknown>> = {}) =>
    defineTool({
      name,
      description: `Reports ${name} to the counter.`,
      effect: effects[name],
      ...overrides,
      async run(input, context) {
        const { signal, idempotencyKey: key } = context;
        const body = JSON.stringify({ key });
        const response = await fetch(`${counter}/${run}/${name}`, { method: "POST", body, signal });
        if (!response.ok) throw new Error(`the counter answered ${response.status}`);
        return overrides.run === undefined
          ? `${name} ${JSON.stringify(input)}: done`
          : overrides.run(input, context);
      },
    });
  const helper = defineAgent({
    name: "helper",
    description: "Looks and sends.",
    instructions: "You are the helper.",
    model: "script/model",
    tools: [
      defineCountedTool("look", { run: () => buildCitedResult("what was seen", []) }),
      defineCountedTool("send", { approval: "ask_always" }),
    ],
  });
  const main = defineAgent({
    name: "main",
    instructions: "You are the main agent.",
    model: "script/model",
    tools: [
      defineCountedTool("read", {
        run: () =>
          buildCitedResult("what was read", [
            { type: "image", bytes: imageBytes, media_type: "image/png" },
          ]),
      }),
      defineCountedTool("put"),
      // Next to the sub-agent, so that both can run at the same time.
      defineCountedTool("pay", {
        approval: { call: "ask_always", result: "always" },
        parallel: true,
      }),
      defineCountedTool("note", { approval: "ask_once" }),
      defineCountedTool("wipe", { approval: "ask_always" }),
      defineCountedTool("peek", { approval: { result: "always" }, run: () => secret }),
      defineCountedTool("quote", {
        approval: { result: "always" },
        run: () => ({ quoted: secret }),
      }),
    ],
    agents: [helper],
  });
  return [main, helper];
}

/** Only `read` and `look` return citations, so that their numbers do not depend on the order of the results. */
function buildCitedResult(text: string, blocks: readonly object[]): object {
  const part = { type: "text", text, id: "it" };
  return {
    message_content: [part],
    block_list: [part, ...blocks.map((block) => ({ ...block, id: "it" }))],
  };
}

const imageBytes = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
