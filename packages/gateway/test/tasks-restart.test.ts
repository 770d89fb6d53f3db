import { link, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@deltawire/wire";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { parseConfig } from "../src/config/parse-config.ts";
import { ConfiguredAgents, ToolsUnavailableError } from "../src/tasks/configured-agents.ts";
import {
  answerText,
  agentChatRequest,
  approvalToml,
  callTool,
  callClock,
  decide,
  fetchTaskView,
} from "./agent-fixture.ts";
import { startMcpServer } from "./mcp-http-server.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream, sleep, waitUntil } from "./gateway-fixture.ts";

let dataFolder: string;
const open: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  const folder = (dataFolder = await mkdtemp(join(tmpdir(), "deltawire-restart-")));
  // After all gateways were closed, which `gateway-fixture` does last.
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});
afterEach(async () => {
  vi.useRealTimers();
  for (const one of open.splice(0)) await one.close();
});

/** Creates a model with scripted answers, and `start`, which starts a gateway on the same store each time. */
async function restartFixture(toml: string, rounds: readonly ReturnType<typeof answerText>[]) {
  let requestCount = 0;
  const upstream = await testUpstream((request, response) =>
    rounds[requestCount++]?.(response, request),
  );
  const up = upstreamToml("up", upstream.url, { api_key: "key-of-up-0123456789" });
  const start = (more = "", configFile?: string) =>
    testGateway(`${toml}\n${more}\n${up}`, {
      dataFolder,
      ...(configFile === undefined ? {} : { configFile }),
    });
  return { upstream, start };
}

test("a reply that is waiting for an approval is continued by the same request after a restart", async () => {
  const rounds = [callClock, answerText("It is noon."), answerText("Another.")];
  const { upstream, start } = await restartFixture(approvalToml, rounds);
  const first = await start();
  const failed = await first.post("/chat/completions", agentChatRequest);
  const taskId = failed.headers.get("x-deltawire-task");
  expect(failed.status).toBe(409);
  await first.close();
  const second = await start();
  const repeated = await second.post("/chat/completions", agentChatRequest);
  expect([repeated.status, repeated.headers.get("x-deltawire-task")]).toEqual([409, taskId]);
  expect(upstream.requests).toHaveLength(1);
  await decide(second, await fetchTaskView(second, taskId), "approve");
  const decided = await second.post("/chat/completions", agentChatRequest);
  expect([decided.status, decided.headers.get("x-deltawire-task")]).toEqual([200, taskId]);
  expect(await decided.text()).toContain("It is noon.");
  const another = { ...agentChatRequest, messages: [{ role: "user", content: "Another thing" }] };
  const other = await second.post("/chat/completions", another);
  expect(other.headers.get("x-deltawire-task")).not.toBe(taskId);
});

