import { link, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@deltawire/wire";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readConfig } from "../src/config/read.ts";
import { ConfiguredAgents, ToolsMissing } from "../src/tasks/configured-agents.ts";
import { answers, askChat, asksFirst, calls, clock, decide, viewOf } from "./agent-office.ts";
import { mcpOverHttp } from "./mcp-over-http.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream, pause, until } from "./scene.ts";

let dataFolder: string;
const open: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), "deltawire-restart-"));
});
afterEach(async () => {
  vi.useRealTimers();
  for (const one of open.splice(0)) await one.close();
  await rm(dataFolder, { recursive: true, force: true });
});

/** One gateway after the other on the same store, in front of a model that says one thing after the other. */
async function office(toml: string, rounds: readonly ReturnType<typeof answers>[]) {
  let asked = 0;
  const upstream = await anUpstream((request, response) => rounds[asked++]?.(response, request));
  const up = upstreamToml("up", upstream.url, { api_key: "key-of-up-0123456789" });
  const start = (more = "", configFile?: string) =>
    aGateway(`${toml}\n${more}\n${up}`, {
      dataFolder,
      ...(configFile === undefined ? {} : { configFile }),
    });
  return { upstream, start };
}

test("a reply that waits for a person is found again by the same request after a restart", async () => {
  const rounds = [clock, answers("It is noon."), answers("Another.")];
  const { upstream, start } = await office(asksFirst, rounds);
  const first = await start();
  const failed = await first.post("/chat/completions", askChat);
  const taskId = failed.headers.get("x-deltawire-task");
  expect(failed.status).toBe(409);
  await first.close();
  const second = await start();
  const again = await second.post("/chat/completions", askChat);
  expect([again.status, again.headers.get("x-deltawire-task")]).toEqual([409, taskId]);
  expect(upstream.requests).toHaveLength(1);
  await decide(second, await viewOf(second, taskId), "approve");
  const decided = await second.post("/chat/completions", askChat);
  expect([decided.status, decided.headers.get("x-deltawire-task")]).toEqual([200, taskId]);
  expect(await decided.text()).toContain("It is noon.");
  const another = { ...askChat, messages: [{ role: "user", content: "Another thing" }] };
  const other = await second.post("/chat/completions", another);
  expect(other.headers.get("x-deltawire-task")).not.toBe(taskId);
});

