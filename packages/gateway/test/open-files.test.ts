import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { connectionsFor } from "../src/http/connection-limit.ts";
import { problemReply } from "../src/problem.ts";
import { deltawire, temporaryFolder } from "./deltawire-process.ts";
import { ask } from "./raw-http.ts";
import { until } from "./scene.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

const hasLimits = process.platform === "linux";
const limited = (files: number) => ["sh", "-c", `ulimit -n ${files}; exec "$@"`, "sh"];

test("a failure for want of a file descriptor is a 503 that says what to do", () => {
  const cause = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  for (const error of [cause, new Error("the page cannot be read", { cause })])
    expect(problemReply(error)).toMatchObject({
      status: 503,
      headers: { "retry-after": "5" },
      body: { error: { message: expect.stringContaining("ulimit -n") } },
    });
});

test("a gateway that may open no more files says so, and serves again when it may", async ({
  skip,
}) => {
  if (!hasLimits) skip("the limit of open files is that of Linux");
  const page = join(temporaryFolder(), "page");
  mkdirSync(join(page, "assets"), { recursive: true });
  writeFileSync(join(page, "index.html"), "<!doctype html>");
  const script = join(import.meta.dirname, "open-files-process.ts");
  const [sh = "", ...rest] = limited(256);
  const node = [process.execPath, "--conditions=@deltawire/source", script, page];
  const { stdout } = await promisify(execFile)(sh, [...rest, ...node]);
  const overloaded = { status: 503, body: expect.stringContaining("server_is_overloaded") };
  expect(JSON.parse(stdout)).toEqual({
    without: {
      "/healthz": { status: 200, body: expect.anything() },
      "/": overloaded,
      "/v1/chat/completions": overloaded,
    },
    again: {
      "/healthz": { status: 200, body: expect.anything() },
      "/": { status: 200, body: "<!doctype html>" },
      "/v1/chat/completions": { status: 200, body: expect.stringContaining("Hi") },
    },
    // The upstream is not blamed.
    state: "closed",
  });
});

test("connections beyond what the limit of open files allows get a 503, but probes do not", async ({
  skip,
}) => {
  if (!hasLimits) skip("the limit of open files is that of Linux");
  const files = 160;
  const cwd = temporaryFolder("[store]\nenabled = false\n");
  const gateway = deltawire(["--port", "0"], { cwd, command: limited(files) });
  const url = await gateway.url;
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let at = 0; at < connectionsFor(files); at += 1) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    sockets.push(socket);
    await new Promise((resolve) => socket.once("connect", resolve));
  }
  const get = (path: string) => ask(url + path, { method: "GET" });
  await until("the limit", async () => (await get("/v1/models")).status === 503);
  expect(await get("/v1/models")).toMatchObject({
    status: 503,
    headers: { connection: "close", "retry-after": "5" },
    text: expect.stringContaining("too many connections open"),
  });
  expect(await get("/healthz")).toMatchObject({ status: 200 });
  for (const socket of sockets) socket.destroy();
  await until("room", async () => (await get("/v1/models")).status === 200);
});
