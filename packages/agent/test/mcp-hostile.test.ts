import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import {
  connectMcp,
  type McpServerConfig,
  type McpToolGroup,
  type Tool,
  type ToolContext,
} from "@deltawire/agent";
import { afterEach, describe, expect, test, vi } from "vitest";
import { measureCpuTimeAsync, measureCpuTime } from "../../../test/cpu-time.ts";
import { convertToolResult } from "../src/mcp/convert-result.ts";

/* MCP servers that send invalid or excessive messages. */

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of cleanups.splice(0).toReversed()) await close();
});

interface Message {
  id?: number;
  method?: string;
  params?: { name?: string; cursor?: string; _meta?: { progressToken?: number } };
}

const anyTool = {
  name: "look",
  inputSchema: { type: "object" },
  annotations: { readOnlyHint: true },
};
const initialized = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "hostile", version: "1" },
};
const reply = (id: number | undefined, result: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id, result });

/** Starts an HTTP server. `answer` handles everything except the handshake. */
async function startHttpServer(
  answer: (message: Message, response: ServerResponse) => void,
): Promise<string> {
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (incoming.method !== "POST") return void response.writeHead(405).end();
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
    if (message.id === undefined) return void response.writeHead(202).end();
    response.setHeader("content-type", "application/json");
    if (message.method === "initialize") return void response.end(reply(message.id, initialized));
    answer(message, response);
    return undefined;
  };
  const server = createServer((incoming, response) => void handle(incoming, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** Returns a server that handles the handshake and `tools/list`, and runs `onCall` for a call, with `message` and `send` in scope. */
function createProgram(onCall: string): Partial<McpServerConfig> {
  const source = `
    const send = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
    require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const message = JSON.parse(line);
      const { id, method } = message;
      if (method === "initialize") send({ jsonrpc: "2.0", id, result: ${JSON.stringify(initialized)} });
      else if (method === "tools/list") send({ jsonrpc: "2.0", id, result: { tools: [${JSON.stringify(anyTool)}] } });
      else if (method === "tools/call") { ${onCall} }
    });`;
  return { command: process.execPath, args: ["-e", source] };
}

async function connect(
  server: Partial<McpServerConfig>,
): Promise<{ group: McpToolGroup; warnings: string[]; tool: Tool }> {
  const warnings: string[] = [];
  const group = await connectMcp({
    name: "srv",
    onWarning: (message) => warnings.push(message),
    ...server,
  });
  cleanups.push(() => group.close());
  return { group, warnings, tool: group.tools[0] as Tool };
}

interface Output {
  message_content: { type: string; text?: string }[];
  block_list: { type: string; text?: string; title?: string }[];
}

const run = async (tool: Tool, more: Partial<ToolContext> = {}): Promise<Output> =>
  (await tool.run({}, {
    signal: new AbortController().signal,
    taskId: "task",
    callId: "call",
    idempotencyKey: "key",
    attempt: 1,
    progress: () => undefined,
    ...more,
  } as ToolContext)) as Output;

const handleCalls =
  (call: (message: Message, response: ServerResponse) => void) =>
  (message: Message, response: ServerResponse): void => {
    if (message.method === "tools/list") response.end(reply(message.id, { tools: [anyTool] }));
    else call(message, response);
  };

const megabyte = Buffer.alloc(1024 * 1024, 0x20);

/** Sends bytes repeatedly until the connection is closed. */
function flood(response: ServerResponse, bytes = megabyte): void {
  const writeMore = (): void => {
    if (!response.destroyed) response.write(bytes, writeMore);
  };
  writeMore();
}

describe("replies over HTTP", () => {
  test.each<[string, (message: Message, response: ServerResponse) => void]>([
    ["endless JSON", (_, response) => flood(response)],
    [
      "an endless event",
      (_, response) => {
        response.setHeader("content-type", "text/event-stream");
        response.write("data: ");
        flood(response);
      },
    ],
    [
      "compressed JSON that expands a hundredfold",
      (_, response) => {
        response.setHeader("content-encoding", "gzip");
        response.end(gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)));
      },
    ],
  ])("%s fails the call with a size error", async (_, call) => {
    const { tool } = await connect({ url: await startHttpServer(handleCalls(call)) });
    await expect(run(tool)).rejects.toThrow(
      "the server sent a message of more than 16777216 bytes",
    );
  });

  test.each(["application/json", "text/event-stream"])(
    "millions of values in %s are rejected before parsing, and the next call works",
    async (type) => {
      const values = "{},".repeat(3_000_000);
      let calls = 0;
      const url = await startHttpServer(
        handleCalls(({ id }, response) => {
          calls += 1;
          const content = [{ type: "text", text: "fine" }];
          const json =
            calls === 1
              ? `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":[${values}{}]}}`
              : reply(id, { content });
          response.setHeader("content-type", type);
          response.end(type === "application/json" ? json : `data: ${json}\n\n`);
        }),
      );
      const { tool } = await connect({ url });
      const elapsedMs = await measureCpuTimeAsync(async () => {
        await expect(run(tool)).rejects.toThrow("has more than 250000 JSON values");
      });
      expect(elapsedMs).toBeLessThan(1500);
      expect((await run(tool)).block_list[0]?.text).toBe("fine");
    },
  );

  test("invalid JSON is not quoted, because the parser's message could show part of a key", async () => {
    const key = "tk-4f81c6d20b7e9a35";
    const url = await startHttpServer(
      handleCalls((_, response) => response.end(`{"key": ${key}}`)),
    );
    const { tool } = await connect({ url, headers: { authorization: `Bearer ${key}` } });
    const failure = await run(tool).catch(String);
    expect(failure).toContain("the server sent a message that is not valid JSON");
    expect(failure).not.toContain(key.slice(0, 6));
  });

  test("an endless error page is quoted in part", async () => {
    const { tool } = await connect({
      url: await startHttpServer(
        handleCalls((_, response) => {
          response.writeHead(500, { "content-type": "text/html" });
          flood(response, Buffer.from("oops ".repeat(20_000)));
        }),
      ),
    });
    const failure = await run(tool).catch((error: unknown) => error as Error);
    expect(failure).toHaveProperty("message", expect.stringContaining("oops oops"));
    expect((failure as Error).message.length).toBeLessThan(6000);
  });
});

