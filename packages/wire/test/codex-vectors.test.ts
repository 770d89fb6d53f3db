import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findVectorFaults, type Vector } from "../check/vector.ts";
import { sharedData } from "../../../test/shared-data.ts";

const shared = sharedData("vectors/chat-wire.json");

/** Vectors of each kind, for environments without the shared vectors. */
const localVectors: Vector[] = [
  {
    id: "request",
    kind: "chat_request",
    instructions: "inst",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "u" }] }],
    model: "m",
    tools: [],
    conversation_id: "conv",
    session_source: { subagent: "review" },
    expected_messages: [
      { content: "inst", role: "system" },
      { role: "user", content: "u" },
    ],
    expected_headers: { session_id: "conv", "x-openai-subagent": "review" },
    expected_body_keys: ["tools", "stream", "messages", "model"],
    expected_body_other: { model: "m", stream: true, tools: [] },
  },
  {
    id: "schema",
    kind: "chat_request",
    instructions: "inst",
    input: [],
    output_schema: { type: "object" },
    error_contains: "output_schema is not supported for Chat Completions API",
  },
  {
    id: "stream",
    kind: "chat_sse",
    sse_chunks: ['data: {"choices":[{"delta":{"content":"é"}}]}\n\n'],
    end: "transport_error",
    expected_events: [
      {
        type: "output_item_added",
        item: { type: "message", id: null, role: "assistant", content: [] },
      },
      { type: "output_text_delta", delta: "é" },
      { type: "error", error: "stream", message: "Transport error: <transport error text>" },
    ],
  },
  {
    id: "bytes",
    kind: "chat_sse",
    sse_chunks_base64: ["ZGF0YTogW0RP", "TkVdCgo="],
    end: "eof",
    expected_events: [{ type: "completed", response_id: "", token_usage: null }],
  },
  {
    id: "aggregate",
    kind: "aggregate",
    mode: "streaming",
    events_in: [{ type: "output_text_delta", delta: "a" }, { type: "created" }],
    events_out: [{ type: "output_text_delta", delta: "a" }],
  },
  {
    id: "tools",
    kind: "chat_tools",
    responses_tools: [{ type: "function", name: "f" }, { type: "custom" }],
    expected_chat_tools: [{ type: "function", name: "f", function: { name: "f" } }],
  },
  {
    id: "path",
    kind: "chat_path",
    wire: "chat",
    base_url: "https://example.org/v1",
    expected_path: "/v1/chat/completions",
  },
  { id: "bare path", kind: "chat_path", wire: "responses", expected_path: "responses" },
  {
    id: "table",
    kind: "provider_config",
    level: "provider_table",
    toml: 'name = "A"\nstream_max_retries = 3\n',
    expected: { ok: true, parsed: { name: "A", wire_api: "responses", stream_max_retries: 3 } },
  },
  {
    id: "config",
    kind: "provider_config",
    level: "config_toml",
    toml: '[model_providers.a]\nname = "A"\nwire_api = "grpc"\n',
    expected: {
      ok: false,
      error_contains: ["unknown variant `grpc`", "expected `responses`"],
      stderr:
        "Error loading config.toml: unknown variant `grpc`, expected `responses`\nin `model_providers.a.wire_api`\n",
    },
  },
  {
    id: "warning",
    kind: "provider_config",
    level: "config_toml",
    toml: '[model_providers.a]\nname = "A"\nfoo = 1\n',
    expected: { ok: true, warning_contains: "`model_providers.a.foo` is ignored" },
  },
];

test.each(localVectors)("the Codex client passes a vector of each kind: $id", (vector) => {
  expect(findVectorFaults(vector)).toEqual([]);
});

test.skipIf(shared.isMissing)("the Codex client passes every shared vector", () => {
  const { vectors } = JSON.parse(readFileSync(shared.path, "utf8")) as { vectors: Vector[] };
  expect(vectors.length).toBeGreaterThan(0);
  const failed = vectors
    .map((vector) => [vector.id, findVectorFaults(vector)])
    .filter(([, faults]) => faults?.length);
  expect(failed).toEqual([]);
});

const changes: [id: string, field: string, value: unknown][] = [
  ["request", "expected_messages", []],
  ["request", "expected_headers", { session_id: "conv" }],
  ["request", "expected_body_keys", ["model", "messages", "stream"]],
  ["request", "expected_body_other", { stream: false }],
  ["request", "error_contains", "anything"],
  ["request", "output_schema", {}],
  ["schema", "error_contains", "other words"],
  ["schema", "output_schema", null],
  ["stream", "expected_events", []],
  ["stream", "end", "eof"],
  ["stream", "end", "never"],
  ["bytes", "expected_events", [{ type: "completed", response_id: "x", token_usage: null }]],
  ["bytes", "sse_chunks_base64", ["gA=="]],
  ["aggregate", "mode", "aggregated_only"],
  ["aggregate", "mode", "other"],
  ["aggregate", "events_out", []],
  ["tools", "expected_chat_tools", []],
  ["path", "expected_path", "/chat/completions"],
  ["table", "expected", { ok: false }],
  ["table", "expected", { ok: true, parsed: { name: "B" } }],
  ["table", "expected", { ok: true, warning_contains: "x" }],
  ["table", "level", "other"],
  ["config", "expected", { ok: true }],
  ["config", "expected", { ok: false, stderr: "other" }],
  ["config", "expected", { ok: false, error_contains: "other" }],
  ["config", "expected", { ok: false, exit_code: 1 }],
  ["warning", "expected", { ok: true, warning_contains: "`b` is ignored" }],
  ["path", "color", "red"],
  ["path", "kind", "chat_color"],
  ["path", "expected_path", undefined],
];

test.each(changes)("the check reports a changed vector: %s with %s = %j", (id, field, value) => {
  const vector = localVectors.find((entry) => entry.id === id);
  if (vector === undefined) throw new Error(`no vector ${id}`);
  const { [field]: _removed, ...rest } = vector;
  const changed = value === undefined ? rest : { ...rest, [field]: value };
  expect(findVectorFaults(changed as Vector)).not.toEqual([]);
});

test("npm run vectors prints failed vectors with expected and actual output, and the totals", () => {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-vectors-"));
  const run = (content: unknown) => {
    const file = join(folder, "vectors.json");
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    return runCommand(file);
  };
  try {
    expect(run({ vectors: localVectors })).toEqual({
      status: 0,
      stdout: `${localVectors.length} passed, 0 failed\n`,
      stderr: "",
    });
    const failingVector = { ...localVectors[7], name: "a wrong path", expected_path: "x" };
    expect(run({ vectors: [localVectors[7], failingVector] })).toEqual({
      status: 1,
      stdout:
        'FAILED bare path: a wrong path\n  expected_path:\n    expected "x"\n    got      "responses"\n1 passed, 1 failed\n',
      stderr: "",
    });
    expect(run({ vectors: [] })).toMatchObject({ status: 1 });
    expect(run({ quirks: [] })).toMatchObject({ status: 2 });
    expect(run("no json")).toMatchObject({ status: 2 });
    expect(runCommand(join(folder, "absent.json"))).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/does not exist\.\nUsage: npm run vectors -- FILE\.json/),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function runCommand(file: string) {
  const command = fileURLToPath(new URL("../check/vectors.ts", import.meta.url));
  const args = ["--conditions=@deltawire/source", command, file];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stdout, stderr };
}