describe("tools of an unreachable server", () => {
  const hangingProgram = JSON.stringify(["-e", "setInterval(() => {}, 1e6)"]);
  const agent = `[agents.seer]\nmodel = "up/m"\ntool_groups = ["eyes"]\n`;

  test("do not delay the start of the gateway, and a recovered task does not continue without them", async () => {
    const server = await startMcpServer();
    const withApproval = `[mcp.eyes]\nurl = "${server.url}"\napproval = "ask_always"\n`;
    const { upstream, start } = await restartFixture(agent, [
      callTool("eyes__look", {}),
      answerText("Seen."),
    ]);
    const first = await start(withApproval);
    const failed = await first.post("/responses", { model: "seer", input: "Look" });
    const taskId = failed.headers.get("x-deltawire-task");
    await failed.text();
    await first.close();
    await server.close();

    const startedAt = performance.now();
    const withHangingServer = `[mcp.eyes]\ncommand = "${process.execPath}"\nargs = ${hangingProgram}\n`;
    const second = await start(withHangingServer);
    expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
    // The start of an MCP server may take thirty seconds.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect((await fetchTaskView(second, taskId)).status).toBe("input_required");
    await second.close();
    expect(performance.now() - startedAt).toBeLessThan(15_000);

    const third = await start(withApproval);
    await waitUntil("an attempt to resume", () =>
      third.lines.some((line) => line.includes("could not resume task")),
    );
    const view = await fetchTaskView(third, taskId);
    const approval = view.approvals[0]?.approval_id;
    const body = JSON.stringify({ decision: "approve" });
    const rejected = await fetch(`${third.url}/api/approvals/${approval}`, {
      method: "POST",
      body,
    });
    expect([rejected.status, rejected.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await rejected.json()).toMatchObject({
      error: { code: "task_not_running", message: expect.stringContaining('"eyes"') as string },
    });
    await sleep(50);
    expect(upstream.requests).toHaveLength(1);
  });

  test("are awaited by a recovered task for a few minutes; a new task runs without them", async () => {
    const server = await startMcpServer();
    const port = Number(new URL(server.url).port);
    await server.close();
    const toml = `${agent}[mcp.eyes]\nurl = "${server.url}"\n${upstreamToml("up", "http://127.0.0.1:1/v1")}`;
    const config = parseConfig(toml, { file: "d.toml", env: {} });
    const agents = new ConfiguredAgents({
      config,
      builtInAgents: [],
      protectedPaths: [],
      warn: () => undefined,
    });
    open.push(agents);
    const toolsFor = async (recovered: boolean): Promise<number | undefined> => {
      const { tools } = await agents.resolveAgent({ agent: "seer" }, { recovered });
      const [group] = tools;
      return group !== undefined && "tools" in group ? group.tools.length : undefined;
    };
    expect(await toolsFor(false)).toBe(0);
    await expect(toolsFor(true)).rejects.toBeInstanceOf(ToolsUnavailableError);
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.advanceTimersByTime(200_000);
    expect(await toolsFor(true)).toBe(0);
    vi.useRealTimers();

    open.push(await startMcpServer(port));
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.advanceTimersByTime(60_000);
    await toolsFor(true).catch(() => undefined);
    vi.useRealTimers();
    await vi.waitFor(async () => expect(await toolsFor(true)).toBe(1), { timeout: 10_000 });
  });
});

describe("the result of a file tool", () => {
  const toml = () =>
    `[agents.reader]\nmodel = "up/m"\ntool_groups = ["files"]\n[tools.files]\nfolder = ${JSON.stringify(dataFolder)}\n`;
  const requestCount = { model: "reader", input: "Read" };

  const callReadFile = (path: string) => callTool("read_file", { path });
  async function readFileResult(path: string, configFile?: string): Promise<string> {
    const { upstream, start } = await restartFixture(toml(), [
      callReadFile(path),
      answerText("Read."),
    ]);
    const gateway = await start("", configFile);
    const reply = await gateway.post("/responses", requestCount);
    expect(((await reply.json()) as JsonObject)["status"]).toBe("completed");
    const id = reply.headers.get("x-deltawire-task");
    const log = await (
      await fetch(`${gateway.url}/api/tasks/${id}/events?after=-1&replay=all`)
    ).text();
    return log + JSON.stringify(upstream.requests[1]?.body);
  }

  test("contains no key of the gateway, neither in events nor for the model", async () => {
    await writeFile(join(dataFolder, "notes.env"), "UP=key-of-up-0123456789\nOTHER=thing\n");
    const result = await readFileResult("notes.env");
    expect(result).toContain("OTHER=thing");
    expect(result).not.toContain("key-of-up-0123456789");
  });

  test.each(["deltawire.toml", "seal.key", "local.token", "deltawire.db"])(
    "is an error for a hard link to the gateway's own %s",
    async (name) => {
      const configFile = join(dataFolder, "deltawire.toml");
      await writeFile(configFile, "# a file\n");
      const { start } = await restartFixture(toml(), []);
      await (await start("", configFile)).close();
      await link(join(dataFolder, name), join(dataFolder, "linked"));
      expect(await readFileResult("linked", configFile)).toContain(
        "linked is protected from this tool group",
      );
    },
  );

  test.each([
    "deltawire.toml",
    "seal.key",
    "local.token",
    "deltawire.db",
    "deltawire.db-wal",
    "deltawire.db-lock",
    "deltawire.db-v1.bak",
  ])("is an error for the gateway's own %s", async (name) => {
    const configFile = join(dataFolder, "deltawire.toml");
    await writeFile(configFile, "# a file\n");
    expect(await readFileResult(name, configFile)).toContain(
      `${name} is protected from this tool group`,
    );
  });
});
