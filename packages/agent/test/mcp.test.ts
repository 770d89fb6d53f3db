import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  connectMcp,
  type McpServerConfig,
  type Tool,
  type ToolContext,
  type ToolGroup,
} from "@deltawire/agent";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { McpError } from "../src/mcp/error.ts";
import { buildToolNames } from "../src/mcp/tool-names.ts";
import { startHttpToolServer, png, type HttpServer } from "./mcp-server.ts";

const program = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
const closeables: { close?(): Promise<void> }[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  for (const one of closeables.splice(0)) await one.close?.();
});

/** Connects to a server. Returns its group and warnings. */
async function connect(
  server: Partial<McpServerConfig>,
): Promise<{ group: ToolGroup; warnings: string[]; tool: (name: string) => Tool }> {
  const warnings: string[] = [];
  const group = await connectMcp({
    name: "srv",
    onWarning: (message) => warnings.push(message),
    ...server,
  });
  closeables.unshift(group);
  const tool = (name: string): Tool => {
    const found = group.tools.find((one) => one.name === `srv__${name}`);
    if (found === undefined) throw new Error(`tool ${name} not found`);
    return found;
  };
  return { group, warnings, tool };
}

async function startHttpServer(era: "legacy" | "modern", port = 0): Promise<HttpServer> {
  const server = await startHttpToolServer(era, port);
  closeables.push(server);
  return server;
}

const stdio = (...args: string[]): Partial<McpServerConfig> => ({
  command: process.execPath,
  args: [program, ...args],
});

const http = async (): Promise<Partial<McpServerConfig>> => ({
  url: (await startHttpServer("legacy")).url,
});

interface Output {
  message_content: unknown[];
  block_list: { text?: string }[];
}

async function runToolCall(
  tool: Tool,
  input: unknown = {},
  overrides: Partial<ToolContext> = {},
): Promise<Output> {
  const context = {
    signal: new AbortController().signal,
    taskId: "task",
    callId: "call",
    idempotencyKey: "key",
    attempt: 1,
    progress: () => undefined,
    ...overrides,
  } as ToolContext;
  return (await tool.run(input, context)) as Output;
}

const getText = ({ block_list: [first] }: Output): string => first?.text ?? "";

const catchError = (run: Promise<unknown>): Promise<McpError> =>
  run.then(
    () => expect.fail("expected an error"),
    (error: unknown) => error as McpError,
  );

const servers = [
  ["over stdio", () => Promise.resolve(stdio())],
  ["over stdio with the protocol of 2026", () => Promise.resolve(stdio("modern"))],
  ["over HTTP", http],
  [
    "over HTTP with the protocol of 2026",
    async () => ({ url: (await startHttpServer("modern")).url }),
  ],
] as const;

describe.each(servers)("a server %s", (_name, start) => {
  test("can have tools with annotations, and results with text, media, documents and errors", async () => {
    const { group, tool, warnings } = await connect(await start());
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
    expect(tool("media")).toMatchObject({ effect: "idempotent", approval: { call: "ask_once" } });
    expect(tool("documents")).toMatchObject({ effect: "once", approval: { call: "auto" } });
    expect(tool("fail")).toMatchObject({
      effect: "once",
      approval: { call: "ask_once" },
      allowsAnyArguments: false,
    });

    expect(await runToolCall(tool("add"), { a: 1, b: 2 })).toEqual({
      message_content: [{ type: "text", text: '{\n  "sum": 3\n}', id: 1 }],
      block_list: [{ type: "data", data: { sum: 3 }, id: 1 }],
    });
    const media = [
      { type: "text", text: "an image and an audio clip", id: 1 },
      { type: "image", bytes: png, media_type: "image/png", id: 2 },
      { type: "audio", bytes: Buffer.from("beep"), media_type: "audio/wav", id: 3 },
    ];
    expect(await runToolCall(tool("media"))).toEqual({ message_content: media, block_list: media });
    expect((await runToolCall(tool("documents"))).block_list).toEqual([
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
        text: "More of it: https://example.com/more\nThe continuation",
        title: "More of it",
        url: "https://example.com/more",
        id: 3,
      },
    ]);
    expect(getText(await runToolCall(tool("nothing")))).toBe("(no output)");
    expect(await catchError(runToolCall(tool("fail")))).toMatchObject({
      code: "mcp_tool_failed",
      message: "the disk is full\nfree some space",
    });
  });

  test("has its log lines shown as progress if one call is running, but not if several are", async () => {
    const { tool } = await connect(await start());
    const reported: unknown[] = [];
    const progress = (message: string): void => void reported.push(message);
    const lines = ["details", "reading", { message: "writing" }, "closing"];
    await runToolCall(tool("talk"), { lines, ms: 150 }, { progress });
    expect(reported).toEqual(
      ["reading", "writing", "closing"].slice(0, Math.max(1, reported.length)),
    );
    expect(reported.length).toBeGreaterThan(0);
    reported.length = 0;
    const stop = new AbortController();
    const { promise: firstReport, resolve } = Promise.withResolvers<void>();
    const first = runToolCall(
      tool("talk"),
      { lines: ["first"], ms: 60_000 },
      {
        signal: stop.signal,
        progress: (message) => {
          reported.push(message);
          resolve();
        },
      },
    );
    await firstReport;
    await runToolCall(tool("talk"), { lines: ["second"], ms: 0 }, { progress });
    stop.abort();
    await catchError(first);
    expect(reported).toEqual(["first"]);
  });

  test("can report progress, and is notified when a call is canceled", async () => {
    const { tool } = await connect(await start());
    const reported: unknown[][] = [];
    const progress = (...args: unknown[]): void => void reported.push(args);
    const before = Number(getText(await runToolCall(tool("cancelled"))));
    expect(getText(await runToolCall(tool("slow"), { ms: 400 }, { progress }))).toBe("done");
    const steps = [
      ["step 1", 0.25],
      ["step 2", 0.5],
      ["step 3", 0.75],
      ["step 4", 1],
    ];
    // On a busy machine steps arrive within 100 ms of each other, or with the result: then some are skipped.
    expect(reported[0]).toEqual(steps[0]);
    expect(reported).toEqual(
      steps.filter(([name]) => reported.some(([message]) => message === name)),
    );

    const stop = new AbortController();
    const slow = runToolCall(
      tool("slow"),
      { ms: 8000 },
      {
        signal: stop.signal,
        progress: () => stop.abort(),
      },
    );
    const began = performance.now();
    await catchError(slow);
    expect(performance.now() - began).toBeLessThan(4000);
    await expect
      .poll(async () => Number(getText(await runToolCall(tool("cancelled")))), { timeout: 30_000 })
      .toBe(before + 1);
  });
});

