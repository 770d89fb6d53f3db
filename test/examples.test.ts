import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { build, type Rolldown } from "vite";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startReadmeGateway } from "./readme-gateway.ts";
import { root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

// Starting processes may be slow on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

const outputs: Record<string, string[]> = {
  "complete-tool-calls.ts": [
    "run get_weather with { city: 'Paris' }",
    "run get_weather with { city: 'Rome' }",
    "run get_time with { zone: 'CET' }",
    "repaired: arguments_cumulative, call_id_generated, call_leaked, finish_corrected",
  ],
  "misbehaving-stream.ts": [
    "{",
    "  ok: true,",
    "  completion: {",
    "    id: 'chatcmpl-9',",
    "    object: 'chat.completion',",
    "    created: 1753000000,",
    "    model: 'm-thinking',",
    "    usage: { prompt_tokens: 52, completion_tokens: 21, total_tokens: 73 },",
    "    choices: [",
    "      {",
    "        index: 0,",
    "        message: {",
    "          role: 'assistant',",
    "          content: 'I will look.',",
    "          refusal: null,",
    "          reasoning_content: 'The user wants the weather in Paris.',",
    "          tool_calls: [",
    "            {",
    "              id: 'call_7a',",
    "              type: 'function',",
    `              function: { name: 'get_weather', arguments: '{"city":"Paris"}' }`,
    "            }",
    "          ]",
    "        },",
    "        finish_reason: 'tool_calls',",
    "        logprobs: null",
    "      }",
    "    ]",
    "  }",
    "}",
    "repaired: usage_moved, reasoning_tags_split, arguments_cumulative, finish_repeated, finish_corrected",
  ],
  "wrong-finish-reason.ts": [
    'A Chat upstream calls a tool and then sends finish_reason "stop".',
    "",
    "A Responses client receives:",
    "",
    "  response.created",
    "  response.in_progress",
    "  response.output_item.added",
    "  response.content_part.added",
    `  response.output_text.delta             "I'll look at "`,
    '  response.output_text.delta             "the project."',
    "  response.output_text.done",
    "  response.content_part.done",
    "  response.output_item.done",
    "  response.output_item.added",
    '  response.function_call_arguments.delta "{\\"path\\":"',
    '  response.function_call_arguments.delta "\\".\\"}"',
    "  response.function_call_arguments.done",
    '  response.output_item.done              list_files({"path":"."}), complete: run it now',
    "  response.completed",
    "",
    "Repairs:",
    "",
    '  finish_corrected: the provider sent "stop"',
  ],
};

test.each(Object.entries(outputs))("examples/%s prints the expected output", (example, lines) => {
  expect(readExpectedOutput(example)).toBe(`${lines.join("\n")}\n`);
});

/** The output of the examples that need a gateway. */
const outputsWithGateway: Record<string, string[]> = {
  "agent.ts": [
    "guide started",
    "Asking **surveyor**.",
    'ask_for_help {"name":"surveyor","prompt":"the population of Paris"}',
    "surveyor started",
    "Calling `get_population`.",
    'get_population {"city":"Paris"}',
    '`get_population` answered: {"Paris":5000}',
    '`ask_for_help` answered: `get_population` answered: {"Paris":5000}',
    "completed",
  ],
  "chat.ts": [
    "user: Show me a list",
    "answer: Sent over the wire:",
    "",
    "1. the user's messages",
    "2. the model's reasoning",
    "   - as a summary",
    "   - or in full",
    "3. tool calls and their results",
    "2 branches",
    "2 versions of the first answer",
    "4 messages in the copy",
  ],
  "follow-task.ts": [
    "waiting aborted on purpose",
    "ended completed",
    "[ { type: 'text', text: 'Calling `get_weather`.' } ]",
    "[",
    "  {",
    "    type: 'text',",
    `    text: '\`get_weather\` answered: {"city":"Paris","temperature":"15C","condition":"sunny"} [^1]',`,
    "    annotations: [",
    "      {",
    "        type: 'reference_to_block',",
    "        reference_id: 1,",
    "        start_index: 81,",
    "        end_index: 85",
    "      }",
    "    ]",
    "  }",
    "]",
    "equal to the gateway's state: true",
  ],
};

describe("with a gateway and its demo model,", () => {
  let gateway: Awaited<ReturnType<typeof startReadmeGateway>>;
  beforeAll(async () => {
    gateway = await startReadmeGateway();
    vi.stubEnv("DELTAWIRE_URL", `${gateway.url}/v1`);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await gateway.close();
  });

  test.each(Object.entries(outputsWithGateway))(
    "examples/%s prints the expected output",
    async (example, lines) => {
      const { code, stdout, stderr } = await runNode(join(root, "examples", example));
      expect(code, stderr).toBe(0);
      expect(stdout).toBe(`${lines.join("\n")}\n`);
    },
  );
});

test("every example is tested here", () => {
  const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"));
  const testedExamples = [...Object.keys(outputs), ...Object.keys(outputsWithGateway)];
  expect(testedExamples.toSorted()).toEqual(examples.toSorted());
});

test("examples/agent.ts has at most thirty lines of code", () => {
  expect(listCodeLines("agent.ts").length).toBeLessThanOrEqual(30);
});

test.each(["complete-tool-calls.ts", "misbehaving-stream.ts"])(
  "examples/%s has ten lines of code",
  (example) => {
    expect(listCodeLines(example).filter((line) => !line.startsWith("import "))).toHaveLength(10);
  },
);

describe("examples/browser/page.ts, bundled", () => {
  let page: Bundle;
  beforeAll(async () => {
    page = await bundle(join(root, "examples", "browser", "page.ts"));
  });

  test("contains no Node modules and no other packages", () => {
    expect(page.imports).toEqual([]);
    expect(page.code).not.toMatch(/\bnode:|\brequire\b|\bprocess\b|\bBuffer\b|\bimport\b/);
    expect(
      page.modules.filter((file) => !/\/(?:examples|packages\/wire\/src)\//.test(file)),
    ).toEqual([]);
  });

  test("prints the expected output with only web globals", async () => {
    const printed: string[] = [];
    const log = (line: unknown): void => void printed.push(String(line));
    const globals = {
      TextDecoder,
      ReadableStream,
      queueMicrotask,
      setTimeout,
      console: { log, error: log },
    };
    runInContext(page.code, createContext(globals));
    await vi.waitFor(() => expect(printed.at(-1)).toMatch(/^repaired: /));
    expect(printed).toEqual([
      "response.created",
      "response.in_progress",
      "text: I will ",
      "text: look.",
      "response.completed",
      'run get_weather with {"city":"Paris"}',
      "repaired: finish_corrected, arguments_cumulative",
    ]);
  });

  test("has at most 28 KB compressed, with all fields of a response object", async () => {
    const completePackage = await bundle(join(root, "packages", "wire", "src", "index.ts"));
    console.log(
      `The page's bundle: ${formatSizes(page)}. All of @deltawire/wire: ${formatSizes(completePackage)}.`,
    );
    expect(getCompressedSize(page)).toBeLessThanOrEqual(28_000);
    expect(completePackage.imports).toEqual([]);
  });
});

describe("examples/browser/task.ts, bundled", () => {
  let page: Bundle;
  beforeAll(async () => {
    page = await bundle(join(root, "examples", "browser", "task.ts"));
  });

  test("contains no Node modules and no other packages", () => {
    expect(page.imports).toEqual([]);
    expect(page.code).not.toMatch(/\bnode:|\brequire\b|\bprocess\b|\bBuffer\b|\bimport\b/);
    const ours = /\/(?:examples|packages\/(?:wire|tasks)\/src)\//;
    expect(page.modules.filter((file) => !ours.test(file))).toEqual([]);
  });

  test("has at most 8 KB compressed", () => {
    console.log(`A page that follows tasks: ${formatSizes(page)}.`);
    expect(getCompressedSize(page)).toBeLessThanOrEqual(8 * 1024);
  });
});

interface Bundle {
  code: string;
  imports: string[];
  modules: string[];
}

/** Bundles a script for a browser like the build of a page. */
async function bundle(entry: string): Promise<Bundle> {
  const buildOutput = await build({
    root,
    configFile: false,
    logLevel: "silent",
    resolve: { conditions: ["@deltawire/source", "module", "browser"] },
    build: { write: false, lib: { entry, formats: ["iife"], name: "page", fileName: "page" } },
  });
  const [output] = [buildOutput].flat() as Rolldown.RolldownOutput[];
  const [chunk, ...rest] = output?.output ?? [];
  if (chunk?.type !== "chunk" || rest.length > 0) throw new Error("expected one script");
  const imports = [...chunk.imports, ...chunk.dynamicImports];
  return { code: chunk.code, imports, modules: chunk.moduleIds };
}

/** Returns the lines of an example that are neither comments nor blank. */
function listCodeLines(example: string): string[] {
  const text = readFileSync(join(root, "examples", example), "utf8");
  return text
    .replace(/\/\*[^]*?\*\//g, "")
    .split("\n")
    .filter((line) => line !== "");
}

function getCompressedSize({ code }: Bundle): number {
  return gzipSync(code, { level: 9 }).length;
}

function formatSizes(bundleResult: Bundle): string {
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`;
  return `${kilobytes(Buffer.byteLength(bundleResult.code))}, compressed ${kilobytes(getCompressedSize(bundleResult))}`;
}

function readExpectedOutput(example: string): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@deltawire/source", join("examples", example)],
    { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined } },
  );
  expect(status, stderr).toBe(0);
  return stdout;
}