describe("tools of a server that cannot be reached", () => {
  const hangs = JSON.stringify(["-e", "setInterval(() => {}, 1e6)"]);
  const agent = `[agents.seer]\nmodel = "up/m"\ntool_groups = ["eyes"]\n`;

  test("are not waited for by the start of the gateway, and a task is not gone on with without them", async () => {
    const server = await mcpOverHttp();
    const ask = `[mcp.eyes]\nurl = "${server.url}"\napproval = "ask always"\n`;
    const { upstream, start } = await office(agent, [calls("eyes__look", {}), answers("Seen.")]);
    const first = await start(ask);
    const failed = await first.post("/responses", { model: "seer", input: "Look" });
    const taskId = failed.headers.get("x-deltawire-task");
    await failed.text();
    await first.close();
    await server.close();

    const began = performance.now();
    const hanging = `[mcp.eyes]\ncommand = "${process.execPath}"\nargs = ${hangs}\n`;
    const second = await start(hanging);
    expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
    // The start of a tool server has thirty seconds.
    expect(performance.now() - began).toBeLessThan(10_000);
    expect((await viewOf(second, taskId)).status).toBe("input_required");
    await second.close();
    expect(performance.now() - began).toBeLessThan(15_000);

    const third = await start(ask);
    await until("a try to go on", () =>
      third.lines.some((line) => line.includes("cannot be taken up")),
    );
    const view = await viewOf(third, taskId);
    const approval = view.approvals[0]?.approval_id;
    const body = JSON.stringify({ decision: "approve" });
    const refused = await fetch(`${third.url}/api/approvals/${approval}`, { method: "POST", body });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({
      error: { code: "task_not_running", message: expect.stringContaining('"eyes"') as string },
    });
    await pause(50);
    expect(upstream.requests).toHaveLength(1);
  });

  test("are awaited by a task that has begun, for a few minutes; a new one goes without them", async () => {
    const server = await mcpOverHttp();
    const port = Number(new URL(server.url).port);
    await server.close();
    const toml = `${agent}[mcp.eyes]\nurl = "${server.url}"\n${upstreamToml("up", "http://127.0.0.1:1/v1")}`;
    const config = readConfig(toml, { file: "d.toml", env: {} });
    const agents = new ConfiguredAgents({
      config,
      builtIn: [],
      ownFiles: [],
      warn: () => undefined,
    });
    open.push(agents);
    const toolsFor = async (recovered: boolean): Promise<number | undefined> => {
      const { tools } = await agents.agentFor({ agent: "seer" }, { recovered });
      const [group] = tools;
      return group !== undefined && "tools" in group ? group.tools.length : undefined;
    };
    expect(await toolsFor(false)).toBe(0);
    await expect(toolsFor(true)).rejects.toBeInstanceOf(ToolsMissing);
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.advanceTimersByTime(200_000);
    expect(await toolsFor(true)).toBe(0);
    vi.useRealTimers();

    open.push(await mcpOverHttp(port));
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.advanceTimersByTime(60_000);
    await toolsFor(true).catch(() => undefined);
    vi.useRealTimers();
    await vi.waitFor(async () => expect(await toolsFor(true)).toBe(1), { timeout: 10_000 });
  });
});

describe("what a tool for files brings", () => {
  const toml = () =>
    `[agents.reader]\nmodel = "up/m"\ntool_groups = ["files"]\n[tools.files]\nfolder = ${JSON.stringify(dataFolder)}\n`;
  const asked = { model: "reader", input: "Read" };

  const readsFile = (path: string) => calls("read_file", { path });
  async function resultOf(path: string, configFile?: string): Promise<string> {
    const { upstream, start } = await office(toml(), [readsFile(path), answers("Read.")]);
    const gateway = await start("", configFile);
    const reply = await gateway.post("/responses", asked);
    expect(((await reply.json()) as JsonObject)["status"]).toBe("completed");
    const id = reply.headers.get("x-deltawire-task");
    const log = await (
      await fetch(`${gateway.url}/api/tasks/${id}/events?after=-1&replay=all`)
    ).text();
    return log + JSON.stringify(upstream.requests[1]?.body);
  }

  test("has no key of the gateway in it, neither in events nor for the model", async () => {
    await writeFile(join(dataFolder, "notes.env"), "UP=key-of-up-0123456789\nOTHER=thing\n");
    const told = await resultOf("notes.env");
    expect(told).toContain("OTHER=thing");
    expect(told).not.toContain("key-of-up-0123456789");
  });

  test.each(["deltawire.toml", "seal.key", "deltawire.db"])(
    "is not a hard link to the gateway's own %s",
    async (name) => {
      const configFile = join(dataFolder, "deltawire.toml");
      await writeFile(configFile, "# a file\n");
      const { start } = await office(toml(), []);
      await (await start("", configFile)).close();
      await link(join(dataFolder, name), join(dataFolder, "linked"));
      expect(await resultOf("linked", configFile)).toContain("linked is kept from this tool group");
    },
  );

  test.each([
    "deltawire.toml",
    "seal.key",
    "deltawire.db",
    "deltawire.db-wal",
    "deltawire.db-lock",
    "deltawire.db-v1.bak",
  ])("is not the gateway's own %s", async (name) => {
    const configFile = join(dataFolder, "deltawire.toml");
    await writeFile(configFile, "# a file\n");
    expect(await resultOf(name, configFile)).toContain(`${name} is kept from this tool group`);
  });
});
