import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSampleImage } from "@deltawire/demo";
import { startCodex } from "./codex-fixture.ts";
import { demoFixture, parseLoggedReplies, type DemoFixture } from "./demo-fixture.ts";

const citySchema = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "integer" } },
  required: ["city", "people"],
  additionalProperties: false,
};

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

describe.each(["overChat", "overResponses"] as const)("Codex, %s", (upstream) => {
  test("shows text and reasoning without warnings, and contacts no other server", async () => {
    const codex = await startCodex(fixture[upstream], "clean");
    const turn = await codex.exec("Good morning");
    expect(turn.messages).toEqual([expect.stringContaining("> Good morning")]);
    expect(turn.reasoning).toEqual([expect.stringContaining("No tool is needed here.")]);
    expect(turn.events.map(({ type }) => type)).toEqual([
      "thread.started",
      "turn.started",
      "item.completed",
      "item.completed",
      "turn.completed",
    ]);
    expect(turn.usage["input_tokens"]).toBeGreaterThan(1000);
    expect(turn.usage["output_tokens"]).toBeGreaterThan(10);
    // If the repository is in the system's temporary folder, Codex reports that it makes no links there.
    const messages = turn.stderr
      .split("\n")
      .filter((line) => line !== "" && !/PATH aliases/.test(line));
    expect(messages).toEqual(["Reading additional input from stdin..."]);
    expect(turn.exitCode).toBe(0);
    expect(turn.outside).toEqual([]);
  });

  test("runs a command and uses its output", async () => {
    const codex = await startCodex(fixture[upstream], "clean");
    const turn = await codex.exec("Please run `echo $((6 * 7))`");
    expect(turn.commands).toEqual([
      expect.objectContaining({ aggregated_output: "42\n", exit_code: 0, status: "completed" }),
    ]);
    expect(turn.messages.at(-1)).toBe("`exec_command` answered: 42");
    expect(turn.exitCode).toBe(0);
  });

  test("changes a file with a freeform apply_patch", async () => {
    const codex = await startCodex(fixture[upstream], "clean");
    await writeFile(join(codex.cwd, "poem.txt"), "roses are red\nviolets are green\n");
    const turn = await codex.exec(
      "Replace `violets are green` with `violets are blue` in poem.txt",
    );
    expect(await codex.read("poem.txt")).toBe("roses are red\nviolets are blue\n");
    expect(turn.items).toContainEqual(
      expect.objectContaining({
        type: "file_change",
        changes: [expect.objectContaining({ kind: "update" })],
        status: "completed",
      }),
    );
    expect(turn.messages.at(-1)).toMatch(/`apply_patch` answered:[^]*poem\.txt/);
  });

  test("runs two parallel calls, each once", async () => {
    const codex = await startCodex(fixture[upstream], "clean");
    const turn = await codex.exec("run `echo one >> ran.txt` and `echo two >> ran.txt`");
    expect((await codex.read("ran.txt")).trim().split("\n").toSorted()).toEqual(["one", "two"]);
    expect(turn.commands).toHaveLength(2);
    expect(turn.exitCode).toBe(0);
  });

  test("calls an MCP tool by its namespace", async () => {
    const server = join(import.meta.dirname, "weather-mcp.ts");
    const codex = await startCodex(fixture[upstream], "clean", {
      tables: `[mcp_servers.weather]
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify([server])}
`,
    });
    const turn = await codex.exec("What is the weather forecast for Oslo?");
    expect(turn.items).toContainEqual(
      expect.objectContaining({
        type: "mcp_tool_call",
        server: "weather",
        tool: "forecast",
        arguments: { city: "Oslo" },
        status: "completed",
      }),
    );
    expect(turn.messages.at(-1)).toContain("Oslo will have 17 degrees and rain.");
  });

  test("sends an image with the prompt, and one that a tool viewed", async () => {
    const codex = await startCodex(fixture[upstream], "clean");
    const file = join(codex.cwd, "picture.png");
    await writeFile(file, createSampleImage("roses"));
    const turn2 = await codex.exec("What is this?", "--image", file, "--");
    expect(turn2.messages.at(-1)).toContain("I received 1 image (image/png, ");
    const viewed = await codex.exec("Call view_image for `picture.png`");
    expect(viewed.messages.at(-1)).toMatch(
      /`view_image` answered:.* I received 1 image \(image\/png, /,
    );
  });

  test("gets an answer that matches a schema", async () => {
    const codex = await startCodex(fixture[upstream], "clean");
    const file = join(codex.cwd, "schema.json");
    await writeFile(file, JSON.stringify(citySchema));
    const turn = await codex.exec("How many people live in Oslo?", "--output-schema", file);
    expect(JSON.parse(turn.messages.at(-1) ?? "")).toEqual({
      city: expect.any(String),
      people: expect.any(Number),
    });
  });

  test("calls a sub-agent and gets its answer", async () => {
    const codex = await startCodex(fixture[upstream], "clean");
    const turn = await codex.exec("ask Researcher to find the way");
    const calls = turn.items.filter(({ type }) => type === "collab_tool_call");
    expect(calls.map(({ tool, status }) => [tool, status])).toEqual([
      ["spawn_agent", "completed"],
      ["wait", "completed"],
    ]);
    expect(turn.messages.at(-1)).toContain("> find the way");
  });
});

test.each([
  "stop-with-calls",
  "no-index",
  "same-index",
  "missing-ids",
  "split-name",
  "snapshot-arguments",
  "object-arguments",
  "think-tags",
  "complete-json",
  "bytewise",
  "no-finish-done",
  "keeps-open",
  "rejects-developer-role",
  "single-system",
  "rejects-parameters",
  "needs-reasoning",
  "mistral-ids",
  "no-empty-content",
])("Codex runs two commands, each once, on an upstream like %s", async (model) => {
  const codex = await startCodex(fixture.overChat, model);
  const turn = await codex.exec("run `echo one >> ran.txt` and `echo two >> ran.txt`");
  expect((await codex.read("ran.txt")).trim().split("\n").toSorted()).toEqual(["one", "two"]);
  expect(turn.messages.at(-1)).toContain("`exec_command` answered");
  expect(turn.reasoning.length).toBeGreaterThan(0);
  expect(turn.errors).toEqual([]);
  expect(turn.exitCode).toBe(0);
});

test("repairs are logged", async () => {
  const codex = await startCodex(fixture.overChat, "stop-with-calls");
  await codex.exec("run `true`");
  const repaired = parseLoggedReplies(fixture.overChat).filter(
    ({ model }) => model === "stop-with-calls",
  );
  expect(repaired.at(-2)?.repairs).toMatchObject({ finish_corrected: 1 });
  expect(repaired.at(-1)?.repairs).not.toHaveProperty("finish_corrected");
});
