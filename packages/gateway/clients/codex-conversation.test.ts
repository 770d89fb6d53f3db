import type { ChatRequest } from "@deltawire/wire";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codexOn } from "./codex-scene.ts";
import { demoStage, loggedReplies, type DemoStage } from "./demo-stage.ts";

let stage: DemoStage;

beforeAll(async () => {
  stage = await demoStage();
});

afterAll(() => stage.close());

/** What the demo was asked last. */
function lastMessages(): ChatRequest["messages"] {
  const { body } = stage.demo.requests.findLast(({ method }) => method === "POST") ?? {};
  return (body as unknown as ChatRequest).messages;
}

test.each(["overChat", "overResponses"] as const)(
  "a resumed conversation goes on from its history, %s",
  async (upstream) => {
    const codex = await codexOn(stage[upstream], "clean");
    await codex.exec("run `echo apples` and `echo pears`");
    const turn = await codex.resume("Give me a summary of our conversation");
    expect(turn.messages).toEqual([
      expect.stringContaining("The user said:\n\n- run `echo apples` and `echo pears`"),
    ]);
    expect(turn.errors).toEqual([]);
    const roles = lastMessages().map(({ role }) => role);
    expect(roles.join(" ")).toMatch(/user assistant tool tool assistant user$/);
    expect(lastMessages().filter(({ role }) => role === "tool")).toEqual([
      expect.objectContaining({ content: expect.stringContaining("Output:\napples\n") }),
      expect.objectContaining({ content: expect.stringContaining("Output:\npears\n") }),
    ]);
  },
);

test("an upstream that wants its reasoning back gets it, in the turn and after a resume", async () => {
  const codex = await codexOn(stage.overChat, "needs-reasoning");
  await codex.exec("run `echo apples`");
  const turn = await codex.resume("run `echo pears`");
  expect(turn.messages.at(-1)).toBe("`exec_command` answered: pears");
  expect(turn.errors).toEqual([]);
  expect(lastMessages().filter((message) => "tool_calls" in message)).toEqual(
    Array.from({ length: 2 }, () =>
      expect.objectContaining({
        reasoning_content: "The user wants something done that exec_command can do, so I call it.",
      }),
    ),
  );
});

// Codex compacts by the usage that it is told, so one that the upstream never says has to be near the truth.
test.each(["clean", "no-usage"])(
  "ten turns go on over several compactions, on an upstream like %s",
  async (model) => {
    const limit = 10_000;
    const codex = await codexOn(stage.overChat, model, {
      settings: `model_auto_compact_token_limit = ${limit}`,
    });
    for (let turn = 1; turn <= 10; turn += 1) {
      const prompt = `Turn ${turn}: run \`seq ${turn} 1000\``;
      const { messages, commands, errors, exitCode } = await (turn === 1
        ? codex.exec(prompt)
        : codex.resume(prompt));
      expect(commands).toEqual([expect.objectContaining({ exit_code: 0 })]);
      // The output itself, or, where Codex compacted in the middle of the turn, the summary of it.
      expect(messages.at(-1)?.replaceAll(/\s+/g, " ")).toContain(
        ` ${turn} ${turn + 1} ${turn + 2} `,
      );
      expect({ errors, exitCode }).toEqual({ errors: [], exitCode: 0 });
    }
    const asked = loggedReplies(stage.overChat).filter((line) => line.model === model);
    const sizes = asked.map(({ tokens_in: tokens = 0 }) => tokens);
    const shrunk = sizes.filter((size, at) => size < (sizes[at - 1] ?? 0) - 1000);
    expect(shrunk.length).toBeGreaterThanOrEqual(2);
    expect(Math.max(...sizes)).toBeLessThan(limit + 2000);
  },
);
