import { openStore } from "@deltawire/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  canRunPostgres,
  connectToPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { startTcpProxy } from "../../../test/cluster/tcp-proxy.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { startGateway, type Gateway } from "../src/gateway.ts";

describe.skipIf(!canRunPostgres)("a gateway with a PostgreSQL database", () => {
  let server: PostgresServer;
  let log = "";
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  interface StartOptions {
    url?: string;
    storeRetryMs?: number;
    /** Further lines of `[server]`. */
    settings?: string;
  }

  async function start(
    schema: string,
    { url = server.url, storeRetryMs = 5000, settings = "" }: StartOptions = {},
  ): Promise<Gateway> {
    const toml = `[server]\nport = 0\ndemo = true\n${settings}\n[store]\nurl = "env:DATABASE_URL"\nschema = "${schema}"\n`;
    const env = { DATABASE_URL: url.replace("deltawire@", "deltawire:geheim@") };
    const logTarget = { write: (text: string) => Boolean((log += text)) };
    const config = parseConfig(toml, { file: "deltawire.toml", env });
    return startGateway({ config, env, dataFolder: undefined, logTarget, storeRetryMs });
  }

  async function request(gateway: Gateway, path: string, body?: object, token?: string) {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${gateway.url}${path}`, { ...options, headers });
    return { status: response.status, body: (await response.json()) as never };
  }

  type ChatReply = { chat: { chat_id: string; nodes?: unknown } };

  test("answers a chat, and has it after a restart", async () => {
    const first = await start("restarted");
    const settings = { agent: "demo-agent" };
    const { body } = await request(first, "/api/chats", { settings });
    const { chat_id: id } = (body as ChatReply).chat;
    const text = "What is the weather in Paris?";
    expect((await request(first, `/api/chats/${id}/send`, { text })).status).toBe(201);
    await expect
      .poll(async () => JSON.stringify((await request(first, `/api/chats/${id}`)).body))
      .toSatisfy((chat: string) => chat.includes("15C") && !chat.includes('"status":"running"'));
    const getNodes = async (gateway: Gateway) =>
      ((await request(gateway, `/api/chats/${id}`)).body as ChatReply).chat.nodes;
    const nodes = await getNodes(first);
    await first.drain();
    const second = await start("restarted");
    expect(await getNodes(second)).toEqual(nodes);
    expect(JSON.stringify((await request(second, "/api/chats?q=weather")).body)).toContain(id);
    await second.drain();
  });

  test("resumes a task that is waiting for an approval, and runs its tool once", async () => {
    const first = await start("approval");
    const input = 'please send_message to Bob: "hello"';
    const { body } = await request(first, "/api/tasks", { agent: "demo-agent", input });
    const { task_id: id } = (body as { task: { task_id: string } }).task ?? body;
    const findApproval = async (gateway: Gateway) =>
      /apr_[0-9a-f]+/.exec(JSON.stringify((await request(gateway, `/api/tasks/${id}`)).body))?.[0];
    await expect.poll(() => findApproval(first)).toBeDefined();
    const approval = await findApproval(first);
    await first.drain();
    const second = await start("approval");
    const decision = { decision: "approve", scope: "once" };
    expect((await request(second, `/api/approvals/${approval}`, decision)).status).toBe(200);
    await expect
      .poll(async () => JSON.stringify((await request(second, `/api/tasks/${id}`)).body))
      .toContain('"status":"completed"');
    const events = await fetch(`${second.url}/api/tasks/${id}/events?after=-1`);
    expect((await events.text()).match(/"type":"task.tool_execution.done"/g)).toHaveLength(1);
    await second.drain();
  });

  test("a second gateway has the same chats, and follows an answer of the first one to its end", async () => {
    const first = await start("shared");
    const second = await start("shared");
    const settings = { agent: "demo-agent" };
    const { body } = await request(first, "/api/chats", { settings });
    const { chat_id: id } = (body as ChatReply).chat;
    const text = "What is the weather in Paris?";
    expect((await request(second, `/api/chats/${id}/send`, { text })).status).toBe(201);
    const getChat = async (gateway: Gateway) =>
      JSON.stringify(((await request(gateway, `/api/chats/${id}`)).body as ChatReply).chat);
    await expect
      .poll(() => getChat(first))
      .toSatisfy((chat: string) => chat.includes("15C") && !chat.includes('"status":"running"'));
    await expect.poll(() => getChat(second)).toBe(await getChat(first));
    await Promise.all([first.drain(), second.drain()]);
  });

  const token = "token-of-the-gateway-0123456789";
  const settings = `tokens = ["${token}"]`;

  const unreachable = "postgres://deltawire@127.0.0.1:9/nothing";

  /** Without the address of the database, which is for the log only. */
  const unavailable = {
    error: { code: "store_unavailable", message: "the store cannot be reached; try again later" },
  };

  test.each([
    [
      "cannot be reached",
      "unreachable",
      () => unreachable,
      /127\.0\.0\.1:9\/nothing .*cannot be reached/,
    ],
    [
      "does not exist",
      "missing",
      () => server.url.replace(/\/[^/]*$/, "/missing"),
      /\/missing .*does not exist; create the database/,
    ],
    [
      "contains an unfinished copy",
      "unfinished",
      () => server.url,
      /contains an unfinished copy of \/data\/deltawire\.db; repeat/,
    ],
  ])(
    "if the database %s, clients do not get its address, and the log has the reason",
    async (_case, schema, getUrl, reason) => {
      if (schema === "unfinished") {
        await (await openStore({ url: server.url, schema })).close();
        const client = await connectToPostgres(server.url);
        await client.query(
          "INSERT INTO unfinished.meta (name, value) VALUES ('copy', '/data/deltawire.db')",
        );
        await client.end();
      }
      const gateway = await start(schema, { url: getUrl(), settings });
      log = "";
      for (const [path, body] of [
        ["/api/chats", undefined],
        ["/v1/responses", { model: "demo-agent", input: "Hello" }],
      ] as const) {
        const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
        const headers = { authorization: `Bearer ${token}` };
        const response = await fetch(gateway.url + path, { ...options, headers });
        expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
        expect(await response.json()).toEqual({
          error: { ...unavailable.error, type: expect.any(String), param: null },
        });
      }
      expect(log).toMatch(/"msg":"the store is unavailable"/);
      expect(log).toMatch(reason);
      await gateway.drain();
    },
  );

  test("has no chats while a copy reserves the database, and says so", async () => {
    const other = await connectToPostgres(server.url);
    await other.query("SELECT pg_advisory_lock(hashtextextended('reserved writer', 0))");
    const gateway = await start("reserved", { storeRetryMs: 200, settings });
    expect((await request(gateway, "/v1/models", undefined, token)).status).toBe(200);
    const { status, body } = await request(gateway, "/api/chats", undefined, token);
    expect([status, body]).toMatchObject([503, { ...unavailable, reason: "store_in_use" }]);
    expect(gateway.storeProblem).toContain(
      "chats and tasks are available as soon as that has ended",
    );
    await other.end();
    await expect
      .poll(async () => (await request(gateway, "/api/chats", undefined, token)).status)
      .toBe(200);
    await gateway.drain();
  });

  test("survives a restart of the database", async () => {
    const gateway = await start("interrupted");
    const { body } = await request(gateway, "/api/chats", {});
    const { chat_id: id } = (body as ChatReply).chat;
    await server.restart();
    await expect.poll(async () => (await request(gateway, `/api/chats/${id}`)).status).toBe(200);
    await expect.poll(async () => (await request(gateway, "/api/chats", {})).status).toBe(201);
    await gateway.drain();
  });

  test("serves models if the database cannot be reached, and never shows the password", async () => {
    const gateway = await start("nothing", { url: unreachable, settings });
    expect((await request(gateway, "/v1/models", undefined, token)).status).toBe(200);
    const { status, body } = await request(gateway, "/api/chats", undefined, token);
    expect([status, body]).toMatchObject([503, unavailable]);
    await gateway.drain();
    expect(log + JSON.stringify(body)).not.toContain("geheim");
  });

  test("rejects requests without a token until it knows whether there are access keys", async () => {
    const gateway = await start("nothing", { url: unreachable });
    const response = await fetch(`${gateway.url}/v1/models`);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(await response.json()).toMatchObject({
      error: {
        code: "store_unavailable",
        message: expect.stringContaining("unknown whether requests need an access key"),
      },
    });
    for (const [path, status] of [
      ["/healthz", 200],
      ["/readyz", 503],
    ] as const)
      expect([path, (await fetch(gateway.url + path)).status]).toEqual([path, status]);
    await gateway.drain();
  });

  test("continues to serve models without a token if the database is lost, and there were no access keys", async () => {
    const proxied = new URL(server.url);
    const proxy = await startTcpProxy({ getTargetPort: () => Number(proxied.port) });
    const url = server.url.replace(`:${proxied.port}/`, `:${proxy.port}/`);
    const gateway = await start("lost", { url });
    expect((await request(gateway, "/v1/models")).status).toBe(200);
    await proxy.close();
    await expect.poll(async () => (await request(gateway, "/api/chats")).status).toBe(503);
    expect((await request(gateway, "/v1/models")).status).toBe(200);
    await gateway.drain();
  });
});
