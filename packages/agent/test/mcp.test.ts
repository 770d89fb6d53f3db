import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  connectMcp,
  type McpServer,
  type Tool,
  type ToolContext,
  type ToolGroup,
} from "@deltawire/agent";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { McpError } from "../src/mcp/error.ts";
import { toolNames } from "../src/mcp/tool-names.ts";
import { httpToolServer, png, type HttpServer } from "./mcp-server.ts";

const program = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
const open: { close?(): Promise<void> }[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  for (const one of open.splice(0)) await one.close?.();
});

/** The group of a server that runs, and the warnings about it. */
async function connected(
  server: Partial<McpServer>,
): Promise<{ group: ToolGroup; warnings: string[]; tool: (name: string) => Tool }> {
  const warnings: string[] = [];
  const group = await connectMcp({
    name: "srv",
    onWarning: (message) => warnings.push(message),
    ...server,
  });
  open.unshift(group);
  const tool = (name: string): Tool => {
    const found = group.tools.find((one) => one.name === `srv__${name}`);
    if (found === undefined) throw new Error(`there is no tool ${name}`);
    return found;
  };
  return { group, warnings, tool };
}

async function httpServer(era: "legacy" | "modern", port = 0): Promise<HttpServer> {
  const server = await httpToolServer(era, port);
  open.push(server);
  return server;
}

const stdio = (...args: string[]): Partial<McpServer> => ({
  command: process.execPath,
  args: [program, ...args],
});

const http = async (): Promise<Partial<McpServer>> => ({ url: (await httpServer("legacy")).url });

interface Output {
  message_content: unknown[];
  block_list: { text?: string }[];
}

async function ran(
  tool: Tool,
  input: unknown = {},
  more: Partial<ToolContext> = {},
): Promise<Output> {
  const context = {
    signal: new AbortController().signal,
    taskId: "task",
    callId: "call",
    idempotencyKey: "key",
    attempt: 1,
    progress: () => undefined,
    ...more,
  } as ToolContext;
  return (await tool.run(input, context)) as Output;
}

const wordsOf = ({ block_list: [first] }: Output): string => first?.text ?? "";

const failing = (run: Promise<unknown>): Promise<McpError> =>
  run.then(
    () => expect.fail("it worked"),
    (error: unknown) => error as McpError,
  );

const servers = [
  ["on standard input and output", () => Promise.resolve(stdio())],
  ["on standard input and output, of the protocol of 2026", () => Promise.resolve(stdio("modern"))],
  ["over HTTP", http],
  ["over HTTP, of the protocol of 2026", async () => ({ url: (await httpServer("modern")).url })],
] as const;