test("tool names are distinct and contain only characters that every provider accepts", async () => {
  const { group } = await connect(await http());
  const names = group.tools.map(({ name }) => name);
  for (const name of names) expect(name).toMatch(/^[A-Za-z_][\w-]{0,63}$/);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain("srv__odd_name");
  const tools = group.tools.filter(({ name }) => name.startsWith("srv__odd_name"));
  const texts = await Promise.all(tools.map(async (tool) => getText(await runToolCall(tool))));
  expect(texts.toSorted()).toEqual(["with a dot", "with a line"]);
});

test("the name of a tool does not depend on its position in the list", () => {
  const serverNames = ["a.b", "a_b", "a/b", "ä", "x".repeat(80), `${"x".repeat(80)}y`];
  const names = buildToolNames("srv", serverNames);
  expect(buildToolNames("srv", serverNames.toReversed())).toEqual(new Map([...names].toReversed()));
  expect(new Set(names.values()).size).toBe(serverNames.length);
});

test("only configured tools are available, with the configured policy", async () => {
  const { group, warnings } = await connect({
    ...(await http()),
    tools: ["add", "odd.name", "subtract"],
    approval: { call: "ask_always", result: "on_error" },
    unmask: false,
    timeoutMs: 1234,
  });
  expect(group.tools.map(({ name }) => name)).toEqual([
    "srv__add",
    expect.stringMatching(/^srv__odd_name_\w{8}$/),
  ]);
  expect(group.tools[0]).toMatchObject({
    approval: { call: "ask_always", result: "on_error" },
    unmask: false,
    timeoutMs: 1234,
  });
  expect(warnings).toEqual(['MCP server "srv" has no tool "subtract"']);
});

test("invalid arguments are detected before the server is called", async () => {
  const { tool } = await connect(await http());
  expect(await tool("add").check({ a: 1 })).toMatchObject({ ok: false });
  expect(await catchError(runToolCall(tool("add"), { a: "one", b: 2 }))).toMatchObject({
    message: expect.stringContaining("a") as string,
  });
});

test("tools are updated when the server announces a change", async () => {
  const { group, tool } = await connect(await http());
  await runToolCall(tool("grow"));
  await expect
    .poll(() => group.tools.some(({ name }) => name === "srv__grown"), { timeout: 30_000 })
    .toBe(true);
  expect(getText(await runToolCall(tool("grown")))).toBe("I am new");
});

test("a program that crashes during a call fails the call with its stderr, and is restarted for the next call", async () => {
  const { tool } = await connect({ ...stdio(), env: { TOOL_KEY: "key-of-tool-0123456789" } });
  const failure = await catchError(runToolCall(tool("crash")));
  expect(failure).toMatchObject({ code: "mcp_ended" });
  expect(failure.message).toContain("the program exited with code 3");
  expect(failure.message).toContain("out of memory with [redacted]");
  expect(await runToolCall(tool("add"), { a: 2, b: 2 })).toMatchObject({
    block_list: [{ data: { sum: 4 } }],
  });
});

