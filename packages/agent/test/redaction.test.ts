import { defineTool, ModelError, type ToolContext } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  question,
  scriptedAgent,
  start,
  textOfLog,
  toldResults,
} from "./run-kit.ts";

const secret = "sk-very-secret-0123456789";
const redact = (text: string): string => text.replaceAll(secret, "[redacted]");

async function ran(run: (input: unknown, context: ToolContext) => unknown, more: object = {}) {
  const tool = defineTool({ name: "tell", description: "Tells.", run, ...more });
  const { agent, model } = scriptedAgent([[{ call: "tell", args: {} }], [{ text: "Done." }]], {
    tools: [tool],
  });
  const started = await start(agent, {}, { redact });
  return { started, model };
}

const given: [string, () => unknown][] = [
  ["a text", () => `the key is ${secret}.`],
  ["an object", () => ({ deep: [{ key: secret }], [secret]: 1 })],
  [
    "parts and blocks",
    () => ({
      message_content: [{ type: "text", text: secret, id: secret }],
      block_list: [
        { type: "text", text: secret, id: secret, title: secret, url: `http://a/?k=${secret}` },
        { type: "data", data: { key: [secret] } },
      ],
    }),
  ],
  [
    "an error",
    () => {
      throw new Error(`401 for ${secret}`);
    },
  ],
  ["a long text that is cut within it", () => `${"x".repeat(31_990)}${secret}${"y".repeat(9000)}`],
];

describe("what a tool gives is written without secrets", () => {
  test.each(given)("%s", async (_name, run) => {
    const { started, model } = await ran(run);
    await ended(started);
    const [log, told] = [await textOfLog(started), toldResults(model, 1).join("\n")];
    for (const text of [log, told]) {
      expect(text).not.toContain(secret.slice(0, 4));
      expect(text).toContain("[redacted]".slice(0, 4));
    }
    expect(log).toContain("[redacted]");
  });

  test("what is kept of a long text for later pages", async () => {
    const { started } = await ran(() => `${"x".repeat(40_000)}${secret}`);
    await ended(started);
    const log = await textOfLog(started);
    const { hash = "" } = /"url":"\/api\/blobs\/(?<hash>[0-9a-f]{64})"/.exec(log)?.groups ?? {};
    const { bytes } = (await started.blobs.get(hash)) ?? {};
    expect(Buffer.from(bytes ?? []).toString("utf8")).toMatch(/x\[redacted\]$/);
  });

  test("its progress, also where it is cut", async () => {
    const { started } = await ran((_input, context) => {
      context.progress(`at ${secret}`);
      context.progress(`${"x".repeat(1990)}${secret}`);
    });
    await ended(started);
    const log = await textOfLog(started);
    expect(log).toContain("at [redacted]");
    expect(log).not.toContain(secret.slice(0, 4));
  });

  test("a result that a person is shown first", async () => {
    const { started, model } = await ran(() => secret, { approval: { result: "always" } });
    expect((await question(started)).block_list).toEqual([{ type: "text", text: "[redacted]" }]);
    await decide(started, {});
    await ended(started);
    expect(await textOfLog(started)).not.toContain(secret);
    expect(toldResults(model, 1).join("\n")).toContain("[redacted]");
  });
});

test("what a model fails with is written without secrets, in warnings and at the end", async () => {
  const busy = new ModelError("rate_limit", `slow down, ${secret}`, { retryable: true });
  const { agent } = scriptedAgent([
    [{ error: busy }],
    [{ error: new ModelError("invalid_key", `${secret} is not known`) }],
  ]);
  const started = await start(agent, {}, { redact });
  const { view } = await ended(started);
  expect(view.error?.message).toBe("[redacted] is not known");
  const log = await textOfLog(started);
  expect(log).toContain("slow down, [redacted]");
  expect(log).not.toContain(secret);
});

test("each text of a result is looked at once, however long it is", async () => {
  const long = "x".repeat(500_000);
  const looked: number[] = [];
  const tool = defineTool({
    name: "tell",
    description: "Tells.",
    approval: { result: "always" },
    run: () => ({
      message_content: [{ type: "text", text: long }],
      block_list: [{ type: "data", data: { long } }],
    }),
  });
  const { agent } = scriptedAgent([[{ call: "tell", args: {} }]], { tools: [tool] });
  const count = (text: string): string => (looked.push(text.length), text);
  const started = await start(agent, {}, { redact: count });
  await decide(started, {});
  await ended(started);
  expect(looked.filter((length) => length >= long.length)).toEqual([long.length, long.length]);
});
