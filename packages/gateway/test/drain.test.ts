import { describe, expect, test, vi } from "vitest";
import { deltawire, temporaryFolder, type Running } from "./deltawire-process.ts";
import { connection } from "./raw-http.ts";
import { upstreamToml } from "./running-gateway.ts";
import { anUpstream, hello, helloChat, pause, until } from "./scene.ts";
import { beginStream, chunk, event, type Script } from "./scripted-upstream.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

/** Begins a stream and ends it when it is told to. */
function heldStream(): { script: Script; finish: () => void } {
  let finish = (): void => undefined;
  const told = new Promise<void>((resolve) => (finish = resolve));
  return {
    finish: () => finish(),
    async script(_request, response) {
      beginStream(response);
      response.write(event(chunk({ content: "Hi" })));
      await told;
      response.end(event(chunk({}, "stop")) + event("[DONE]"));
    },
  };
}

async function start(drainSeconds: number) {
  const { script, finish } = heldStream();
  const upstream = await anUpstream(script);
  const cwd = temporaryFolder(
    `[server]\nport = 0\ndrain_seconds = ${drainSeconds}\n${upstreamToml("up", upstream.url, { api_key: "key-of-the-upstream" })}`,
  );
  const gateway = deltawire(["--json"], { cwd });
  const url = await gateway.url;
  return { gateway, url, upstream, finish };
}

const post = (url: string, body: object): string => {
  const text = JSON.stringify(body);
  return `POST ${url} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** An open stream on a socket of its own. */
async function openStream(url: string) {
  const client = await connection(url);
  client.socket.write(post("/v1/responses", hello));
  await until("the stream has begun", () => client.received().includes("output_text.delta"));
  return client;
}

async function stopping(gateway: Running, url: string): Promise<void> {
  gateway.child.kill("SIGTERM");
  const end = Date.now() + 30_000;
  while (Date.now() < end) {
    const refused = await fetch(`${url}/readyz`).then(
      ({ status }) => status === 503,
      () => true,
    );
    if (refused) return;
    await pause(5);
  }
  throw new Error("it takes requests though it was told to stop");
}

describe("after SIGTERM", () => {
  test("an open stream finishes, and then the process ends with 0", async () => {
    const { gateway, url, finish } = await start(20);
    const stream = await openStream(url);
    await stopping(gateway, url);
    await pause(50);
    expect(stream.received()).not.toContain("response.completed");
    finish();
    await stream.ended;
    expect(stream.received()).toContain("response.completed");
    expect(await gateway.ended).toBe(0);
    expect(gateway.stderr()).not.toContain("key-of-the-upstream");
  });

  test("no new stream begins, not even on a connection that is open", async () => {
    const { gateway, url, upstream, finish } = await start(20);
    const stream = await openStream(url);
    await stopping(gateway, url);
    const refused = await fetch(`${url}/healthz`).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(TypeError);
    stream.socket.write(post("/v1/chat/completions", helloChat));
    stream.socket.write("GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await pause(100);
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

  test("what does not end within the limit is ended, not as complete, and the upstream is freed", async () => {
    const { gateway, url, upstream } = await start(0.3);
    const stream = await openStream(url);
    const began = performance.now();
    gateway.child.kill("SIGTERM");
    await stream.ended;
    expect(performance.now() - began).toBeGreaterThan(250);
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(stream.received()).not.toContain("response.completed");
    await upstream.requests[0]?.closed;
  });

  test("nothing is waited for where nothing runs, however many connections are kept open", async () => {
    const { gateway, url } = await start(20);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const idle = await connection(url);
    const began = performance.now();
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    // Streams would have twenty seconds.
    expect(performance.now() - began).toBeLessThan(10_000);
    await idle.ended;
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("a second signal, %s, ends it at once with %i", async (signal, code) => {
    const { gateway, url } = await start(20);
    const stream = await openStream(url);
    await stopping(gateway, url);
    gateway.child.kill(signal);
    expect(await gateway.ended).toBe(code);
    await stream.ended;
  });
});

test("SIGINT drains as SIGTERM does", async () => {
  const { gateway, url, finish } = await start(20);
  const stream = await openStream(url);
  gateway.child.kill("SIGINT");
  await pause(50);
  finish();
  await stream.ended;
  expect(stream.received()).toContain("response.completed");
  expect(await gateway.ended).toBe(0);
});
