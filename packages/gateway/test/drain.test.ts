import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { canRunPostgres, startPostgres } from "../../../test/postgres-server.ts";
import { startDeltawire, temporaryFolder, type DeltawireProcess } from "./deltawire-process.ts";
import { openConnection } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testUpstream, hello, helloChat, sleep, waitUntil } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, type UpstreamScript } from "./scripted-upstream.ts";

// Processes are started, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

/** An upstream that starts a stream and ends it on request. */
function heldStream(): { script: UpstreamScript; finish: () => void } {
  let finish = (): void => undefined;
  const canFinish = new Promise<void>((resolve) => (finish = resolve));
  return {
    finish: () => finish(),
    async script(_request, response) {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "Hi" })));
      await canFinish;
      response.end(formatEvent(chatChunk({}, "stop")) + formatEvent("[DONE]"));
    },
  };
}

async function start(drainSeconds: number) {
  const { script, finish } = heldStream();
  const upstream = await testUpstream(script);
  const cwd = temporaryFolder(
    `[server]\nport = 0\ndrain_seconds = ${drainSeconds}\n${upstreamToml("up", upstream.url, { api_key: "key-of-the-upstream" })}`,
  );
  const gateway = startDeltawire(["--json"], { cwd });
  const url = await gateway.url;
  return { gateway, url, upstream, finish };
}

const post = (url: string, body: object): string => {
  const text = JSON.stringify(body);
  return `POST ${url} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** Opens a stream on a separate socket. */
async function openStream(url: string) {
  const client = await openConnection(url);
  client.socket.write(post("/v1/responses", hello));
  await waitUntil("the stream has begun", () => client.received().includes("output_text.delta"));
  return client;
}

async function waitUntilDraining(gateway: DeltawireProcess, url: string): Promise<void> {
  gateway.child.kill("SIGTERM");
  const end = Date.now() + 30_000;
  while (Date.now() < end) {
    const rejected = await fetch(`${url}/readyz`).then(
      ({ status }) => status === 503,
      () => true,
    );
    if (rejected) return;
    await sleep(5);
  }
  throw new Error("the gateway still accepts requests while it drains");
}

describe("after SIGTERM", () => {
  test("an open stream finishes, and then the process exits with 0", async () => {
    const { gateway, url, finish } = await start(20);
    const stream = await openStream(url);
    await waitUntilDraining(gateway, url);
    await sleep(50);
    expect(stream.received()).not.toContain("response.completed");
    finish();
    await stream.ended;
    expect(stream.received()).toContain("response.completed");
    expect(await gateway.ended).toBe(0);
    expect(gateway.stderr()).not.toContain("key-of-the-upstream");
  });

  test("new streams are rejected, even on an open connection", async () => {
    const { gateway, url, upstream, finish } = await start(20);
    const stream = await openStream(url);
    await waitUntilDraining(gateway, url);
    const rejected = await fetch(`${url}/healthz`).catch((error: unknown) => error);
    expect(rejected).toBeInstanceOf(TypeError);
    stream.socket.write(post("/v1/chat/completions", helloChat));
    stream.socket.write("GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await sleep(100);
    finish();
    await gateway.ended;
    const statuses = [...stream.received().matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(
      ([, status]) => status,
    );
    const [first, ...later] = statuses;
    expect(first).toBe("200");
    expect(later.filter((status) => status !== "503")).toEqual([]);
    expect(stream.received()).toContain("response.completed");
    expect(upstream.requests).toHaveLength(1);
  });

  test("streams beyond the time limit are ended as incomplete, and their upstream requests are aborted", async () => {
    const { gateway, url, upstream } = await start(0.3);
    const stream = await openStream(url);
    const startedAt = performance.now();
    gateway.child.kill("SIGTERM");
    await stream.ended;
    expect(performance.now() - startedAt).toBeGreaterThan(250);
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(stream.received()).not.toContain("response.completed");
    await upstream.requests[0]?.closed;
  });

  test("the process exits immediately if nothing is running, with any number of idle connections", async () => {
    const { gateway, url } = await start(20);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const idle = await openConnection(url);
    const startedAt = performance.now();
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    // Streams would get twenty seconds.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await idle.ended;
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("a second signal, %s, exits immediately with %i", async (signal, code) => {
    const { gateway, url } = await start(20);
    const stream = await openStream(url);
    await waitUntilDraining(gateway, url);
    gateway.child.kill(signal);
    expect(await gateway.ended).toBe(code);
    await stream.ended;
  });
});

test("SIGINT drains like SIGTERM", async () => {
  const { gateway, url, finish } = await start(20);
  const stream = await openStream(url);
  gateway.child.kill("SIGINT");
  await sleep(50);
  finish();
  await stream.ended;
  expect(stream.received()).toContain("response.completed");
  expect(await gateway.ended).toBe(0);
});

/** A proxy that can stop to forward anything, like a network that loses all packets. */
async function startFreezableProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => void (!isFrozen && to.write(bytes)));
      from.on("error", () => undefined);
      from.on("close", () => to.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    freeze: () => (isFrozen = true),
  };
}

test.skipIf(!canRunPostgres)(
  "the process exits although its database does not reply, and says what it waited for",
  async () => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const url = new URL(server.url);
    const proxy = await startFreezableProxy(Number(url.port));
    url.port = String(proxy.port);
    const cwd = temporaryFolder(
      '[server]\nport = 0\ndrain_seconds = 0\n[store]\nurl = "env:DATABASE_URL"\n',
    );
    const gateway = startDeltawire(["--json"], { cwd, env: { DATABASE_URL: url.href } });
    await gateway.url;
    proxy.freeze();
    const startedAt = performance.now();
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(1);
    // The database gets sixty seconds for a reply.
    expect(performance.now() - startedAt).toBeLessThan(50_000);
    expect(gateway.stderr()).toContain("the gateway could not stop in time and exits now");
    expect(gateway.stderr()).toMatch(/"pending":\["[a-z ]+"\]/);
  },
  120_000,
);
