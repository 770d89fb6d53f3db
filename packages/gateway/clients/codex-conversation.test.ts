import type { ChatRequest } from "@deltawire/wire";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startCodex } from "./codex-fixture.ts";
import { startRecordingProxy } from "../test/recording-proxy.ts";
import { demoFixture, parseLoggedReplies, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

/** Returns the messages of the latest request to the demo. */
function getLastMessages(): ChatRequest["messages"] {
  const { body } = fixture.demo.requests.findLast(({ method }) => method === "POST") ?? {};
  return (body as unknown as ChatRequest).messages;
}

test.each(["overChat", "overResponses"] as const)(
  "a resumed conversation continues from its history, %s",
  async (upstream) => {
    const codex = await startCodex(fixture[upstream], "clean");
    await codex.exec("run `echo apples` and `echo pears`");
    const turn = await codex.resume("Give me a summary of our conversation");
    expect(turn.messages).toEqual([
      expect.stringContaining("The user said:\n\n- run `echo apples` and `echo pears`"),
    ]);
    expect(turn.errors).toEqual([]);
    const roles = getLastMessages().map(({ role }) => role);
    expect(roles.join(" ")).toMatch(/user assistant tool tool assistant user$/);
    expect(getLastMessages().filter(({ role }) => role === "tool")).toEqual([
      expect.objectContaining({ content: expect.stringContaining("Output:\napples\n") }),
      expect.objectContaining({ content: expect.stringContaining("Output:\npears\n") }),
    ]);
  },
);

test("an upstream that requires its reasoning gets it back, in the turn and after a resume", async () => {
  const codex = await startCodex(fixture.overChat, "needs-reasoning");
  await codex.exec("run `echo apples`");
  const turn = await codex.resume("run `echo pears`");
  expect(turn.messages.at(-1)).toBe("`exec_command` answered: pears");
  expect(turn.errors).toEqual([]);
  expect(getLastMessages().filter((message) => "tool_calls" in message)).toEqual(
    Array.from({ length: 2 }, () =>
      expect.objectContaining({
        reasoning_content:
          "The user wants something done that exec_command can do, so I'll call it.",
      }),
    ),
  );
});

// Codex compacts by the reported usage, so an estimated usage must be close to the truth.
test.each(["clean", "no-usage"])(
  "ten turns continue over several compactions, on an upstream like %s",
  async (model) => {
    const limit = 10_000;
    const codex = await startCodex(fixture.overChat, model, {
      settings: `model_auto_compact_token_limit = ${limit}`,
    });
    for (let turn = 1; turn <= 10; turn += 1) {
      const prompt = `Turn ${turn}: run \`seq ${turn} 1000\``;
      const { messages, commands, errors, exitCode } = await (turn === 1
        ? codex.exec(prompt)
        : codex.resume(prompt));
      expect(commands).toEqual([expect.objectContaining({ exit_code: 0 })]);
      // The output itself, or its summary if Codex compacted in the middle of the turn.
      expect(messages.at(-1)?.replaceAll(/\s+/g, " ")).toContain(
        ` ${turn} ${turn + 1} ${turn + 2} `,
      );
      expect({ errors, exitCode }).toEqual({ errors: [], exitCode: 0 });
    }
    const requests = parseLoggedReplies(fixture.overChat).filter((line) => line.model === model);
    const sizes = requests.map(({ tokens_in: tokens = 0 }) => tokens);
    const shrunk = sizes.filter((size, index) => size < (sizes[index - 1] ?? 0) - 1000);
    expect(shrunk.length).toBeGreaterThanOrEqual(2);
    expect(Math.max(...sizes)).toBeLessThan(limit + 2000);
  },
);

// Codex then sends a `compaction_trigger`; its own summaries are those of the test above.
test("a session that the gateway compacts continues from the summary on a Chat upstream", async () => {
  const proxy = await startRecordingProxy(fixture.overChat.url);
  try {
    const url = proxy.url.replace(/\/$/, "");
    const codex = await startCodex({ url }, "clean", {
      settings: "model_auto_compact_token_limit = 9_000",
      provider: 'capabilities = { remote_compaction = "v2" }',
    });
    const summaries: string[][] = [];
    for (let turn = 1; turn <= 6; turn += 1) {
      const prompt = `Turn ${turn}: run \`seq ${turn} 1000\``;
      const { commands, errors, exitCode } = await (turn === 1
        ? codex.exec(prompt)
        : codex.resume(prompt));
      expect(commands).toEqual([expect.objectContaining({ exit_code: 0 })]);
      expect({ errors, exitCode }).toEqual({ errors: [], exitCode: 0 });
      const messages = getLastMessages().map((message) => JSON.stringify(message));
      summaries.push(messages.filter((text) => text.includes(summaryHeading)));
    }
    const sent = proxy.sent().toString("utf8");
    const triggers = sent.split('"type":"compaction_trigger"').length - 1;
    expect(triggers).toBeGreaterThanOrEqual(2);
    // The session has one summary at a time, and returns it as the sealed item that it received.
    expect(new Set(summaries.map(({ length }) => length))).toEqual(new Set([0, 1]));
    expect(summaries.at(-1)).toEqual([expect.stringContaining("Turn 1: run `seq 1 1000`")]);
    expect(sent).toMatch(/"type":"compaction","(?:id":"cmp_\w+",")?encrypted_content":"dw1\./);
    expect(sent).not.toContain(summaryHeading);
  } finally {
    await proxy.close();
  }
});

/** The start of a summary in requests to a Chat upstream. */
const summaryHeading = "Summary of the conversation so far:";