describe.each(servers)("a server %s", (_name, start) => {
  test("has tools with what it says of them, and gives text, media, documents and errors", async () => {
    const { group, tool, warnings } = await connected(await start());
    expect(warnings).toEqual([]);
    expect(group.rules).toBe("About the tools whose names begin with srv__:\nAdd before you look.");
    expect(tool("add")).toMatchObject({
      description: "Adds two numbers",
      effect: "pure",
      approval: { call: "auto" },
      parallel: true,
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
    });
    expect(tool("add").parameters).not.toHaveProperty("$schema");
    expect(tool("media")).toMatchObject({ effect: "idempotent", approval: { call: "ask once" } });
    expect(tool("documents")).toMatchObject({ effect: "once", approval: { call: "auto" } });
    expect(tool("fail")).toMatchObject({
      effect: "once",
      approval: { call: "ask once" },
      anyArguments: false,
    });

    expect(await ran(tool("add"), { a: 1, b: 2 })).toEqual({
      message_content: [{ type: "text", text: '{\n  "sum": 3\n}', id: 1 }],
      block_list: [{ type: "data", data: { sum: 3 }, id: 1 }],
    });
    const media = [
      { type: "text", text: "a picture and a sound", id: 1 },
      { type: "image", bytes: png, media_type: "image/png", id: 2 },
      { type: "audio", bytes: Buffer.from("beep"), media_type: "audio/wav", id: 3 },
    ];
    expect(await ran(tool("media"))).toEqual({ message_content: media, block_list: media });
    expect((await ran(tool("documents"))).block_list).toEqual([
      {
        type: "text",
        text: "the text",
        title: "https://example.com/a.txt",
        url: "https://example.com/a.txt",
        id: 1,
      },
      {
        type: "file",
        bytes: Buffer.from("%PDF"),
        media_type: "application/pdf",
        filename: "report.pdf",
        title: "file:///srv/report.pdf?page=2",
        id: 2,
      },
      {
        type: "text",
        text: "More of it: https://example.com/more\nWhere it goes on",
        title: "More of it",
        url: "https://example.com/more",
        id: 3,
      },
    ]);
    expect(wordsOf(await ran(tool("nothing")))).toBe("(no output)");
    expect(await failing(ran(tool("fail")))).toMatchObject({
      code: "mcp_tool_failed",
      message: "the disk is full\nfree some space",
    });
  });

  test("shows its log lines as progress of the only call under way, and of none if there are several", async () => {
    const { tool } = await connected(await start());
    const told: unknown[] = [];
    const progress = (message: string): void => void told.push(message);
    const lines = ["details", "reading", { message: "writing" }, "closing"];
    await ran(tool("talk"), { lines, ms: 150 }, { progress });
    expect(told).toEqual(["reading", "writing", "closing"].slice(0, Math.max(1, told.length)));
    expect(told.length).toBeGreaterThan(0);
    told.length = 0;
    const stop = new AbortController();
    const { promise: heard, resolve } = Promise.withResolvers<void>();
    const first = ran(
      tool("talk"),
      { lines: ["first"], ms: 60_000 },
      {
        signal: stop.signal,
        progress: (message) => {
          told.push(message);
          resolve();
        },
      },
    );
    await heard;
    await ran(tool("talk"), { lines: ["second"], ms: 0 }, { progress });
    stop.abort();
    await failing(first);
    expect(told).toEqual(["first"]);
  });

  test("tells its progress, and is told when a call is cancelled", async () => {
    const { tool } = await connected(await start());
    const told: unknown[][] = [];
    const progress = (...args: unknown[]): void => void told.push(args);
    const before = Number(wordsOf(await ran(tool("cancelled"))));
    expect(wordsOf(await ran(tool("slow"), { ms: 400 }, { progress }))).toBe("done");
    const steps = [
      ["step 1", 0.25],
      ["step 2", 0.5],
      ["step 3", 0.75],
      ["step 4", 1],
    ];
    // On a busy machine steps come within 100 ms of each other, or together with the result: then some are left out.
    expect(told[0]).toEqual(steps[0]);
    expect(told).toEqual(steps.filter(([name]) => told.some(([message]) => message === name)));

    const stop = new AbortController();
    const slow = ran(
      tool("slow"),
      { ms: 8000 },
      {
        signal: stop.signal,
        progress: () => stop.abort(),
      },
    );
    const began = performance.now();
    await failing(slow);
    expect(performance.now() - began).toBeLessThan(4000);
    await expect
      .poll(async () => Number(wordsOf(await ran(tool("cancelled")))), { timeout: 30_000 })
      .toBe(before + 1);
  });
});

test("names are made of what every provider takes, and stay apart", async () => {
  const { group } = await connected(await http());
  const names = group.tools.map(({ name }) => name);
  for (const name of names) expect(name).toMatch(/^[A-Za-z_][\w-]{0,63}$/);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain("srv__odd_name");
  const tools = group.tools.filter(({ name }) => name.startsWith("srv__odd_name"));
  const said = await Promise.all(tools.map(async (tool) => wordsOf(await ran(tool))));
  expect(said.toSorted()).toEqual(["with a dot", "with a line"]);
});

