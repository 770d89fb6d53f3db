import { closeSync, existsSync, openSync, readFileSync, truncateSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createLog } from "../src/log.ts";
import { Redactor } from "@deltawire/agent";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { hello, helloChat, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

// Starting a process takes long on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

test.each([
  ["returns false", () => false],
  [
    "throws",
    () => {
      throw new Error("no space left");
    },
  ],
])(
  "lines that are lost because the log target %s are counted, and the count is logged later",
  (_name, fail) => {
    let works = true;
    const lines: string[] = [];
    const write = (line: string) => (works ? void lines.push(line) : fail());
    const log = createLog("error", { write }, new Redactor([]));
    const messages = () =>
      lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
    log.error("one");
    works = false;
    for (const message of ["two", "three"]) log.error(message);
    expect(messages()).toMatchObject([{ msg: "one" }]);
    works = true;
    log.error("four");
    log.error("five");
    expect(messages()).toMatchObject([
      { msg: "four" },
      { msg: expect.stringContaining("lost"), lines: 2 },
      { msg: "five" },
    ]);
  },
);

test("long fields are redacted and then truncated", () => {
  const key = "sk-0123456789abcdef0123456789abcdef";
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(line) }, new Redactor([key]));
  for (const length of [100, 3_990, 4_000, 7_990, 8_000])
    log.info(
      { model: `${"x".repeat(length)}${key}${"y".repeat(1_000_000)}`, n: length },
      "request",
    );
  expect(lines.every((line) => line.length < 5_000 && !/sk-0|cdef/.test(line))).toBe(true);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ n: 100, msg: "request" });
});

test("a model name of a megabyte is truncated in the log", async () => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "fine"));
  const model = "x".repeat(1024 * 1024);
  for (const path of ["/chat/completions", "/responses", "/embeddings"])
    expect((await gateway.post(path, { ...hello, ...helloChat, model })).status).toBe(400);
  await waitUntil("the log lines", () => gateway.lines.length >= 3);
  expect(Math.max(...gateway.lines.map(({ length }) => length))).toBeLessThan(5_000);
});

describe("a gateway keeps serving requests", () => {
  const request = (url: string, path = "/v1/models") => fetch(url + path);

  test("although standard output and standard error are full", async ({ skip }) => {
    if (!existsSync("/dev/full")) skip("/dev/full does not exist");
    const port = await freePort();
    const full = openSync("/dev/full", "w");
    const cwd = temporaryFolder();
    const gateway = startDeltawire(["--port", `${port}`], { cwd, stdout: full, stderr: full });
    closeSync(full);
    const url = `http://127.0.0.1:${port}`;
    await waitUntil(
      "that it listens",
      () =>
        request(url).then(
          () => true,
          () => false,
        ),
      20_000,
    );
    for (let round = 0; round < 3; round += 1) expect((await request(url)).status).toBe(200);
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });

  test("although the reader of its log has closed the pipe", async () => {
    const gateway = startDeltawire(["--port", "0"], { cwd: temporaryFolder() });
    const url = await gateway.url;
    gateway.child.stdout?.destroy();
    gateway.child.stderr?.destroy();
    for (let round = 0; round < 3; round += 1) expect((await request(url)).status).toBe(200);
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });

  test("while its log is full, and later logs how many lines were lost", async ({ skip }) => {
    if (process.platform === "win32") skip("requires the ulimit of a POSIX shell");
    const cwd = temporaryFolder("[store]\nenabled = false\n");
    const file = join(cwd, "log");
    const log = openSync(file, "a");
    // Two blocks of 512 bytes (sh) or 1,024 (bash).
    const command = ["sh", "-c", 'ulimit -f 2; exec "$@"', "sh"];
    const gateway = startDeltawire(["--port", "0"], { cwd, stderr: log, command });
    closeSync(log);
    const url = await gateway.url;
    for (let round = 0; round < 20; round += 1) expect((await request(url)).status).toBe(200);
    const before = readFileSync(file, "utf8").split("\n").length;
    truncateSync(file);
    await request(url);
    await waitUntil("the line", () => readFileSync(file, "utf8").includes('"lines":'));
    const lines = readFileSync(file, "utf8").trim().split("\n").filter(Boolean);
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const lost = "log lines were lost because they could not be written";
    const reports = entries.filter(({ msg }) => msg === lost);
    expect(reports).toHaveLength(1);
    // The line of the last request before the file was emptied may come later.
    const requests = entries.filter(({ msg }) => msg === "request").length;
    expect([1, 2]).toContain(requests);
    expect(entries).toHaveLength(requests + 1);
    // A truncated line counts as lost.
    expect(Number(reports[0]?.["lines"]) + before + requests).toBeGreaterThanOrEqual(21);
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });
});

test("a command whose output cannot be written reports that and fails", async ({ skip }) => {
  if (!existsSync("/dev/full")) skip("/dev/full does not exist");
  const full = openSync("/dev/full", "w");
  const command = startDeltawire(["--version"], { cwd: temporaryFolder(), stdout: full });
  closeSync(full);
  expect(await command.ended).toBe(1);
  expect(command.stderr()).toMatch(/^could not write to standard output: .*ENOSPC/);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
