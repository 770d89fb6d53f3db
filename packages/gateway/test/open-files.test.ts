import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { computeMaxConnections } from "../src/http/connection-limit.ts";
import { toErrorReply } from "../src/gateway-error.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { sendRawRequest } from "./raw-http.ts";
import { waitUntil } from "./gateway-fixture.ts";

// Processes are started, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const hasLimits = process.platform === "linux";
const limited = (files: number) => ["sh", "-c", `ulimit -n ${files}; exec "$@"`, "sh"];

test("an error for lack of file descriptors is a 503 that says what to do", () => {
  const cause = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  for (const error of [cause, new Error("the page cannot be read", { cause })])
    expect(toErrorReply(error)).toMatchObject({
      status: 503,
      headers: { "retry-after": "5" },
      body: { error: { message: expect.stringContaining("ulimit -n") } },
    });
});

test("a gateway that cannot open more files reports it, and recovers", async ({ skip }) => {
  if (!hasLimits) skip("requires Linux's limit of open files");
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
    // This is not counted as a failure of the upstream.
    state: "closed",
  });
});

test("connections beyond the limit of open files get a 503, except for probes", async ({
  skip,
}) => {
  if (!hasLimits) skip("requires Linux's limit of open files");
  const files = 160;
  const cwd = temporaryFolder("[store]\nenabled = false\n");
  const gateway = startDeltawire(["--port", "0"], { cwd, command: limited(files) });
  const url = await gateway.url;
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let index = 0; index < computeMaxConnections(files); index += 1) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    sockets.push(socket);
    await new Promise((resolve) => socket.once("connect", resolve));
  }
  const get = (path: string) => sendRawRequest(url + path, { method: "GET" });
  await waitUntil("the limit", async () => (await get("/v1/models")).status === 503);
  expect(await get("/v1/models")).toMatchObject({
    status: 503,
    headers: { connection: "close", "retry-after": "5" },
    text: expect.stringContaining("too many open connections"),
  });
  expect(await get("/healthz")).toMatchObject({ status: 200 });
  for (const socket of sockets) socket.destroy();
  await waitUntil("room", async () => (await get("/v1/models")).status === 200);
});
