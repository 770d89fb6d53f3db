import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Server } from "node:net";
import { openMessageBus } from "@deltawire/store";
import type { MessageBus } from "@deltawire/tasks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { explainMissingRedis, startRedis, type RedisServer } from "../../../test/redis-server.ts";
import { ThrottledWarning } from "../src/bus/throttled-warning.ts";

interface OpenBus {
  bus: MessageBus;
  warnings: string[];
}

function open(url: string, options: { prefix?: string } = {}): OpenBus {
  const warnings: string[] = [];
  const bus = openMessageBus({ url, ...options, onWarning: (message) => warnings.push(message) });
  onTestFinished(() => bus.close());
  return { bus, warnings };
}

async function openConnected(url: string, options?: { prefix?: string }): Promise<OpenBus> {
  const opened = open(url, options);
  await expect.poll(() => opened.bus.isConnected).toBe(true);
  return opened;
}

/** Resolves when the listeners of the bus receive messages: the server handles the commands of a connection in order. */
async function subscriptionsActive(bus: MessageBus): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const unsubscribe = bus.subscribe("subscriptions active", resolve);
  bus.publish("subscriptions active", "");
  await promise;
  unsubscribe();
}

/** Publishes until the other bus has received the message, whenever it has connected. */
async function expectDelivery(from: MessageBus, to: MessageBus, channel: string): Promise<void> {
  const received: string[] = [];
  const unsubscribe = to.subscribe(channel, (message) => received.push(message));
  await expect
    .poll(() => {
      from.publish(channel, "hello");
      return received;
    })
    .toContain("hello");
  unsubscribe();
}

const skipReason = await explainMissingRedis();