test("the name of a tool does not depend on where it stands in the list", () => {
  const own = ["a.b", "a_b", "a/b", "ä", "x".repeat(80), `${"x".repeat(80)}y`];
  const there = toolNames("srv", own);
  expect(toolNames("srv", own.toReversed())).toEqual(new Map([...there].toReversed()));
  expect(new Set(there.values()).size).toBe(own.length);
});

test("only the tools that are wanted are there, with the policy that is configured", async () => {
  const { group, warnings } = await connected({
    ...(await http()),
    tools: ["add", "odd.name", "subtract"],
    approval: { call: "ask always", result: "on error" },
    unmask: false,
    timeoutMs: 1234,
  });
  expect(group.tools.map(({ name }) => name)).toEqual([
    "srv__add",
    expect.stringMatching(/^srv__odd_name_\w{8}$/),
  ]);
  expect(group.tools[0]).toMatchObject({
    approval: { call: "ask always", result: "on error" },
    unmask: false,
    timeoutMs: 1234,
  });
  expect(warnings).toEqual(['the MCP server "srv" has no tool "subtract"']);
});

test("arguments that do not fit are found before the server is asked", async () => {
  const { tool } = await connected(await http());
  expect(await tool("add").check({ a: 1 })).toMatchObject({ ok: false });
  expect(await failing(ran(tool("add"), { a: "one", b: 2 }))).toMatchObject({
    message: expect.stringContaining("a") as string,
  });
});

test("a list of tools that changes is read again", async () => {
  const { group, tool } = await connected(await http());
  await ran(tool("grow"));
  await expect
    .poll(() => group.tools.some(({ name }) => name === "srv__grown"), { timeout: 30_000 })
    .toBe(true);
  expect(wordsOf(await ran(tool("grown")))).toBe("I am new");
});

test("a program that crashes in a call is said to, with its last words, and is there for the next call", async () => {
  const { tool } = await connected({ ...stdio(), env: { TOOL_KEY: "key-of-tool-0123456789" } });
  const failure = await failing(ran(tool("crash")));
  expect(failure).toMatchObject({ code: "mcp_ended" });
  expect(failure.message).toContain("it ended with code 3");
  expect(failure.message).toContain("out of memory with [redacted]");
  expect(await ran(tool("add"), { a: 2, b: 2 })).toMatchObject({
    block_list: [{ data: { sum: 4 } }],
  });
});

test("a program that was killed between two calls is started again, once for all who ask", async () => {
  const { tool } = await connected(stdio());
  const [pid] = JSON.parse(wordsOf(await ran(tool("processes")))) as [number, number];
  process.kill(pid, "SIGKILL");
  // Who calls before its end has been noticed is told that the call may have been done.
  await expect.poll(() => isNoticed(pid), { timeout: 30_000 }).toBe(true);
  const answers = await Promise.all([1, 2, 3].map(() => ran(tool("processes"))));
  const pids = answers.map((answer) => (JSON.parse(wordsOf(answer)) as [number, number])[0]);
  expect(new Set(pids).size).toBe(1);
  expect(pids[0]).not.toBe(pid);
});

test("a program gets the usual variables and its own, and nothing else of our environment", async () => {
  vi.stubEnv("DELTAWIRE_SECRET", "not for tools");
  vi.stubEnv("OPENAI_API_KEY", "sk-not-for-tools");
  vi.stubEnv("LANG", "C.UTF-8");
  const { tool } = await connected({ ...stdio(), env: { TOOL_MODE: "for a tool" } });
  const told = JSON.parse(wordsOf(await ran(tool("environment")))) as Record<string, string>;
  expect(told).toMatchObject({
    PATH: process.env["PATH"],
    LANG: "C.UTF-8",
    TOOL_MODE: "for a tool",
  });
  const usual = /^(?:PATH|HOME|SHELL|TERM|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TMPDIR|TZ)$/;
  const others = Object.keys(told).filter((name) => !usual.test(name) && name !== "TOOL_MODE");
  // macOS adds one of its own.
  expect(others.filter((name) => !name.startsWith("__CF"))).toEqual([]);
});

