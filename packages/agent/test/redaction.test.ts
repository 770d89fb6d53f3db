import { defineTool, ModelError, type ToolContext } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  waitForApproval,
  scriptedAgent,
  start,
  readLogText,
  getSentResults,
} from "./runtime-fixture.ts";

const secret = "sk-very-secret-0123456789";
const redact = (text: string): string => text.replaceAll(secret, "[redacted]");

async function runTool(
  run: (input: unknown, context: ToolContext) => unknown,
  overrides: object = {},
) {
  const tool = defineTool({ name: "tell", description: "Tells.", run, ...overrides });
  const { agent, model } = scriptedAgent([[{ call: "tell", args: {} }], [{ text: "Done." }]], {
    tools: [tool],
  });
  const started = await start(agent, {}, { redact });
  return { started, model };
}

const results: [string, () => unknown][] = [
  ["a string", () => `the key is ${secret}.`],
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
  [
    "a long text that is truncated within a secret",
    () => `${"x".repeat(31_990)}${secret}${"y".repeat(9000)}`,
  ],
];

describe("secrets are redacted in the output of a tool:", () => {
  test.each(results)("%s", async (_name, run) => {
    const { started, model } = await runTool(run);
    await waitForEnd(started);
    const [log, sent] = [await readLogText(started), getSentResults(model, 1).join("\n")];
    for (const text of [log, sent]) {
      expect(text).not.toContain(secret.slice(0, 4));
      expect(text).toContain("[redacted]".slice(0, 4));
    }
    expect(log).toContain("[redacted]");
  });

  test("a long text that is stored for later pages", async () => {
    const { started } = await runTool(() => `${"x".repeat(40_000)}${secret}`);
    await waitForEnd(started);
    const log = await readLogText(started);
    const { hash = "" } = /"url":"\/api\/blobs\/(?<hash>[0-9a-f]{64})"/.exec(log)?.groups ?? {};
    const { bytes } = (await started.blobs.get(hash)) ?? {};
    expect(Buffer.from(bytes ?? []).toString("utf8")).toMatch(/x\[redacted\]$/);
  });

  test("progress, even if it is truncated", async () => {
    const { started } = await runTool((_input, context) => {
      context.progress(`at ${secret}`);
      context.progress(`${"x".repeat(1990)}${secret}`);
    });
    await waitForEnd(started);
    const log = await readLogText(started);
    expect(log).toContain("at [redacted]");
    expect(log).not.toContain(secret.slice(0, 4));
  });

  test("a result that needs approval", async () => {
    const { started, model } = await runTool(() => secret, { approval: { result: "always" } });
    expect((await waitForApproval(started)).block_list).toEqual([
      { type: "text", text: "[redacted]" },
    ]);
    await decide(started, {});
    await waitForEnd(started);
    expect(await readLogText(started)).not.toContain(secret);
    expect(getSentResults(model, 1).join("\n")).toContain("[redacted]");
  });
});

test("secrets are redacted in model errors, both in warnings and in the task's error", async () => {
  const busy = new ModelError("rate_limit", `slow down, ${secret}`, { retryable: true });
  const { agent } = scriptedAgent([
    [{ error: busy }],
    [{ error: new ModelError("invalid_key", `${secret} is unknown`) }],
  ]);
  const started = await start(agent, {}, { redact });
  const { view } = await waitForEnd(started);
  expect(view.error?.message).toBe("[redacted] is unknown");
  const log = await readLogText(started);
  expect(log).toContain("slow down, [redacted]");
  expect(log).not.toContain(secret);
});

test("each text of a result is searched for secrets only once", async () => {
  const long = "x".repeat(500_000);
  const redactedLengths: number[] = [];
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
  const recordLength = (text: string): string => (redactedLengths.push(text.length), text);
  const started = await start(agent, {}, { redact: recordLength });
  await decide(started, {});
  await waitForEnd(started);
  expect(redactedLengths.filter((length) => length >= long.length)).toEqual([
    long.length,
    long.length,
  ]);
});
