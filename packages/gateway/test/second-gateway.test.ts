import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { run } from "../src/cli/run.ts";
import { deltawire, temporaryFolder } from "./deltawire-process.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

const toml = '[server]\ndemo = true\n[store]\npath = "shared.db"\n';

async function started(args: string[], cwd: string) {
  const running = deltawire(args, { cwd });
  await expect.poll(() => running.stdout(), { timeout: 30_000 }).toContain("listening on");
  await expect.poll(() => running.stdout(), { timeout: 30_000 }).toMatch(/kept {2,}.*\n/);
  const url = /listening on (\S+)/.exec(running.stdout())?.[1] ?? "";
  const stop = async () => {
    running.child.kill("SIGKILL");
    await running.ended;
  };
  return { ...running, url, stop };
}

test("a second gateway on the same data says so at its start, and how to give it its own place", async () => {
  const cwd = temporaryFolder(toml);
  const first = await started(["--port", "0"], cwd);
  expect(first.stdout()).not.toContain("No chats and no tasks");
  expect(first.stdout()).toMatch(/^ {2}tasks .*\/api\/tasks\n {2}chats .*\/api\/chats$/m);
  const second = await started(["--port", "0"], cwd);
  // Once, and not as a line of the log as well.
  expect(second.stderr()).not.toContain("in use by process");
  const inJson = deltawire(["--port", "0", "--json"], { cwd });
  await expect.poll(() => inJson.stdout(), { timeout: 30_000 }).toContain('"store_problem"');
  await expect.poll(() => inJson.stderr()).toMatch(/^\{"level":50,.*in use by process/m);
  inJson.child.kill("SIGKILL");
  await inJson.ended;
  await expect
    .poll(() => second.stdout())
    .toMatch(/No chats and no tasks: .*shared\.db is in use by process \d+/);
  expect(second.stdout()).toContain("--data FOLDER --port N");
  expect(second.stdout()).not.toContain("/api/");
  expect((await fetch(`${second.url}/v1/models`)).status).toBe(200);
  const refused = await fetch(`${second.url}/api/chats`);
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: { code: "store_unavailable" }, reason: "store_in_use" },
  ]);
  const third = await started(["--port", "0", "--data", "third"], cwd);
  expect(third.stdout()).not.toContain("No chats and no tasks");
  expect(third.stdout()).toMatch(/kept +in .*third.deltawire\.db/);
  expect(third.stdout()).toMatch(/--data third .*codex/);
  expect((await fetch(`${third.url}/api/chats`)).status).toBe(200);
  expect(existsSync(join(cwd, "third", "deltawire.db"))).toBe(true);
  await Promise.all([first.stop(), second.stop(), third.stop()]);
});

test("an MCP program that is missing is named once, in plain words", async () => {
  const cwd = temporaryFolder(`${toml}[mcp.tickets]\ncommand = "deltawire-no-such-program"\n`);
  const gateway = await started(["--port", "0"], cwd);
  await expect
    .poll(() => gateway.stdout())
    .toMatch(/^Warning: MCP server "tickets": there is no program .* until then\.$/m);
  expect(gateway.stderr()).not.toContain("tickets");
  await gateway.stop();
});

test("--data that is no folder is refused with a sentence", async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "folder"));
  writeFileSync(join(cwd, "file"), "");
  let stderr = "";
  const code = await run(["--data", "file"], {
    cwd,
    env: {},
    home: cwd,
    platform: "linux",
    stdout: { write: () => undefined },
    stderr: { write: (text) => void (stderr += text) },
  });
  expect([code, stderr]).toEqual([2, "--data: file is not a folder; give the path of a folder\n"]);
});