describe("results", () => {
  test("with 40,000 parts are truncated to the first thousand, with a notice", async () => {
    const content = Array.from({ length: 40_000 }, () => ({ type: "text", text: "x" }));
    const { tool } = await connect({
      url: await startHttpServer(
        handleCalls(({ id }, response) => response.end(reply(id, { content }))),
      ),
    });
    let output: Output | undefined;
    const elapsedMs = await measureCpuTimeAsync(async () => (output = await run(tool)));
    expect(output?.block_list).toHaveLength(1001);
    expect(output?.block_list.at(-1)?.text).toBe(
      "(39000 more parts omitted; the limit is 1000 parts per result)",
    );
    expect(elapsedMs).toBeLessThan(1500);
  });

  test("with very long URIs are converted quickly", () => {
    const uri = `file:///${"/".repeat(200_000)}x`;
    let output: Output | undefined;
    const elapsedMs = measureCpuTime(() => {
      output = convertToolResult(
        {
          content: [
            { type: "resource", resource: { uri, blob: "" } },
            { type: "resource", resource: { uri: "file:///srv/report.pdf///?a/b", blob: "" } },
          ],
        },
        (text) => text,
      );
    });
    expect(elapsedMs).toBeLessThan(200);
    expect(output?.block_list[0]).toMatchObject({ filename: "x" });
    expect(output?.block_list[0]?.title?.length).toBeLessThan(2100);
    expect(output?.block_list[1]).toMatchObject({ filename: "report.pdf" });
  });

  test("with more than a million characters of structured content show it as text", () => {
    const rows = Array.from({ length: 60_000 }, (_, index) => `row number ${index}`);
    const output = convertToolResult(
      { content: [], structuredContent: { rows } },
      (text) => text,
    ) as Output;
    expect(output.block_list.map(({ type }) => type)).toEqual(["text"]);
  });
});

