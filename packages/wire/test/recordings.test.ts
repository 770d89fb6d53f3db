import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { body, call, chunk, usage, usageChunk } from "./chat-chunks.ts";
import { sharedData } from "../../../test/shared-data.ts";

const command = fileURLToPath(new URL("../check/recordings.ts", import.meta.url));
const shared = sharedData("fixtures");
const sharedMessages = sharedData("messages/fixtures");
const folder = mkdtempSync(join(tmpdir(), "deltawire-recordings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function runCheck(path: string): {
  status: number | null;
  output: string;
  lastLine: string | undefined;
} {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@deltawire/source", command, path],
    { encoding: "utf8" },
  );
  const output = stdout + stderr;
  return { status, output, lastLine: output.trim().split("\n").at(-1) };
}

const entry = {
  file: "call.sse",
  kind: "chat-stream",
  quirks: [],
  done_sent: true,
  net_chunks: [7, 100, 3, 50],
  expected: {
    text: "Hi",
    reasoning: "hm",
    refusal: null,
    tool_calls: [{ id: "call_aaa", name: "get_weather", arguments: '{"city": "Paris"}' }],
    finish_reason: "stop",
    finish_reasons_sent: ["stop"],
    has_tool_calls: true,
    order: "rtc",
    usage,
  },
};

function writeRecordings(entries: object[]): string {
  const chunks = [
    chunk({ reasoning_content: "hm" }),
    chunk({ content: "Hi" }),
    chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' })),
    chunk({}, "stop"),
    usageChunk(),
  ];
  writeFileSync(join(folder, "call.sse"), body(chunks).join(""));
  writeFileSync(join(folder, "index.json"), JSON.stringify({ files: entries }));
  return folder;
}

test("a recording that matches its index passes", () => {
  const { status, lastLine, output } = runCheck(writeRecordings([entry]));
  expect(output).toBe("1 passed, 0 failed\n");
  expect([status, lastLine]).toEqual([0, "1 passed, 0 failed"]);
});

test.each([
  ["text", { text: "Ho" }],
  ["reasoning", { reasoning: "" }],
  ["calls", { tool_calls: [] }],
  ["order", { order: "trc" }],
  ["usage input", { usage: { ...usage, prompt_tokens: 1 } }],
  ["status", { finish_reasons_sent: ["length"] }],
  ["expected.color: not supported", { color: "red" }],
])(
  "a recording that differs from its index fails with a message about %s",
  (difference, changes) => {
    const { status, output, lastLine } = runCheck(
      writeRecordings([{ ...entry, expected: { ...entry.expected, ...changes } }]),
    );
    expect(output).toContain("FAILED call.sse");
    expect(output).toContain(difference);
    expect([status, lastLine]).toEqual([1, "0 passed, 1 failed"]);
  },
);

test("an unknown kind and a missing file fail", () => {
  const { lastLine } = runCheck(
    writeRecordings([
      { ...entry, kind: "smoke" },
      { ...entry, file: "gone.sse" },
    ]),
  );
  expect(lastLine).toBe("0 passed, 2 failed");
});

test("a folder without an index or recordings is reported", () => {
  expect(runCheck(join(folder, "nowhere")).output).toContain("index.json does not exist");
  const empty = runCheck(writeRecordings([]));
  expect([empty.status, empty.lastLine]).toEqual([1, "0 passed, 1 failed"]);
  expect(empty.output).toContain("No recordings: ");
});

test.skipIf(shared.isMissing)(
  "every shared Chat recording matches its index",
  { timeout: 60_000 },
  () => {
    const { status, output, lastLine } = runCheck(shared.path);
    expect(output).not.toContain("FAILED");
    expect(status).toBe(0);
    expect(lastLine).toMatch(/^[1-9]\d* passed, 0 failed$/);
  },
);

test.skipIf(sharedMessages.isMissing)(
  "every shared Messages recording matches its index",
  { timeout: 60_000 },
  () => {
    const { output, lastLine } = runCheck(sharedMessages.path);
    expect(output).not.toContain("FAILED");
    expect(lastLine).toMatch(/^[1-9]\d* passed, 0 failed$/);
  },
);
