import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { runCli } from "../src/cli/run-cli.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";

// Processes are started, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const toml = '[server]\ndemo = true\n[store]\npath = "shared.db"\n';

async function startGateway(args: string[], cwd: string) {
  const running = startDeltawire(args, { cwd });
  await expect.poll(() => running.stdout(), { timeout: 30_000 }).toContain("listening on");
  await expect.poll(() => running.stdout(), { timeout: 30_000 }).toMatch(/store {2,}.*\n/);
  const url = /listening on (\S+)/.exec(running.stdout())?.[1] ?? "";
  const stop = async () => {
    running.child.kill("SIGKILL");
    await running.ended;
  };
  return { ...running, url, stop };
}

test("a second gateway on the same data reports it at its start, and how to give it its own data", async () => {
  const cwd = temporaryFolder(toml);
  const first = await startGateway(["--port", "0"], cwd);
  expect(first.stdout()).not.toContain("Chats and tasks are unavailable");
  expect(first.stdout()).toMatch(/^ {2}tasks .*\/api\/tasks\n {2}chats .*\/api\/chats$/m);
  const second = await startGateway(["--port", "0"], cwd);
  // Only once, not in the log as well.
  expect(second.stderr()).not.toContain("in use by process");
  const inJson = startDeltawire(["--port", "0", "--json"], { cwd });
  await expect.poll(() => inJson.stdout(), { timeout: 30_000 }).toContain('"store_problem"');
  await expect.poll(() => inJson.stderr()).toMatch(/^\{"level":50,.*in use by process/m);
  inJson.child.kill("SIGKILL");
  await inJson.ended;
  await expect
    .poll(() => second.stdout())
    .toMatch(/Chats and tasks are unavailable: .*shared\.db is in use by process \d+/);
  expect(second.stdout()).toContain("--data FOLDER --port N");
  expect(second.stdout()).not.toContain("/api/");
  expect((await fetch(`${second.url}/v1/models`)).status).toBe(200);
  const rejected = await fetch(`${second.url}/api/chats`);
  expect([rejected.status, await rejected.json()]).toMatchObject([
    503,
    { error: { code: "store_unavailable" }, reason: "store_in_use" },
  ]);
  const third = await startGateway(["--port", "0", "--data", "third"], cwd);
  expect(third.stdout()).not.toContain("Chats and tasks are unavailable");
  expect(third.stdout()).toMatch(/store +.*third.deltawire\.db/);
  expect(third.stdout()).toMatch(/--data third .*codex/);
  expect((await fetch(`${third.url}/api/chats`)).status).toBe(200);
  expect(existsSync(join(cwd, "third", "deltawire.db"))).toBe(true);
  await Promise.all([first.stop(), second.stop(), third.stop()]);
});

test("a missing MCP program is reported once, in plain words", async () => {
  const cwd = temporaryFolder(`${toml}[mcp.tickets]\ncommand = "deltawire-no-such-program"\n`);
  const gateway = await startGateway(["--port", "0"], cwd);
  await expect
    .poll(() => gateway.stdout())
    .toMatch(/^Warning: MCP server "tickets": program .* not found .* until then\.$/m);
  expect(gateway.stderr()).not.toContain("tickets");
  await gateway.stop();
});

test("--data with a file instead of a folder is rejected with a message", async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "folder"));
  writeFileSync(join(cwd, "file"), "");
  let stderr = "";
  const code = await runCli(["--data", "file"], {
    cwd,
    env: {},
    home: cwd,
    platform: "linux",
    stdout: { write: () => undefined },
    stderr: { write: (text) => void (stderr += text) },
  });
  expect([code, stderr]).toEqual([2, "--data: file is not a folder\n"]);
});
