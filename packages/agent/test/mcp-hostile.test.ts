import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import {
  connectMcp,
  type McpServer,
  type McpToolGroup,
  type Tool,
  type ToolContext,
} from "@deltawire/agent";
import { afterEach, describe, expect, test, vi } from "vitest";
import { awaitedWorkTime, workTime } from "../../../test/work-time.ts";
import { outputOf } from "../src/mcp/output.ts";

/* Servers of tools that send what no server should. */

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
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

/** A server over HTTP. `answer` is asked for everything but the handshake. */
async function httpServer(
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
  open.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A program that answers the handshake and the list, and runs `onCall` for a call, with `message` and `say`. */
function program(onCall: string): Partial<McpServer> {
  const source = `
    const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
    require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const message = JSON.parse(line);
      const { id, method } = message;
      if (method === "initialize") say({ jsonrpc: "2.0", id, result: ${JSON.stringify(initialized)} });
      else if (method === "tools/list") say({ jsonrpc: "2.0", id, result: { tools: [${JSON.stringify(anyTool)}] } });
      else if (method === "tools/call") { ${onCall} }
    });`;
  return { command: process.execPath, args: ["-e", source] };
}

async function connected(
  server: Partial<McpServer>,
): Promise<{ group: McpToolGroup; warnings: string[]; tool: Tool }> {
  const warnings: string[] = [];
  const group = await connectMcp({
    name: "srv",
    onWarning: (message) => warnings.push(message),
    ...server,
  });
  open.push(() => group.close());
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

const withTools =
  (call: (message: Message, response: ServerResponse) => void) =>
  (message: Message, response: ServerResponse): void => {
    if (message.method === "tools/list") response.end(reply(message.id, { tools: [anyTool] }));
    else call(message, response);
  };

const megabyte = Buffer.alloc(1024 * 1024, 0x20);

/** Sends a megabyte again and again, until nobody reads any more. */
function flood(response: ServerResponse, bytes = megabyte): void {
  const more = (): void => {
    if (!response.destroyed) response.write(bytes, more);
  };
  more();
}

describe("replies over HTTP", () => {
  test.each<[string, (message: Message, response: ServerResponse) => void]>([
    ["JSON without an end", (_, response) => flood(response)],
    [
      "an event without an end",
      (_, response) => {
        response.setHeader("content-type", "text/event-stream");
        response.write("data: ");
        flood(response);
      },
    ],
    [
      "packed JSON that unpacks to a hundred times as much",
      (_, response) => {
        response.setHeader("content-encoding", "gzip");
        response.end(gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)));
      },
    ],
  ])("%s ends with an error that says so", async (_, call) => {
    const { tool } = await connected({ url: await httpServer(withTools(call)) });
    await expect(run(tool)).rejects.toThrow("it sent a message of more than 16777216 bytes");
  });

  test.each(["application/json", "text/event-stream"])(
    "millions of values in %s are refused before they are parsed, and the next call works",
    async (type) => {
      const values = "{},".repeat(3_000_000);
      let calls = 0;
      const url = await httpServer(
        withTools(({ id }, response) => {
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
      const { tool } = await connected({ url });
      const took = await awaitedWorkTime(async () => {
        await expect(run(tool)).rejects.toThrow("has more than 250000 JSON values");
      });
      expect(took).toBeLessThan(1500);
      expect((await run(tool)).block_list[0]?.text).toBe("fine");
    },
  );

  test("JSON that cannot be parsed is not quoted: the parser would show a part of a key", async () => {
    const key = "tk-4f81c6d20b7e9a35";
    const url = await httpServer(withTools((_, response) => response.end(`{"key": ${key}}`)));
    const { tool } = await connected({ url, headers: { authorization: `Bearer ${key}` } });
    const failure = await run(tool).catch(String);
    expect(failure).toContain("it sent a message that is not JSON");
    expect(failure).not.toContain(key.slice(0, 6));
  });

  test("an error page without an end is quoted in part", async () => {
    const { tool } = await connected({
      url: await httpServer(
        withTools((_, response) => {
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
  test("of 40,000 parts the first thousand are used, with a notice", async () => {
    const content = Array.from({ length: 40_000 }, () => ({ type: "text", text: "x" }));
    const { tool } = await connected({
      url: await httpServer(withTools(({ id }, response) => response.end(reply(id, { content })))),
    });
    let output: Output | undefined;
    const took = await awaitedWorkTime(async () => (output = await run(tool)));
    expect(output?.block_list).toHaveLength(1001);
    expect(output?.block_list.at(-1)?.text).toBe(
      "(39000 more parts were left out: a result has 1000 at the most)",
    );
    expect(took).toBeLessThan(1500);
  });

  test("addresses of any length and form take no time", () => {
    const uri = `file:///${"/".repeat(200_000)}x`;
    let output: Output | undefined;
    const took = workTime(() => {
      output = outputOf(
        {
          content: [
            { type: "resource", resource: { uri, blob: "" } },
            { type: "resource", resource: { uri: "file:///srv/report.pdf///?a/b", blob: "" } },
          ],
        },
        (text) => text,
      );
    });
    expect(took).toBeLessThan(200);
    expect(output?.block_list[0]).toMatchObject({ filename: "x" });
    expect(output?.block_list[0]?.title?.length).toBeLessThan(2100);
    expect(output?.block_list[1]).toMatchObject({ filename: "report.pdf" });
  });

  test("structured content of more than a million characters is shown as text", () => {
    const rows = Array.from({ length: 60_000 }, (_, index) => `row number ${index}`);
    const output = outputOf({ content: [], structuredContent: { rows } }, (text) => text) as Output;
    expect(output.block_list.map(({ type }) => type)).toEqual(["text"]);
  });
});

describe("lists of tools", () => {
  const listing = (tools: (cursor: string | undefined) => object): Promise<string> =>
    httpServer(({ id, params }, response) => response.end(reply(id, tools(params?.cursor))));

  test("that never end are cut, with a warning", async () => {
    const { group, warnings } = await connected({
      url: await listing((cursor = "0") => ({
        tools: [{ ...anyTool, name: `tool${cursor}` }],
        nextCursor: String(Number(cursor) + 1),
      })),
    });
    expect(group.tools).toHaveLength(50);
    expect(warnings).toEqual([
      'the MCP server "srv" lists its tools on more than 50 pages; the rest is left out',
    ]);
  });

  test("of too many tools are cut, with a warning", async () => {
    const { group, warnings } = await connected({
      url: await listing(() => ({
        tools: Array.from({ length: 20_000 }, (_, at) => ({ ...anyTool, name: `t${at}` })),
      })),
    });
    expect(group.tools).toHaveLength(1000);
    expect(warnings).toEqual([
      'the MCP server "srv" has more than 1000 tools; the rest is left out',
    ]);
  });

  test("keep the tools that can be used", async () => {
    let deep: object = {};
    for (let level = 0; level < 100; level += 1) deep = { items: deep };
    const long = { description: "x".repeat(300_000) };
    const { group, warnings } = await connected({
      url: await listing(() => ({
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
      '1 tools of "srv" have names of more than 256 characters and are left out',
      'the tool "deep" of "srv" cannot be used: its schema is nested deeper than 64 levels',
      expect.stringMatching(/^the tool "long" of "srv" cannot be used: its schema has 30\d+ char/),
    ]);
  });

  test("with a schema that cannot be fully checked work, with a warning at the first call", async () => {
    const inputSchema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { a: { pattern: "(?i)x" }, b: { $ref: "https://pages.example/b" } },
    };
    const url = await httpServer(({ id, method }, response) => {
      const tools = [{ ...anyTool, inputSchema }];
      response.end(reply(id, method === "tools/list" ? { tools } : { content: [] }));
    });
    const { tool, warnings } = await connected({ url });
    expect(tool.parameters).not.toHaveProperty("$schema");
    expect(await tool.check({ a: "y" })).toMatchObject({ ok: true });
    expect(warnings).toEqual([]);
    for (let call = 0; call < 2; call += 1) await run(tool);
    expect(warnings).toEqual([
      'the arguments of "look" of "srv" are not fully checked: $ref https://pages.example/b is not in the schema',
      'the arguments of "look" of "srv" are not fully checked: the pattern (?i)x cannot be used',
    ]);
  });

  test("with an output schema that takes for ever to check do not stop a call", async () => {
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
    const url = await httpServer(({ id, method }, response) =>
      response.end(
        reply(
          id,
          method === "tools/list"
            ? { tools: [{ ...anyTool, outputSchema }] }
            : { content: [], structuredContent },
        ),
      ),
    );
    const { tool } = await connected({ url });
    let output: Output | undefined;
    expect(await awaitedWorkTime(async () => (output = await run(tool)))).toBeLessThan(1000);
    expect(output?.block_list).toMatchObject([{ type: "data", data: structuredContent }]);
  });
});

describe("programs", () => {
  test.each([
    [
      "a line without an end",
      "const more = () => process.stdout.write(Buffer.alloc(1 << 20, 32), more); more();",
      "more than 16777216 bytes",
    ],
    [
      "millions of values",
      'process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":[` + "{},".repeat(3e6) + "{}]}}\\n");',
      "more than 250000 JSON values",
    ],
  ])("that send %s fail the call, which says why", async (_, onCall, problem) => {
    const { tool } = await connected(program(onCall));
    await expect(run(tool)).rejects.toThrow(problem);
  });

  test.each([
    ["with its id before the result", '`{"jsonrpc":"2.0","id":${id},"result":{"x":"${long}"}}`'],
    ["with its id behind the result", '`{"result":{"x":"${long}"},"jsonrpc":"2.0","id":${id}}`'],
    ["with an id in the result", '`{"jsonrpc":"2.0","id":${id},"result":{"x":"${long}","id":0}}`'],
  ])(
    "that send a message that is too long, %s, fail only its call",
    async (_, message) => {
      // The first call is answered after the second, whose result is too long.
      const { tool } = await connected(
        program(`
        const long = "y".repeat(17 << 20);
        if (globalThis.first === undefined) globalThis.first = id;
        else if (globalThis.first !== 0) {
          process.stdout.write(${message} + "\\n");
          say({ jsonrpc: "2.0", id: globalThis.first, result: { content: [{ type: "text", text: "first" }] } });
          globalThis.first = 0;
        } else say({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "third" }] } });`),
      );
      const first = run(tool);
      await expect(run(tool)).rejects.toThrow("more than 16777216 bytes");
      expect((await first).block_list[0]?.text).toBe("first");
      expect((await run(tool)).block_list[0]?.text).toBe("third");
    },
    60_000,
  );

  test("that send a large message in small pieces cost time that grows with its size", async () => {
    const { tool } = await connected(
      program(
        'say({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "x".repeat(12e6) }] } });',
      ),
    );
    let output: Output | undefined;
    expect(await awaitedWorkTime(async () => (output = await run(tool)))).toBeLessThan(1000);
    expect(output?.block_list[0]?.text).toHaveLength(12_000_000);
  });

  test("that flood with progress, log messages, requests and news are heard now and then", async () => {
    const { tool, warnings } = await connected(
      program(`
        const progressToken = message.params._meta.progressToken;
        for (let progress = 1; progress <= 20000; progress += 1) {
          say({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "noise" } });
          say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
          say({ jsonrpc: "2.0", id: "r" + progress, method: "ping" });
        }
        for (let progress = 1; progress <= 20000; progress += 1)
          say({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress } });
        process.stderr.write("e".repeat(5e6));
        say({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } });`),
    );
    const reports: string[] = [];
    let output: Output | undefined;
    const took = await awaitedWorkTime(async () => {
      output = await run(tool, { progress: (message) => reports.push(message) });
    });
    expect(output?.block_list[0]?.text).toBe("done");
    expect(reports.length).toBeLessThan(100);
    expect(took).toBeLessThan(3000);
    expect(warnings).toEqual([]);
  });

  test("that report progress together with the result are heard before it", async () => {
    const { tool } = await connected(
      program(`
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
