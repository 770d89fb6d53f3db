import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { body, call, chunk, usage, usageChunk } from "./chat-stream.ts";
import { sharedData } from "../../../test/shared-data.ts";

const command = fileURLToPath(new URL("../check/recordings.ts", import.meta.url));
const shared = sharedData("fixtures");
const folder = mkdtempSync(join(tmpdir(), "deltawire-recordings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function recordings(path: string): {
  status: number | null;
  output: string;
  last: string | undefined;
} {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@deltawire/source", command, path],
    { encoding: "utf8" },
  );
  const output = stdout + stderr;
  return { status, output, last: output.trim().split("\n").at(-1) };
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

function record(entries: object[]): string {
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

test("a recording that comes out as its index says passes", () => {
  const { status, last, output } = recordings(record([entry]));
  expect(output).toBe("1 passed, 0 failed\n");
  expect([status, last]).toEqual([0, "1 passed, 0 failed"]);
});

test.each([
  ["text", { text: "Ho" }],
  ["reasoning", { reasoning: "" }],
  ["calls", { tool_calls: [] }],
  ["order", { order: "trc" }],
  ["usage input", { usage: { ...usage, prompt_tokens: 1 } }],
  ["status", { finish_reasons_sent: ["length"] }],
  ["expected.colour: unknown", { colour: "red" }],
])("one that does not is named, with what differs: %s", (what, other) => {
  const { status, output, last } = recordings(
    record([{ ...entry, expected: { ...entry.expected, ...other } }]),
  );
  expect(output).toContain("FAILED call.sse");
  expect(output).toContain(what);
  expect([status, last]).toEqual([1, "0 passed, 1 failed"]);
});

test("an unknown kind and a missing file fail", () => {
  const { last } = recordings(
    record([
      { ...entry, kind: "smoke" },
      { ...entry, file: "gone.sse" },
    ]),
  );
  expect(last).toBe("0 passed, 2 failed");
});

test("a folder without an index, or with nothing to play, is an error that says so", () => {
  expect(recordings(join(folder, "nowhere")).output).toContain("index.json does not exist");
  const empty = recordings(record([]));
  expect([empty.status, empty.last]).toEqual([1, "0 passed, 1 failed"]);
  expect(empty.output).toContain("Nothing was played");
});

test.skipIf(shared.isMissing)(
  "every Chat recording of the shared folder comes out as its README says",
  { timeout: 60_000 },
  () => {
    const { status, output, last } = recordings(shared.path);
    expect(output).not.toContain("FAILED");
    expect(status).toBe(0);
    expect(last).toMatch(/^[1-9]\d* passed, 0 failed$/);
  },
);