test("closing ends the program and what it has started, and calls after that say so", async () => {
  const { group, tool } = await connected(stdio());
  const add = tool("add");
  const pids = JSON.parse(wordsOf(await ran(tool("processes")))) as number[];
  expect(pids.map(isRunning)).toEqual([true, true]);
  await group.close?.();
  await expect.poll(() => pids.map(isRunning), { timeout: 30_000 }).toEqual([false, false]);
  expect(await failing(ran(add, { a: 1, b: 1 }))).toMatchObject({ code: "mcp_closed" });
});

test("closing does not wait for a program that never answers", async () => {
  const server = {
    name: "srv",
    command: process.execPath,
    args: ["-e", "setInterval(() => {}, 1e6)"],
  };
  const { McpGroup } = await import("../src/mcp/group.ts");
  const hanging = new McpGroup(server);
  const starting = hanging.start();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const began = performance.now();
  await hanging.close();
  await starting;
  // A start has thirty seconds.
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(hanging.tools).toEqual([]);
});

test.each<[string, Partial<McpServer>, RegExp]>([
  [
    "that is not there",
    // A bare name gives EACCES where PATH has a folder that this user cannot enter.
    { command: join(import.meta.dirname, "no-such-program-of-ours") },
    /cannot be reached: .*ENOENT/,
  ],
  ["that ends at once", stdio("dies"), /it ended with code 7; it said: no licence/],
  [
    "that says nothing",
    { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], startTimeoutMs: 100 },
    /cannot be reached: .*timed out/i,
  ],
  ["at an address where nobody is", { url: "http://127.0.0.1:1/mcp" }, /cannot be reached/],
])("a server %s is warned of, and has no tools", async (_name, server, words) => {
  const { group, warnings } = await connected(server);
  expect(group.tools).toEqual([]);
  expect(group.rules).toBe("");
  expect(warnings).toEqual([expect.stringMatching(words)]);
});

test("a server that could not be reached is asked again when its tools are wanted later", async () => {
  const first = await httpServer("legacy");
  const port = Number(new URL(first.url).port);
  await first.close();
  open.splice(open.indexOf(first), 1);
  const { group } = await connected({ url: first.url });
  expect(group.tools).toEqual([]);
  await httpServer("legacy", port);
  expect(group.tools).toEqual([]);
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.advanceTimersByTime(3_600_000);
  expect(group.tools).toEqual([]);
  vi.useRealTimers();
  await expect.poll(() => group.tools.length, { timeout: 30_000 }).toBeGreaterThan(0);
});

test("a server over HTTP that was started again has forgotten the session, and the call is made in a new one", async () => {
  const server = await httpServer("legacy");
  const { tool } = await connected({ url: server.url });
  server.forget();
  expect(await ran(tool("add"), { a: 1, b: 1 })).toMatchObject({
    block_list: [{ data: { sum: 2 } }],
  });
});

test("a server over HTTP that is gone is tried a few times, told of, and found again", async () => {
  const first = await httpServer("legacy");
  const { tool } = await connected({ url: first.url });
  const add = tool("add");
  await first.close();
  open.splice(open.indexOf(first), 1);
  const failure = await failing(ran(add, { a: 1, b: 1 }));
  expect(failure).toMatchObject({ code: "mcp_unreachable" });
  expect(failure.message).toContain('the MCP server "srv" cannot be reached');
  await httpServer("legacy", Number(new URL(first.url).port));
  expect(await ran(add, { a: 1, b: 1 })).toMatchObject({ block_list: [{ data: { sum: 2 } }] });
});