describe("tool lists", () => {
  const startListingServer = (tools: (cursor: string | undefined) => object): Promise<string> =>
    startHttpServer(({ id, params }, response) => response.end(reply(id, tools(params?.cursor))));

  test("with endless pages are truncated, with a warning", async () => {
    const { group, warnings } = await connect({
      url: await startListingServer((cursor = "0") => ({
        tools: [{ ...anyTool, name: `tool${cursor}` }],
        nextCursor: String(Number(cursor) + 1),
      })),
    });
    expect(group.tools).toHaveLength(50);
    expect(warnings).toEqual([
      'MCP server "srv" lists its tools on more than 50 pages; the other pages are ignored',
    ]);
  });

  test("with too many tools are truncated, with a warning", async () => {
    const { group, warnings } = await connect({
      url: await startListingServer(() => ({
        tools: Array.from({ length: 20_000 }, (_, index) => ({ ...anyTool, name: `t${index}` })),
      })),
    });
    expect(group.tools).toHaveLength(1000);
    expect(warnings).toEqual(['MCP server "srv" has more than 1000 tools; the others are ignored']);
  });

  test("with some invalid tools provide the valid ones", async () => {
    let deep: object = {};
    for (let level = 0; level < 100; level += 1) deep = { items: deep };
    const long = { description: "x".repeat(300_000) };
    const { group, warnings } = await connect({
      url: await startListingServer(() => ({
        tools: [
          { ...anyTool, name: "deep", inputSchema: { type: "object", properties: { deep } } },
          { ...anyTool, name: "long", inputSchema: { type: "object", properties: { long } } },
          { ...anyTool, name: "n".repeat(1000) },
          { ...anyTool, description: "y".repeat(100_000) },
        ],
      })),
    });
    expect(group.tools.map(({ name }) => name)).toEqual(["srv__look"]);
    expect(group.tools[0]?.description.length).toBeLessThan(10_100);
    expect(warnings).toEqual([
      '1 tools of "srv" are ignored: their names have more than 256 characters',
      'the tool "deep" of "srv" cannot be used: its schema is nested deeper than 64 levels',
      expect.stringMatching(/^the tool "long" of "srv" cannot be used: its schema has 30\d+ char/),
    ]);
  });

  test("with a schema that is not fully supported can be used, with one warning on the first call", async () => {
    const inputSchema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { a: { pattern: "(?i)x" }, b: { $ref: "https://pages.example/b" } },
    };
    const url = await startHttpServer(({ id, method }, response) => {
      const tools = [{ ...anyTool, inputSchema }];
      response.end(reply(id, method === "tools/list" ? { tools } : { content: [] }));
    });
    const { tool, warnings } = await connect({ url });
    expect(tool.parameters).not.toHaveProperty("$schema");
    expect(await tool.check({ a: "y" })).toMatchObject({ ok: true });
    expect(warnings).toEqual([]);
    for (let call = 0; call < 2; call += 1) await run(tool);
    expect(warnings).toEqual([
      'the arguments of tool "look" of MCP server "srv" are not fully checked: $ref https://pages.example/b is not in the schema',
      'the arguments of tool "look" of MCP server "srv" are not fully checked: the pattern (?i)x cannot be used',
    ]);
  });

  test("with an output schema that is too complex to check do not slow down a call", async () => {
    const $defs: Record<string, object> = { level0: { type: "number" } };
    for (let level = 1; level <= 40; level += 1) {
      const below = { $ref: `#/$defs/level${level - 1}` };
      $defs[`level${level}`] = { allOf: [below, below] };
    }
    const outputSchema = {
      type: "object",
      $defs,
      properties: { a: { $ref: "#/$defs/level40" }, b: { type: "string", pattern: "^(a+)+$" } },
    };
    const structuredContent = { a: 1, b: "a".repeat(50_000) };
    const url = await startHttpServer(({ id, method }, response) =>
      response.end(
        reply(
          id,
          method === "tools/list"
            ? { tools: [{ ...anyTool, outputSchema }] }
            : { content: [], structuredContent },
        ),
      ),
    );
    const { tool } = await connect({ url });
    let output: Output | undefined;
    expect(await measureCpuTimeAsync(async () => (output = await run(tool)))).toBeLessThan(1000);
    expect(output?.block_list).toMatchObject([{ type: "data", data: structuredContent }]);
  });
});

