import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "./deltawire-process.ts";
import { formatStream, buildReply, type ScriptedReply } from "./wire-replies.ts";
import { sharedData } from "../../../test/shared-data.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 90_000 });

const fixtures = sharedData("fixtures");
const quirks = sharedData("quirks");

interface CheckResult {
  code: number | null;
  output: string;
  lastLine: string | undefined;
}

async function check(name: string, ...args: string[]): Promise<CheckResult> {
  const command = fileURLToPath(new URL(`../check/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@deltawire/source", command, ...args]);
  let output = "";
  child.stdout.on("data", (piece) => (output += String(piece)));
  child.stderr.on("data", (piece) => (output += String(piece)));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, output, lastLine: output.trim().split("\n").at(-1) };
}

const reply: ScriptedReply = {
  reasoning: ["h", "m"],
  text: ["Hi ", "there"],
  calls: [{ id: "call_aaaaaa", name: "look", arguments: ["{}"] }],
  usage: { input: 3, output: 4 },
};
const expectedContent = {
  text: "Hi there",
  reasoning: "hm",
  refusal: null,
  has_tool_calls: true,
};
const expectedChatEntry = {
  ...expectedContent,
  tool_calls: [{ id: "call_aaaaaa", name: "look", arguments: "{}" }],
  finish_reason: "tool_calls",
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
};
const expectedResponseEntry = {
  ...expectedContent,
  reasoning: "",
  reasoning_summary: "hm",
  tool_calls: [{ kind: "function_call", call_id: "call_aaaaaa", name: "look", arguments: "{}" }],
  status: "completed",
  terminal_event: "response.completed",
  incomplete_details: null,
  output_item_types: ["reasoning", "message", "function_call"],
  usage: {
    input_tokens: 3,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 4,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 7,
  },
};

/** Creates a folder with one recording of every kind. `change` overrides fields of their index entries. */
function createRecordings(change: object = {}): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "chat.sse"), formatStream("chat", reply).join(""));
  writeFileSync(join(folder, "cut.sse"), formatStream("chat", reply).slice(0, 3).join(""));
  writeFileSync(join(folder, "chat.json"), JSON.stringify(buildReply("chat", reply)));
  writeFileSync(join(folder, "responses.sse"), formatStream("responses", reply).join(""));
  const cut = {
    text: "Hi ",
    tool_calls: [],
    has_tool_calls: false,
    finish_reason: null,
    usage: null,
  };
  const files = [
    {
      file: "chat.sse",
      kind: "chat-stream",
      done_sent: true,
      expected: { ...expectedChatEntry, ...change },
    },
    {
      file: "cut.sse",
      kind: "chat-stream",
      done_sent: false,
      quirks: ["no_done"],
      expected: { ...expectedChatEntry, ...cut },
    },
    { file: "chat.json", kind: "chat-json", expected: expectedChatEntry },
    { file: "responses.sse", kind: "responses-stream", expected: expectedResponseEntry },
  ];
  writeFileSync(join(folder, "index.json"), JSON.stringify({ files }));
  return folder;
}

describe("recordings, end to end over HTTP and on both client wires,", () => {
  test("of every kind produce the expected output", async () => {
    expect(await check("recordings", createRecordings())).toEqual({
      code: 0,
      output: "4 passed, 0 failed\n",
      lastLine: "4 passed, 0 failed",
    });
  });

  test("with other output are reported with the difference", async () => {
    const { code, output, lastLine } = await check("recordings", createRecordings({ text: "Ho" }));
    expect([code, lastLine]).toEqual([1, "3 passed, 1 failed"]);
    expect(output).toContain("FAILED chat.sse");
    expect(output).toMatch(/Responses: text: expected "Ho", got "Hi there"/);
    expect(output).toMatch(/Chat, choice 0: text: expected "Ho", got "Hi there"/);
  });

  test.skipIf(fixtures.isMissing)(
    "of real providers produce the output that their index expects (a sample)",
    { timeout: 60_000 },
    async () => {
      const { code, output, lastLine } = await check("recordings", fixtures.path, "--every", "8");
      expect(output).not.toContain("FAILED");
      expect([code, lastLine]).toEqual([0, expect.stringMatching(/^[1-9]\d+ passed, 0 failed$/)]);
    },
  );

  test("that do not exist are an error", async () => {
    const { code, output } = await check("recordings", join(temporaryFolder(), "nowhere"));
    expect(code).toBe(2);
    expect(output).toContain("nowhere does not exist");
  });
});

describe("the catalog of quirks", () => {
  test.skipIf(quirks.isMissing)(
    "passes with the generic profile, and its optional cases with flags",
    { timeout: 60_000 },
    async () => {
      const { code, output, lastLine } = await check("quirks", quirks.path, "--once");
      expect(output).not.toContain("FAILED");
      expect([code, lastLine]).toEqual([0, expect.stringMatching(/^[1-9]\d+ passed, 0 failed$/)]);
    },
  );

  test("that does not exist is an error", async () => {
    const { code, output } = await check("quirks", temporaryFolder());
    expect(code).toBe(2);
    expect(output).toContain("quirks.json does not exist");
  });
});