test("a server over HTTP gets the headers, and no message has them", async () => {
  const server = await httpServer("legacy");
  const secret = "token-of-tools-0123";
  await connected({ url: server.url, headers: { authorization: `Bearer ${secret}` } });
  expect(server.headers.every(({ authorization }) => authorization === `Bearer ${secret}`)).toBe(
    true,
  );
  const { warnings } = await connected({
    url: `http://127.0.0.1:1/mcp?token=${secret}`,
    headers: { authorization: `Bearer ${secret}\n` },
  });
  expect(warnings).toHaveLength(1);
  expect(warnings.join("")).not.toContain(secret);
});

test("what a server repeats of its keys is in no result, no failure and no progress", async () => {
  const secret = 'token "of" tools-0123';
  const server = { env: { TOOL_KEY: secret }, secrets: ["another-secret"] };
  const { tool } = await connected({ ...stdio(), ...server });
  const text = `${secret} and another-secret`;
  const told: string[] = [];
  const progress = (message: string): void => void told.push(message);
  const output = await ran(tool("repeat"), { text });
  expect(output.block_list[0]?.text).toBe("you said [redacted] and [redacted]");
  const failure = await failing(ran(tool("fail_with"), { text }, { progress }));
  expect(failure.message).toBe("[redacted] and [redacted] is wrong");
  expect(told).toEqual(["trying [redacted] and [redacted]"]);
  expect(JSON.stringify(output)).not.toMatch(/tools-0123|another-secret/);
});

describe("a server over HTTP that redirects", () => {
  async function redirecting(to: () => string): Promise<string> {
    const server = createServer((_request, response) => {
      response.writeHead(307, { location: to() }).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    open.push({ close: async () => void server.close() });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test("to another origin is refused, and that origin is sent nothing", async () => {
    const other = await httpServer("legacy");
    const url = await redirecting(() => other.url);
    const { group, warnings } = await connected({ url, headers: { "x-api-key": "key-0123456" } });
    expect(group.tools).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(other.headers).toEqual([]);
  });

  test("within its origin is followed, with its headers", async () => {
    const server = await httpServer("legacy");
    const url = server.url.replace(/mcp$/, "moved");
    const { tool } = await connected({ url, headers: { "x-api-key": "key-0123456" } });
    expect(await ran(tool("add"), { a: 1, b: 1 })).toMatchObject({
      block_list: [{ data: { sum: 2 } }],
    });
    expect(new Set(server.headers.map((headers) => headers["x-api-key"]))).toEqual(
      new Set(["key-0123456"]),
    );
  });
});

test("a start that nobody waits for any more is ended", async () => {
  const leave = new AbortController();
  const began = performance.now();
  const hanging = connected({
    command: process.execPath,
    args: ["-e", "setInterval(() => {}, 1e6)"],
    signal: leave.signal,
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  leave.abort();
  const { group, warnings } = await hanging;
  expect(performance.now() - began).toBeLessThan(10_000);
  expect([group.tools, warnings]).toEqual([[], []]);
});

test("how long a server cannot be reached is known", async () => {
  const first = await httpServer("legacy");
  const reached = await connectMcp({ name: "srv", url: first.url });
  open.unshift(reached);
  expect(reached.missingForMs).toBeUndefined();
  const missing = await connectMcp({ name: "srv", url: "http://127.0.0.1:1/mcp" });
  open.unshift(missing);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(missing.missingForMs).toBeGreaterThan(10);
});

test("a server is a program or an address", async () => {
  await expect(connectMcp({ name: "srv" })).rejects.toThrow(TypeError);
  await expect(connectMcp({ name: "srv", command: "x", url: "http://x" })).rejects.toThrow(
    "either a command or a url",
  );
});

/** Whether the end of a child of ours has been noticed here. */
function isNoticed(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** Not one that has ended and that nobody has asked for its code. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", `${pid}`], { encoding: "utf8" });
  return /^[^Z]/.test(stdout.trim());
}
