import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCodex } from "../codex-fixture.ts";
import { demoFixture, parseLoggedReplies, type DemoFixture } from "../demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

const prompt = "run `echo once >> ran.txt; echo $((6 * 7))`";

describe.each(["codex-0.150.0", "codex-0.120.0", "codex-0.98.0"] as const)("%s", (from) => {
  test("shows text and reasoning", async () => {
    const codex = await startCodex(fixture.overChat, "clean", { from });
    const turn = await codex.exec("Good morning");
    expect(turn.messages).toEqual([expect.stringContaining("> Good morning")]);
    expect(turn.reasoning).toEqual([expect.stringContaining("No tool is needed here.")]);
    expect(turn.errors).toEqual([]);
    expect(turn.exitCode).toBe(0);
  });

  test("runs a command and uses its output, although the upstream sends finish_reason stop", async () => {
    const codex = await startCodex(fixture.overChat, "stop-with-calls", { from });
    const turn = await codex.exec(prompt);
    expect(await codex.read("ran.txt")).toBe("once\n");
    expect(turn.commands).toEqual([expect.objectContaining({ aggregated_output: "42\n" })]);
    expect(turn.messages.at(-1)).toMatch(/answered:[^]*42/);
    expect(turn.exitCode).toBe(0);
  });
});

describe("codex-0.94.0 with the Chat API, on an upstream that sends finish_reason stop", () => {
  const from = "codex-0.94.0";

  test("shows the text and runs the tool", async () => {
    const codex = await startCodex(fixture.overChat, "stop-with-calls", { from, wire: "chat" });
    const turn = await codex.exec(prompt);
    expect(turn.messages[0]).toContain("Running ");
    expect(await codex.read("ran.txt")).toBe("once\n");
    expect(turn.messages.at(-1)).toMatch(/answered:[^]*42/);
    expect(turn.exitCode).toBe(0);
    const replies = parseLoggedReplies(fixture.overChat).filter(
      ({ path }) => path === "/v1/chat/completions",
    );
    expect(replies[0]?.repairs).toMatchObject({ finish_corrected: 1 });
  });

  test("runs nothing without the gateway", async () => {
    const url = fixture.demo.url.replace(/\/v1$/, "");
    const codex = await startCodex({ url }, "stop-with-calls", { from, wire: "chat" });
    const turn = await codex.exec(prompt);
    expect(turn.messages).toEqual([expect.stringContaining("Running ")]);
    expect(existsSync(join(codex.cwd, "ran.txt"))).toBe(false);
  });
});