describe.skipIf(skipReason !== undefined)(`a bus on Redis (${skipReason ?? "real server"})`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  test("delivers messages in order to other connections, and to its own listeners", async () => {
    const [first, second] = [await openConnected(server.url), await openConnected(server.url)];
    const received: string[] = [];
    second.bus.subscribe("numbers", (message) => received.push(message));
    first.bus.subscribe("numbers", (message) => received.push(`own ${message}`));
    await subscriptionsActive(first.bus);
    await subscriptionsActive(second.bus);
    const count = 1000;
    for (let number = 0; number < count; number += 1)
      first.bus.publish("numbers", `${number} 模型`);
    await expect.poll(() => received.length).toBe(2 * count);
    const expected = Array.from({ length: count }, (_, number) => `${number} 模型`);
    expect(received.filter((message) => !message.startsWith("own"))).toEqual(expected);
    expect([...first.warnings, ...second.warnings]).toEqual([]);
  });

  test("does not deliver messages of another prefix", async () => {
    const { bus: first } = await openConnected(server.url, { prefix: "first" });
    const { bus: second } = await openConnected(server.url, { prefix: "second" });
    const received: string[] = [];
    second.subscribe("channel", (message) => received.push(message));
    await subscriptionsActive(second);
    first.publish("channel", "from first");
    await subscriptionsActive(first); // the server has handled the message
    second.publish("channel", "from second");
    await expect.poll(() => received).toEqual(["from second"]);
  });

  test("subscribes once for several listeners, and unsubscribes with the last one", async () => {
    const proxy = await startProxy(server.url);
    const { bus } = await openConnected(proxy.url);
    const received: string[] = [];
    const unsubscribeFirst = bus.subscribe("channel", (message) => received.push(`1 ${message}`));
    const unsubscribeSecond = bus.subscribe("channel", (message) => received.push(`2 ${message}`));
    bus.publish("channel", "a");
    await expect.poll(() => received).toEqual(["1 a", "2 a"]);
    unsubscribeFirst();
    unsubscribeFirst();
    bus.publish("channel", "b");
    await expect.poll(() => received).toEqual(["1 a", "2 a", "2 b"]);
    unsubscribeSecond();
    await expect.poll(() => proxy.sent()).toMatch(/unsubscribe/i);
    expect(proxy.sent().match(/\nsubscribe\r/gi)).toHaveLength(1);
    // A channel without listeners can be subscribed again at once.
    await expectDelivery(bus, bus, "channel");
  });

  test("sends the messages of one turn of the event loop together", async () => {
    const proxy = await startProxy(server.url);
    const { bus } = await openConnected(proxy.url);
    let count = 0;
    bus.subscribe("many", () => (count += 1));
    await subscriptionsActive(bus);
    const before = proxy.chunks();
    for (let number = 0; number < 500; number += 1) bus.publish("many", `${number}`);
    await expect.poll(() => count).toBe(500);
    expect(proxy.chunks() - before).toBeLessThan(20);
  });

  test("delivers a message to all listeners, even if one of them throws", async () => {
    const { bus, warnings } = await openConnected(server.url);
    const received: string[] = [];
    bus.subscribe("channel", () => {
      throw new Error("broken listener");
    });
    bus.subscribe("channel", (message) => received.push(message));
    bus.publish("channel", "a");
    await expect.poll(() => received).toEqual(["a"]);
    expect(warnings).toEqual(["a listener of the channel channel failed: broken listener"]);
    expect(bus.isConnected).toBe(true);
  });

  test("connects and subscribes again after a crash of the server, with one warning and a note", async () => {
    const own = await startOwnServer();
    const [sender, receiver] = [await openConnected(own.url), await openConnected(own.url)];
    const received: string[] = [];
    receiver.bus.subscribe("channel", (message) => received.push(message));
    await expectDelivery(sender.bus, receiver.bus, "channel");
    for (const crash of [1, 2]) {
      await own.kill();
      await expect.poll(() => receiver.bus.isConnected).toBe(false);
      sender.bus.publish("channel", `lost ${crash}`);
      receiver.bus.subscribe(`new ${crash}`, (message) => received.push(message));
      await own.start();
      for (const channel of ["channel", `new ${crash}`])
        await expect
          .poll(() => {
            sender.bus.publish(channel, `${channel} after ${crash}`);
            return received;
          })
          .toContain(`${channel} after ${crash}`);
    }
    expect(received.filter((message) => message.startsWith("lost"))).toEqual([]);
    // The second crash follows too soon after the first to be reported.
    expect(receiver.warnings).toEqual([
      expect.stringMatching(
        /^redis:\/\/127\.0\.0\.1:\d+ cannot be used: .*; check that Redis is running/,
      ),
      `${own.url} is connected again`,
    ]);
  });

  test("reports a wrong password without the password", async () => {
    const own = await startOwnServer("geheim/1");
    const { bus } = await openConnected(own.url);
    await expectDelivery(bus, bus, "channel");
    const wrong = open(own.url.replace("geheim", "falsch"));
    const without = open(own.url.replace(/\/\/.*@/, "//"));
    await expect.poll(() => [...wrong.warnings, ...without.warnings]).toHaveLength(2);
    expect(wrong.warnings[0]).toMatch(
      /WRONGPASS.*; correct the user name, password or permissions/,
    );
    expect(without.warnings[0]).toMatch(/NOAUTH.*; correct the user name, password or permissions/);
    expect(wrong.warnings[0]).not.toContain("falsch");
    expect(wrong.bus.isConnected).toBe(false);
  });

  test("reports missing permissions and keeps trying", async () => {
    const own = await startOwnServer();
    const admin = createConnection(Number(new URL(own.url).port), "127.0.0.1");
    admin.write("ACL SETUSER guest on nopass resetchannels +@all\r\n");
    await once(admin, "data");
    const { bus, warnings } = open(own.url.replace("//", "//guest:any@"));
    bus.subscribe("channel", () => {});
    await expect.poll(() => warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/NOPERM.*permissions/);
    admin.end("ACL SETUSER guest allchannels\r\n");
    await expectDelivery(bus, bus, "channel");
    expect(warnings.slice(1)).toEqual([expect.stringMatching(/is connected again$/)]);
  });

  test("drops messages while the server is suspended, without waiting or using much memory", async () => {
    const own = await startOwnServer();
    const { bus, warnings } = await openConnected(own.url);
    await expectDelivery(bus, bus, "channel");
    own.suspend();
    const message = "x".repeat(10_000);
    const memoryBefore = process.memoryUsage().rss;
    const startedAt = performance.now();
    // A gigabyte.
    for (let round = 0; round < 100; round += 1) {
      for (let number = 0; number < 1000; number += 1)
        bus.publish("channel", `${round} ${message}`);
      await new Promise(setImmediate);
    }
    expect(performance.now() - startedAt).toBeLessThan(3000);
    expect(process.memoryUsage().rss - memoryBefore).toBeLessThan(150_000_000);
    expect(warnings[0]).toMatch(/cannot keep up; messages to other processes are dropped$/);
    await expect.poll(() => bus.isConnected).toBe(false);
    await expect.poll(() => warnings).toHaveLength(2);
    expect(warnings[1]).toMatch(/cannot be used: no reply for 4 s/);
    own.resume();
    await expectDelivery(bus, bus, "channel");
  });

  test("can be closed while the server does not reply", async () => {
    const own = await startOwnServer();
    const { bus } = await openConnected(own.url);
    own.suspend();
    bus.publish("channel", "never received");
    const connecting = open(own.url);
    const startedAt = performance.now();
    await Promise.all([bus.close(), connecting.bus.close(), bus.close()]);
    expect(performance.now() - startedAt).toBeLessThan(3000);
    expect(bus.isConnected).toBe(false);
  });

  test("can be closed while it subscribes", async () => {
    const subscribing = Promise.withResolvers<void>();
    const proxy = createServer((client) => {
      const redis = createConnection(Number(new URL(server.url).port), "127.0.0.1");
      client.on("data", (bytes) => {
        const isSubscription = bytes.includes("subscribe");
        if (isSubscription) subscribing.resolve();
        // The bus is closed before the server replies.
        setTimeout(() => redis.write(bytes), isSubscription ? 100 : 0);
      });
      redis.pipe(client);
      for (const socket of [client, redis]) socket.on("error", () => undefined);
      client.on("close", () => redis.destroy());
    });
    proxy.listen(0, "127.0.0.1");
    onTestFinished(() => void proxy.close());
    await once(proxy, "listening");
    const { bus } = open(`redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    bus.subscribe("channel", () => undefined);
    await subscribing.promise;
    await bus.close();
    expect(bus.isConnected).toBe(false);
  });

  test("sends what was published before it is closed, and nothing afterwards", async () => {
    const { bus: receiver } = await openConnected(server.url);
    const { bus: sender, warnings } = await openConnected(server.url);
    const received: string[] = [];
    receiver.subscribe("last words", (message) => received.push(message));
    await subscriptionsActive(receiver);
    sender.publish("last words", "before");
    await sender.close();
    sender.publish("last words", "after");
    sender.subscribe("last words", () => received.push("to a closed bus"))();
    receiver.publish("last words", "end");
    await expect.poll(() => received).toEqual(["before", "end"]);
    expect(warnings).toEqual([]);
  });

  async function startOwnServer(password?: string): Promise<RedisServer> {
    const own = await startRedis(password === undefined ? {} : { password });
    onTestFinished(() => own.stop());
    return own;
  }
});

test("a bus on an unreachable server opens, drops messages and warns once", async () => {
  let attempts = 0;
  const rejecting = createServer((socket) => {
    attempts += 1;
    socket.destroy();
  });
  const url = (await listen(rejecting)).replace("//", "//me:geheim@");
  const { bus, warnings } = open(url);
  bus.subscribe("channel", () => {});
  expect(bus.isConnected).toBe(false);
  bus.publish("channel", "dropped");
  await expect.poll(() => attempts).toBeGreaterThan(3);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^redis:\/\/127\.0\.0\.1:\d+ cannot be used: /);
  expect(warnings.join()).not.toContain("geheim");
});

test.each([
  ["another scheme", "http://me:geheim@127.0.0.1"],
  ["an unescaped / in the password", "redis://me:geheim/1@127.0.0.1"],
  ["an invalid escape in the password", "redis://me:geheim%@127.0.0.1"],
  ["no host", "redis://"],
  ["no URL", "geheim"],
])("a bus cannot be opened with %s", (_what, url) => {
  let message = "";
  try {
    openMessageBus({ url });
  } catch (error) {
    message = String(error);
  }
  expect(message).toMatch(/must have the form redis:\/\/user:password@host:6379/);
  expect(message).not.toContain("geheim");
});

test("a lasting problem is reported every ten minutes, one that comes and goes at most once a minute", () => {
  let minutes = 0;
  const warnings: string[] = [];
  const warning = new ThrottledWarning(
    (message) => warnings.push(`${minutes}: ${message}`),
    () => minutes * 60_000,
  );
  warning.resolve("fine");
  for (; minutes < 25; minutes += 1) warning.report("broken");
  warning.resolve("fine");
  warning.resolve("fine");
  for (; minutes < 27; minutes += 0.25) {
    warning.report("broken");
    warning.resolve("fine");
  }
  expect(warnings.join(", ")).toBe(
    "0: broken, 10: broken, 20: broken, 25: fine, 25: broken, 25: fine, 26: broken, 26: fine",
  );
});

interface Proxy {
  url: string;
  /** Everything that was sent to the server. */
  sent: () => string;
  /** The number of pieces in which it arrived. */
  chunks: () => number;
}

async function startProxy(target: string): Promise<Proxy> {
  const chunks: Buffer[] = [];
  const proxy = createServer((client) => {
    const upstream = createConnection(Number(new URL(target).port), "127.0.0.1");
    client.on("data", (chunk) => chunks.push(chunk));
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.on("close", () => upstream.destroy());
  });
  const url = await listen(proxy);
  return { url, sent: () => Buffer.concat(chunks).toString(), chunks: () => chunks.length };
}

async function listen(listener: Server): Promise<string> {
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  onTestFinished(() => void listener.close());
  return `redis://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}
