import { defineAgent, defineTool, type Agent, type ToolDefinition } from "@deltawire/agent";
import type { Effect } from "@deltawire/tasks";

/** How often the script has each tool run; `note` with a session's leave the second time. */
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

/** In the results that the person refuses, and nowhere else. */
export const secret = "what nobody may be shown";

export const effects: Record<ToolName, Effect> = {
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

/** Agents whose tools do nothing but tell the counter, by the name of the run. */
export function agentsOf(counter: string, run: string): Agent[] {
  const tool = (name: ToolName, more: Partial<ToolDefinition<unknown>> = {}) =>
    defineTool({
      name,
      description: `Tells the world to ${name}.`,
      effect: effects[name],
      ...more,
      async run(input, context) {
        const { signal, idempotencyKey: key } = context;
        const body = JSON.stringify({ key });
        const told = await fetch(`${counter}/${run}/${name}`, { method: "POST", body, signal });
        if (!told.ok) throw new Error(`the counter answered ${told.status}`);
        return more.run === undefined
          ? `${name} ${JSON.stringify(input)}: done`
          : more.run(input, context);
      },
    });
  const helper = defineAgent({
    name: "helper",
    description: "Looks and sends.",
    instructions: "You are the helper.",
    model: "script/model",
    tools: [
      tool("look", { run: () => cited("what was seen", []) }),
      tool("send", { approval: "ask always" }),
    ],
  });
  const main = defineAgent({
    name: "main",
    instructions: "You are the main agent.",
    model: "script/model",
    tools: [
      tool("read", {
        run: () =>
          cited("what was read", [{ type: "image", bytes: picture, media_type: "image/png" }]),
      }),
      tool("put"),
      // Beside the sub-agent, so that it can be at work while the other one is.
      tool("pay", { approval: { call: "ask always", result: "always" }, parallel: true }),
      tool("note", { approval: "ask once" }),
      tool("wipe", { approval: "ask always" }),
      tool("peek", { approval: { result: "always" }, run: () => secret }),
      tool("quote", { approval: { result: "always" }, run: () => ({ quoted: secret }) }),
    ],
    agents: [helper],
  });
  return [main, helper];
}

/** Only what is read and what is seen can be cited: so the numbers do not depend on which call is answered first. */
function cited(text: string, blocks: readonly object[]): object {
  const part = { type: "text", text, id: "it" };
  return {
    message_content: [part],
    block_list: [part, ...blocks.map((one) => ({ ...one, id: "it" }))],
  };
}

const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