test("a program killed between two calls is restarted once for several concurrent calls", async () => {
  const { tool } = await connect(stdio());
  const [pid] = JSON.parse(getText(await runToolCall(tool("processes")))) as [number, number];
  process.kill(pid, "SIGKILL");
  // A call before the exit is detected would fail, because it may have run.
  await expect.poll(() => hasExited(pid), { timeout: 30_000 }).toBe(true);
  const answers = await Promise.all([1, 2, 3].map(() => runToolCall(tool("processes"))));
  const pids = answers.map((answer) => (JSON.parse(getText(answer)) as [number, number])[0]);
  expect(new Set(pids).size).toBe(1);
  expect(pids[0]).not.toBe(pid);
});

test("a program receives only common environment variables and its configured ones", async () => {
  vi.stubEnv("DELTAWIRE_SECRET", "not for tools");
  vi.stubEnv("OPENAI_API_KEY", "sk-not-for-tools");
  vi.stubEnv("LANG", "C.UTF-8");
  const { tool } = await connect({ ...stdio(), env: { TOOL_MODE: "for a tool" } });
  const reported = JSON.parse(getText(await runToolCall(tool("environment")))) as Record<
    string,
    string
  >;
  expect(reported).toMatchObject({
    PATH: process.env["PATH"],
    LANG: "C.UTF-8",
    TOOL_MODE: "for a tool",
  });
  const commonVariables = /^(?:PATH|HOME|SHELL|TERM|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TMPDIR|TZ)$/;
  const others = Object.keys(reported).filter(
    (name) => !commonVariables.test(name) && name !== "TOOL_MODE",
  );
  // macOS adds variables of its own.
  expect(others.filter((name) => !name.startsWith("__CF"))).toEqual([]);
});

test("closing a group ends its program and all child processes, and later calls fail with mcp_closed", async () => {
  const { group, tool } = await connect(stdio());
  const add = tool("add");
  const pids = JSON.parse(getText(await runToolCall(tool("processes")))) as number[];
  expect(pids.map(isRunning)).toEqual([true, true]);
  await group.close?.();
  await expect.poll(() => pids.map(isRunning), { timeout: 30_000 }).toEqual([false, false]);
  expect(await catchError(runToolCall(add, { a: 1, b: 1 }))).toMatchObject({ code: "mcp_closed" });
});

test("closing a group does not wait for a program that does not respond", async () => {
  const server = {
    name: "srv",
    command: process.execPath,
    args: ["-e", "setInterval(() => {}, 1e6)"],
  };
  const { McpGroup } = await import("../src/mcp/mcp-group.ts");
  const hanging = new McpGroup(server);
  const starting = hanging.start();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const began = performance.now();
  await hanging.close();
  await starting;
  // The timeout of a start is 30 seconds.
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(hanging.tools).toEqual([]);
});

test.each<[string, Partial<McpServerConfig>, RegExp]>([
  [
    "that does not exist",
    // A bare name gives EACCES where PATH has a folder that this user cannot enter.
    { command: join(import.meta.dirname, "no-such-program-of-ours") },
    /cannot be reached: .*ENOENT/,
  ],
  ["that exits immediately", stdio("dies"), /the program exited with code 7; stderr: no licence/],
  [
    "that does not respond",
    { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], startTimeoutMs: 100 },
    /cannot be reached: .*timed out/i,
  ],
  ["at an unreachable address", { url: "http://127.0.0.1:1/mcp" }, /cannot be reached/],
])("a server %s causes a warning and has no tools", async (_name, server, pattern) => {
  const { group, warnings } = await connect(server);
  expect(group.tools).toEqual([]);
  expect(group.rules).toBe("");
  expect(warnings).toEqual([expect.stringMatching(pattern)]);
});

test("a connection to an unreachable server is tried again when its tools are read an hour later", async () => {
  const first = await startHttpServer("legacy");
  const port = Number(new URL(first.url).port);
  await first.close();
  closeables.splice(closeables.indexOf(first), 1);
  const { group } = await connect({ url: first.url });
  expect(group.tools).toEqual([]);
  await startHttpServer("legacy", port);
  expect(group.tools).toEqual([]);
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.advanceTimersByTime(3_600_000);
  expect(group.tools).toEqual([]);
  vi.useRealTimers();
  await expect.poll(() => group.tools.length, { timeout: 30_000 }).toBeGreaterThan(0);
});

test("after a restart of an HTTP server a call is repeated in a new session", async () => {
  const server = await startHttpServer("legacy");
  const { tool } = await connect({ url: server.url });
  server.forget();
  expect(await runToolCall(tool("add"), { a: 1, b: 1 })).toMatchObject({
    block_list: [{ data: { sum: 2 } }],
  });
});