describe("MCP programs", () => {
  test.each([
    [
      "an endless line",
      "const more = () => process.stdout.write(Buffer.alloc(1 << 20, 32), more); more();",
      "more than 16777216 bytes",
    ],
    [
      "millions of values",
      'process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":[` + "{},".repeat(3e6) + "{}]}}\\n");',
      "more than 250000 JSON values",
    ],
  ])("that send %s fail the call with the reason", async (_, onCall, problem) => {
    const { tool } = await connect(createProgram(onCall));
    await expect(run(tool)).rejects.toThrow(problem);
  });

  test.each([
    ["the id is before the result", '`{"jsonrpc":"2.0","id":${id},"result":{"x":"${long}"}}`'],
    ["the id is after the result", '`{"result":{"x":"${long}"},"jsonrpc":"2.0","id":${id}}`'],
    [
      "the result contains another id",
      '`{"jsonrpc":"2.0","id":${id},"result":{"x":"${long}","id":0}}`',
    ],
  ])(
    "that send a result that is too long fail only the call that it belongs to: %s",
    async (_, message) => {
      // The result of the second call is too long; the first call gets its result after that.
      const { tool } = await connect(
        createProgram(`
        const long = "y".repeat(17 << 20);
        if (globalThis.first === undefined) globalThis.first = id;
        else if (globalThis.first !== 0) {
          process.stdout.write(${message} + "\\n");
          send({ jsonrpc: "2.0", id: globalThis.first, result: { content: [{ type: "text", text: "first" }] } });
          globalThis.first = 0;
        } else send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "third" }] } });`),
      );
      const first = run(tool);
      await expect(run(tool)).rejects.toThrow("more than 16777216 bytes");
      expect((await first).block_list[0]?.text).toBe("first");
      expect((await run(tool)).block_list[0]?.text).toBe("third");
    },
    60_000,
  );

  test("that send a large message in small chunks are read in linear time", async () => {
    const { tool } = await connect(
      createProgram(
        'send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "x".repeat(12e6) }] } });',
      ),
    );
    let output: Output | undefined;
    expect(await measureCpuTimeAsync(async () => (output = await run(tool)))).toBeLessThan(1000);
    expect(output?.block_list[0]?.text).toHaveLength(12_000_000);
  });

  test("that flood the client with progress, logs, requests and notifications are throttled", async () => {
    const { tool, warnings } = await connect(
      createProgram(`
        const progressToken = message.params._meta.progressToken;
        for (let progress = 1; progress <= 20000; progress += 1) {
          send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "noise" } });
          send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
          send({ jsonrpc: "2.0", id: "r" + progress, method: "ping" });
        }
        for (let progress = 1; progress <= 20000; progress += 1)
          send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress } });
        process.stderr.write("e".repeat(5e6));
        send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } });`),
    );
    const reports: string[] = [];
    let output: Output | undefined;
    const elapsedMs = await measureCpuTimeAsync(async () => {
      output = await run(tool, { progress: (message) => reports.push(message) });
    });
    expect(output?.block_list[0]?.text).toBe("done");
    expect(reports.length).toBeLessThan(100);
    expect(elapsedMs).toBeLessThan(3000);
    expect(warnings).toEqual([]);
  });

  test("that send progress together with the result report what precedes the result", async () => {
    const { tool } = await connect(
      createProgram(`
        const progressToken = message.params._meta.progressToken;
        process.stdout.write(
          JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1, total: 2, message: "half" } }) + "\\n" +
          JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } }) + "\\n" +
          JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 2, total: 2, message: "late" } }) + "\\n");`),
    );
    const progress = vi.fn<(message: string, fraction?: number) => void>();
    expect((await run(tool, { progress })).block_list[0]?.text).toBe("done");
    expect(progress.mock.calls).toEqual([["half", 0.5]]);
  });
});