test("a call to a stopped HTTP server fails after some attempts, and works once it runs again", async () => {
  const first = await startHttpServer("legacy");
  const { tool } = await connect({ url: first.url });
  const add = tool("add");
  await first.close();
  closeables.splice(closeables.indexOf(first), 1);
  const failure = await catchError(runToolCall(add, { a: 1, b: 1 }));
  expect(failure).toMatchObject({ code: "mcp_unreachable" });
  expect(failure.message).toContain('MCP server "srv" cannot be reached');
  await startHttpServer("legacy", Number(new URL(first.url).port));
  expect(await runToolCall(add, { a: 1, b: 1 })).toMatchObject({
    block_list: [{ data: { sum: 2 } }],
  });
});

test("an HTTP server receives the headers, and warnings do not contain them", async () => {
  const server = await startHttpServer("legacy");
  const secret = "token-of-tools-0123";
  await connect({ url: server.url, headers: { authorization: `Bearer ${secret}` } });
  expect(server.headers.every(({ authorization }) => authorization === `Bearer ${secret}`)).toBe(
    true,
  );
  const { warnings } = await connect({
    url: `http://127.0.0.1:1/mcp?token=${secret}`,
    headers: { authorization: `Bearer ${secret}\n` },
  });
  expect(warnings).toHaveLength(1);
  expect(warnings.join("")).not.toContain(secret);
});

test("secrets that a server repeats are redacted in results, errors and progress", async () => {
  const secret = 'token "of" tools-0123';
  const server = { env: { TOOL_KEY: secret }, secrets: ["another-secret"] };
  const { tool } = await connect({ ...stdio(), ...server });
  const text = `${secret} and another-secret`;
  const reported: string[] = [];
  const progress = (message: string): void => void reported.push(message);
  const output = await runToolCall(tool("repeat"), { text });
  expect(output.block_list[0]?.text).toBe("received [redacted] and [redacted]");
  const failure = await catchError(runToolCall(tool("fail_with"), { text }, { progress }));
  expect(failure.message).toBe("[redacted] and [redacted] is wrong");
  expect(reported).toEqual(["trying [redacted] and [redacted]"]);
  expect(JSON.stringify(output)).not.toMatch(/tools-0123|another-secret/);
});

describe("a redirect of an HTTP server", () => {
  async function startRedirectingServer(to: () => string): Promise<string> {
    const server = createServer((_request, response) => {
      response.writeHead(307, { location: to() }).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closeables.push({ close: async () => void server.close() });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test("to another origin is rejected, and that origin receives nothing", async () => {
    const other = await startHttpServer("legacy");
    const url = await startRedirectingServer(() => other.url);
    const { group, warnings } = await connect({ url, headers: { "x-api-key": "key-0123456" } });
    expect(group.tools).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(other.headers).toEqual([]);
  });

  test("within its origin is followed with the headers", async () => {
    const server = await startHttpServer("legacy");
    const url = server.url.replace(/mcp$/, "moved");
    const { tool } = await connect({ url, headers: { "x-api-key": "key-0123456" } });
    expect(await runToolCall(tool("add"), { a: 1, b: 1 })).toMatchObject({
      block_list: [{ data: { sum: 2 } }],
    });
    expect(new Set(server.headers.map((headers) => headers["x-api-key"]))).toEqual(
      new Set(["key-0123456"]),
    );
  });
});

test("aborting the signal cancels the start of a server", async () => {
  const controller = new AbortController();
  const began = performance.now();
  const hanging = connect({
    command: process.execPath,
    args: ["-e", "setInterval(() => {}, 1e6)"],
    signal: controller.signal,
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  controller.abort();
  const { group, warnings } = await hanging;
  expect(performance.now() - began).toBeLessThan(10_000);
  expect([group.tools, warnings]).toEqual([[], []]);
});

test("unreachableForMs is the time in milliseconds since a server became unreachable", async () => {
  const first = await startHttpServer("legacy");
  const reached = await connectMcp({ name: "srv", url: first.url });
  closeables.unshift(reached);
  expect(reached.unreachableForMs).toBeUndefined();
  const missing = await connectMcp({ name: "srv", url: "http://127.0.0.1:1/mcp" });
  closeables.unshift(missing);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(missing.unreachableForMs).toBeGreaterThan(10);
});

test("the configuration of a server must have exactly one of command and url", async () => {
  await expect(connectMcp({ name: "srv" })).rejects.toThrow(TypeError);
  await expect(connectMcp({ name: "srv", command: "x", url: "http://x" })).rejects.toThrow(
    "must have exactly one of command and url",
  );
});

/** True if a process no longer exists, which also means that Node has noticed its exit. */
function hasExited(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** True if a process is running; false for zombies. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", `${pid}`], { encoding: "utf8" });
  return /^[^Z]/.test(stdout.trim());
}
