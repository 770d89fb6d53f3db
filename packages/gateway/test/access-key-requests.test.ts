import { openStore } from "@deltawire/store";
import { createFetchTransport, EventClient } from "@deltawire/tasks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { accessScopes, type AccessScope } from "../src/security/access-scopes.ts";
import { routes } from "../src/http/routes.ts";
import { createAccessKeyToken } from "../src/security/access-key-format.ts";
import { createAccessKey, revokeAccessKey } from "../src/security/manage-access-keys.ts";
import {
  createClientIn,
  createKeyClient,
  keyGatewayFixture,
  type KeyClient,
} from "./access-key-fixture.ts";
import { sleep, testGateway, testUpstream, waitUntil } from "./gateway-fixture.ts";
import { sendRawRequest } from "./raw-http.ts";
import { beginStream, chatChunk, formatEvent } from "./scripted-upstream.ts";
import { TestStream } from "./task-server-fixture.ts";

// Revocations take effect within four seconds.
vi.setConfig({ testTimeout: 60_000 });

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function fetchStatus(url: string, headers: Record<string, string> = {}, path = "/v1/models") {
  return (await fetch(url + path, { headers })).status;
}

async function fetchError(url: string, headers: Record<string, string>): Promise<object> {
  const response = await fetch(`${url}/v1/models`, { headers });
  const { error } = (await response.json()) as { error: object };
  return { status: response.status, ...error };
}

describe("an access key", () => {
  test("is accepted in every header in which clients send tokens", async () => {
    const { gateway, createClient } = await keyGatewayFixture();
    const { key } = await createClient({ name: "ann" });
    for (const headers of [bearer(key), { "api-key": key }, { "x-api-key": key }])
      expect([headers, await fetchStatus(gateway.url, headers)]).toEqual([headers, 200]);
  });

  test("is required as soon as the store has one, by the page too", async () => {
    const { gateway, createClient } = await keyGatewayFixture();
    const fetchSession = async () => (await fetch(`${gateway.url}/api/session`)).json();
    expect(await fetchStatus(gateway.url)).toBe(200);
    expect(await fetchSession()).toMatchObject({ token_required: false, signed_in: true });
    await createClient({ name: "ann" });
    await waitUntil(
      "a key is required",
      async () => (await fetchStatus(gateway.url)) === 401,
      4000,
    );
    expect(await fetchSession()).toMatchObject({ token_required: true, signed_in: false });
    expect(await fetchError(gateway.url, {})).toMatchObject({
      status: 401,
      code: "missing_token",
      message:
        'this gateway requires an access key since its first one was created; create one with "keys create NAME" on its machine and send it as "Authorization: Bearer KEY", or set server.tokens and send one of them',
    });
    const warnings = gateway.lines.filter((line) =>
      line.includes("the first access key was created"),
    );
    expect(warnings).toEqual([expect.stringContaining('"level":40')]);
    expect(warnings[0]).toContain("Give each client a key");
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/"])
      expect([path, await fetchStatus(gateway.url, {}, path)]).toEqual([path, 200]);
  });

  test("does not replace the tokens of the configuration, which have their own data", async () => {
    const token = "token-of-the-configuration-0123456789";
    const { gateway, createClient } = await keyGatewayFixture(`tokens = ["${token}"]`);
    const ann = await createClient({ name: "ann" });
    const admin = createKeyClient(gateway.url, token);
    const created = await ann.request("POST", "/api/chats", { title: "of ann" });
    const { chat_id: id } = (created.body as { chat: { chat_id: string } }).chat;
    expect((await ann.request("GET", `/api/chats/${id}`)).status).toBe(200);
    expect((await admin.request("GET", `/api/chats/${id}`)).status).toBe(404);
    expect((await admin.request("GET", "/api/chats")).body).toMatchObject({ data: [] });
    expect((await admin.request("GET", "/deltawire/keys")).status).toBe(200);
  });

  test("that exists at the start is no warning, and with tokens the first one is none either", async () => {
    const store = await openStore({ path: ":memory:" });
    await createAccessKey({ name: "ann" }, store);
    const toml = "[server]\nport = 0\ndemo = true\n";
    const restarted = await testGateway(toml, { store });
    expect(restarted.lines.join("")).toContain("requests need an access key");
    expect(restarted.lines.join("")).not.toContain("the first access key was created");
    const token = "token-of-the-configuration-0123456789";
    const { gateway, createClient } = await keyGatewayFixture(`tokens = ["${token}"]`);
    await (await createClient({ name: "ann" })).request("GET", "/v1/models");
    expect(await fetchError(gateway.url, {})).toMatchObject({
      message: expect.stringMatching(/requires a token; send .* with an access key/) as string,
    });
    expect(gateway.lines.join("")).not.toContain("access key was created");
  });

  test("shares the data of its owner with the owner's other keys", async () => {
    const { createClient } = await keyGatewayFixture();
    const phone = await createClient({ name: "phone", owner: "ann" });
    const laptop = await createClient({ name: "laptop", owner: "ann" });
    const created = await phone.request("POST", "/api/chats", { title: "of ann" });
    const { chat_id: id } = (created.body as { chat: { chat_id: string } }).chat;
    expect((await laptop.request("GET", `/api/chats/${id}`)).status).toBe(200);
    expect(JSON.stringify((await laptop.request("GET", "/api/chats")).body)).toContain(id);
  });

  test("that is wrong, expired or revoked is a 401 that says so, and never contains the key", async () => {
    const { gateway, store, createClient } = await keyGatewayFixture();
    const ann = await createClient({ name: "ann" });
    const bob = await createClient({
      name: "bob",
      expires_at: new Date(Date.now() + 1500).toISOString(),
    });
    await createClient({ name: "carl" });
    expect((await bob.request("GET", "/v1/models")).status).toBe(200);
    await revokeAccessKey("ann", store);
    await sleep(1500);
    const unknown = createAccessKeyToken();
    gateway.sentSecrets.add(unknown);
    for (const [key, message] of [
      [ann.key, /^the access key "ann" was revoked; use another one$/],
      [bob.key, /^the access key "bob" expired on .*Z; use another one$/],
      [unknown, /^the access key ending in "\w{4}" is unknown; it may have been removed$/],
      [unknown.slice(0, -1), /^the token is not an access key of this gateway; create one with /],
    ] as const) {
      const error = await fetchError(gateway.url, bearer(key));
      expect(error).toMatchObject({
        status: 401,
        type: "authentication_error",
        code: "missing_token",
        message: expect.stringMatching(message) as string,
      });
      expect(JSON.stringify(error)).not.toContain(key.slice(4, 30));
    }
  });

  test("is never logged or repeated, even if a client puts it into a URL, a body or a chat", async () => {
    const { gateway, createClient } = await keyGatewayFixture();
    const ann = await createClient({ name: "ann", scopes: ["models", "tasks", "chats", "admin"] });
    const replies = [
      await ann.request("GET", `/v1/models/${ann.key}`),
      await ann.request("GET", `/api/tasks/${ann.key}`),
      await ann.request("DELETE", `/deltawire/keys/${ann.key}`),
      await ann.request("POST", "/deltawire/keys", { name: "bob", scopes: [ann.key] }),
      await ann.request("POST", "/v1/responses", { model: ann.key, input: "Hello" }),
      await ann.request("GET", "/deltawire/keys"),
    ];
    expect(replies.map(({ status }) => status)).toEqual([404, 404, 404, 400, 404, 200]);
    const log = gateway.lines.join("");
    expect(log).toContain("/v1/models/[redacted]");
    expect(log).not.toContain(ann.key.slice(4, 30));
    expect(JSON.stringify(replies.at(-1)?.body)).not.toContain(ann.key.slice(4, 30));
  });
});

describe("the page", () => {
  const signIn = (url: string, token: string) =>
    fetch(`${url}/api/session`, { method: "POST", body: JSON.stringify({ token }) });

  test("exchanges an access key for a cookie, which ends with the key", async () => {
    const { gateway, store, createClient } = await keyGatewayFixture();
    const ann = await createClient({ name: "ann" });
    await waitUntil(
      "a key is required",
      async () => (await fetchStatus(gateway.url)) === 401,
      4000,
    );
    const reply = await signIn(gateway.url, ann.key);
    expect([reply.status, await reply.json()]).toMatchObject([
      200,
      { signed_in: true, client: "ann" },
    ]);
    const cookie = reply.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect(cookie).not.toContain(ann.key);
    const fetchWithCookie = async (headers: Record<string, string> = {}) => {
      const request = { method: "GET", headers: { cookie, ...headers } };
      return (await sendRawRequest(`${gateway.url}/api/chats`, request)).status;
    };
    expect(await fetchWithCookie()).toBe(200);
    expect(await fetchWithCookie({ "sec-fetch-site": "cross-site" })).toBe(401);
    await revokeAccessKey("ann", store);
    await waitUntil("the session has ended", async () => (await fetchWithCookie()) === 401, 4000);
    const session = await fetch(`${gateway.url}/api/session`, { headers: { cookie } });
    expect(await session.json()).toMatchObject({ signed_in: false });
  });

  test("receives the reason why a key is not accepted", async () => {
    const { gateway, store, createClient } = await keyGatewayFixture();
    const ann = await createClient({ name: "ann" });
    await revokeAccessKey("ann", store);
    await waitUntil(
      "a key is required",
      async () => (await fetchStatus(gateway.url)) === 401,
      4000,
    );
    const reply = await signIn(gateway.url, ann.key);
    expect([reply.status, reply.headers.get("set-cookie")]).toEqual([401, null]);
    expect(await reply.text()).toContain("was revoked");
  });
});

describe("what a revoked key has open ends with an error that says so", () => {
  const message = 'the access key "ann" was revoked; use another one';
  const question = { model: "up/endless", stream: true };
  const chatRequest = { ...question, messages: [{ role: "user", content: "Hello" }] };
  const uiMessage = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] };
  const openAiError = { message, type: "authentication_error", param: null, code: "key_revoked" };
  const connectionError = { type: "stream.error", code: "key_revoked", message };
  const responsesError = {
    type: "error",
    code: "key_revoked",
    message,
    param: null,
    error: openAiError,
  };

  async function revocationFixture(names = ["ann"]) {
    const upstream = await testUpstream((_request, response) => {
      beginStream(response);
      response.write(formatEvent(chatChunk({ role: "assistant", content: "a fox" })));
    });
    const fixture = await keyGatewayFixture(
      `[upstreams.up]\nbase_url = "${upstream.url}"\nspeaks = "chat"\n[agents.clerk]\nmodel = "up/endless"\n`,
    );
    const clients = await Promise.all(
      names.map((name) => fixture.createClient({ name, owner: "team" })),
    );
    return { ...fixture, upstream, clients };
  }

  type Opened = Readonly<{ path: string; body?: object; headers?: Record<string, string> }>;

  test.each<[string, Opened | ((client: KeyClient) => Promise<Opened>), object]>([
    [
      "Chat Completions",
      { path: "/v1/chat/completions", body: chatRequest },
      { error: openAiError },
    ],
    ["Responses", { path: "/v1/responses", body: { ...question, input: "Hello" } }, responsesError],
    [
      "an agent as a model",
      { path: "/v1/responses", body: { model: "clerk", input: "Hello", stream: true } },
      responsesError,
    ],
    [
      "the replay of a background response",
      async (client) => {
        const body = { model: "up/endless", input: "Hello", background: true };
        const reply = await client.request("POST", "/v1/responses", body);
        return { path: `/v1/responses/${(reply.body as { id: string }).id}?stream=true` };
      },
      responsesError,
    ],
    [
      "a new task",
      {
        path: "/api/tasks",
        body: { model: "up/endless", input: "Hello" },
        headers: { accept: "text/event-stream" },
      },
      connectionError,
    ],
    [
      "the events of a task",
      async (client) => {
        const body = { model: "up/endless", input: "Hello" };
        const reply = await client.request("POST", "/api/tasks", body);
        return { path: `/api/tasks/${(reply.body as { task_id: string }).task_id}/events` };
      },
      connectionError,
    ],
    ["tasks and chats", { path: "/api/events?chats=" }, connectionError],
    ["the chat feed", { path: "/api/chats/events" }, connectionError],
    [
      "the ai SDK",
      {
        path: "/api/ui-messages",
        body: { id: "chat", messages: [uiMessage], model: "up/endless" },
      },
      { type: "error", errorText: message },
    ],
  ])("a stream of %s", async (_, opened, expected) => {
    const { gateway, store, clients } = await revocationFixture();
    const [client] = clients as [KeyClient];
    const {
      path,
      body,
      headers = {},
    } = typeof opened === "function" ? await opened(client) : opened;
    const response = await fetch(gateway.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...bearer(client.key), "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.status).toBe(200);
    await revokeAccessKey("ann", store);
    const events = (await response.text())
      .split("\n")
      .filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice("data: ".length)) as object);
    expect(events.length).toBeGreaterThan(1);
    expect(events.at(-1)).toEqual(expected);
  });

  test("a request without a stream gets a 401, and its upstream is freed", async () => {
    const { store, clients, upstream } = await revocationFixture();
    const [client] = clients as [KeyClient];
    const reply = client.request("POST", "/v1/chat/completions", { ...chatRequest, stream: false });
    await waitUntil("the request is sent", () => upstream.requests.length === 1);
    await revokeAccessKey("ann", store);
    expect(await reply).toMatchObject({ status: 401, body: { error: openAiError } });
    await upstream.requests[0]?.closed;
  });

  test("a page stops reconnecting, and streams of the owner's other keys go on", async () => {
    const { gateway, store, clients } = await revocationFixture(["ann", "bob"]);
    const [ann, bob] = clients as [KeyClient, KeyClient];
    const connect = ({ key }: KeyClient) => {
      const client = new EventClient({
        transport: createFetchTransport(globalThis, { baseUrl: gateway.url, token: key }),
        schedule(ms, run) {
          const timer = setTimeout(run, ms);
          return () => clearTimeout(timer);
        },
      });
      onTestFinished(() => client.close());
      client.followChats({
        getCursor: () => undefined,
        onEvent: () => undefined,
        onConnection: () => undefined,
      });
      client.open();
      return client;
    };
    const [first, second] = [connect(ann), connect(bob)];
    await waitUntil("both are live", () =>
      [first, second].every(({ connection }) => connection.state === "live"),
    );
    await revokeAccessKey("ann", store);
    await waitUntil("it is rejected", () => first.connection.state === "rejected", 5000);
    expect(first.connection.reason).toBe(message);
    expect(second.connection.state).toBe("live");
  });
});

describe("the scopes of a key", () => {
  /** The routes that are not for everybody, with the scopes of which a key needs one. */
  const allowedScopes = (name: string, path: string): readonly AccessScope[] => {
    if (path.startsWith("/v1/")) return ["models"];
    if (path.startsWith("/deltawire/")) return ["admin"];
    if (["start task", "tasks", "ui messages", "resume ui messages"].includes(name))
      return ["tasks"];
    if (/^\/api\/(?:tasks|approvals|events)/.test(path) || name === "blob")
      return ["tasks", "chats"];
    return ["chats"];
  };

  test("are checked on every route: 403 with the missing scope, before anything else is checked", async () => {
    const { createClient } = await keyGatewayFixture();
    for (const scope of accessScopes) {
      const client = await createClient({ name: scope, scopes: [scope] });
      for (const { name, method, path, isPublic } of routes) {
        if (isPublic) continue;
        // Event streams would not end.
        const isStream = name === "events" || name === "chat events";
        const query = isStream ? "?after=x&chats=x" : "";
        const { status, body } = await client.request(
          method,
          path.replace(/\{\w+\}/, "unknown") + query,
        );
        const allowed = allowedScopes(name, path);
        const message = `the access key "${scope}" lacks the scope ${allowed.join(" or ")}; use a key that has it`;
        const rejection = path.startsWith("/v1/messages")
          ? { type: "error", error: { type: "permission_error", message } }
          : { error: { type: "permission_error", code: "missing_scope", message } };
        const isAllowed = allowed.includes(scope);
        const isServed = ![401, 403, 429, 500].includes(status);
        expect([scope, name, isServed]).toEqual([scope, name, isAllowed]);
        expect([status, body]).toMatchObject(isAllowed ? [status, body] : [403, rejection]);
      }
    }
  });

  test("include tasks if the model of a request is an agent, which calls tools", async () => {
    const { createClient } = await keyGatewayFixture();
    const [models, both] = await Promise.all([
      createClient({ name: "models", scopes: ["models"] }),
      createClient({ name: "both", scopes: ["models", "tasks"] }),
    ]);
    const message = `model: "demo-agent" is an agent, and the access key "models" lacks the scope tasks; use a key that has it, or a model that is not an agent`;
    for (const [path, input] of [
      ["/v1/responses", { input: "Hello" }],
      ["/v1/chat/completions", { messages: [{ role: "user", content: "Hello" }] }],
    ] as const)
      for (const stream of [false, true]) {
        const request = { model: "demo-agent", stream, ...input };
        expect(await models.request("POST", path, request)).toMatchObject({
          status: 403,
          body: { error: { type: "permission_error", code: "missing_scope", message } },
        });
        expect((await both.request("POST", path, request)).status).toBe(200);
        const plain = { ...request, model: "demo/clean" };
        expect((await models.request("POST", path, plain)).status).toBe(200);
      }
  });

  test("are models, tasks and chats unless others are set", async () => {
    const { store } = await keyGatewayFixture();
    const { scopes } = await createAccessKey({ name: "ann" }, store);
    expect(scopes).toEqual(["models", "tasks", "chats"]);
  });
});

describe("a key with the scope admin", () => {
  test("creates, lists, revokes and removes keys; only the reply that creates one contains it", async () => {
    const { gateway, createClient } = await keyGatewayFixture();
    const admin = await createClient({ name: "admin", scopes: ["admin"] });
    const created = await admin.request("POST", "/deltawire/keys", {
      name: "ann",
      scopes: ["chats", "models"],
      expires_at: "2099-01-31T00:00:00Z",
      limits: { requests_per_minute: 60, cost_per_month: 12.5 },
    });
    const { key, ...rest } = created.body as { key: string; id: string };
    gateway.sentSecrets.add(key);
    expect([created.status, created.headers.get("cache-control"), rest]).toEqual([
      201,
      "no-store",
      {
        id: expect.stringMatching(/^key_/) as string,
        name: "ann",
        owner: "ann",
        scopes: ["models", "chats"],
        state: "active",
        last_characters: key.slice(-4),
        limits: { requests_per_minute: 60, cost_per_month: 12.5 },
        created_at: expect.any(String) as string,
        expires_at: "2099-01-31T00:00:00.000Z",
      },
    ]);
    expect(await fetchStatus(gateway.url, bearer(key))).toBe(200);
    const repeated = await admin.request("POST", "/deltawire/keys", { name: "ann" });
    expect([repeated.status, repeated.body]).toMatchObject([
      409,
      { error: { code: "key_name_taken" } },
    ]);
    const unrevoked = await admin.request("DELETE", "/deltawire/keys/ann?forever=true");
    expect([unrevoked.status, unrevoked.body]).toMatchObject([
      409,
      { error: { code: "conflict" } },
    ]);
    const revoked = await admin.request("DELETE", `/deltawire/keys/${rest.id}`);
    expect([revoked.status, revoked.body]).toMatchObject([200, { name: "ann", state: "revoked" }]);
    // The process that revokes a key rejects it immediately.
    expect(await fetchStatus(gateway.url, bearer(key))).toBe(401);
    const listed = await admin.request("GET", "/deltawire/keys");
    expect(listed.body).toMatchObject({
      data: [{ name: "admin" }, { name: "ann", state: "revoked" }],
    });
    expect(JSON.stringify(listed.body)).not.toContain(key.slice(4, 30));
    expect((await admin.request("DELETE", "/deltawire/keys/ann?forever=true")).status).toBe(204);
    const removed = await admin.request("DELETE", "/deltawire/keys/ann");
    expect([removed.status, removed.body]).toMatchObject([
      404,
      { error: { code: "key_not_found" } },
    ]);
  });

  test.each([
    [{}, "name: is missing"],
    [{ name: " " }, "name: must not be empty"],
    [{ name: "a\nb" }, "name: must not contain control characters"],
    [{ name: "a", scopes: [] }, "scopes: expected at least one scope"],
    [{ name: "a", scopes: ["all"] }, "scopes[0]: "],
    [
      { name: "a", expires_at: "tomorrow" },
      "expires_at: expected a time such as 2030-01-31T00:00:00Z",
    ],
    [
      { name: "a", expires_at: "2020-01-01T00:00:00Z" },
      "expires_at: expected a time in the future",
    ],
    [{ name: "a", limits: { requests_per_minute: 0 } }, "limits.requests_per_minute: "],
    [{ name: "a", limits: { cost_per_day: -1 } }, "limits.cost_per_day: expected a number above 0"],
    [{ name: "a", limits: { per_hour: 1 } }, "limits.per_hour: unknown field"],
  ])("receives an error that explains what is wrong with %j", async (body, message) => {
    const { createClient } = await keyGatewayFixture();
    const admin = await createClient({ name: "admin", scopes: ["admin"] });
    const reply = await admin.request("POST", "/deltawire/keys", body);
    expect([reply.status, reply.body]).toMatchObject([
      400,
      { error: { code: "invalid_request", message: expect.stringContaining(message) as string } },
    ]);
  });
});

describe.skipIf(!canRunPostgres)("with two gateways on one PostgreSQL database", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  async function startGateways() {
    const toml =
      '[server]\nport = 0\ndemo = true\n[chats]\ntitles = false\n[store]\nurl = "env:DB"\n';
    const options = { env: { DB: server.url } };
    const [first, second] = [await testGateway(toml, options), await testGateway(toml, options)];
    const store = await openStore({ url: server.url, exclusive: false });
    onTestFinished(() => store.close());
    return { first, second, store };
  }

  test("a key that one creates is accepted by the other, and its revocation ends requests and streams of both within four seconds", async () => {
    const { first, second, store } = await startGateways();
    const admin = await createClientIn(store, first.url, { name: "admin", scopes: ["admin"] });
    const created = await admin.request("POST", "/deltawire/keys", { name: "ann" });
    const { key } = created.body as { key: string };
    const gateways = [first, second];
    for (const gateway of gateways) gateway.sentSecrets.add(key).add(admin.key);
    const statuses = () => Promise.all(gateways.map(({ url }) => fetchStatus(url, bearer(key))));
    expect(await statuses()).toEqual([200, 200]);
    const streams = gateways.map(
      ({ url }) => new TestStream(`${url}/api/chats/events`, { headers: bearer(key) }),
    );
    for (const stream of streams)
      await stream.waitUntil("the stream is open", ({ types }) => types.length > 0);
    const revokedAt = performance.now();
    expect((await admin.request("DELETE", "/deltawire/keys/ann")).status).toBe(200);
    expect((await statuses())[0]).toBe(401);
    await waitUntil("the other one rejects it", async () => (await statuses())[1] === 401);
    for (const stream of streams) await stream.waitUntilEnd();
    expect(performance.now() - revokedAt).toBeLessThan(4000);
  });

  test("the last use is stored, whichever one served the request", async () => {
    const { second, store } = await startGateways();
    const { key } = await createAccessKey({ name: "used" }, store);
    const before = Date.now();
    expect(await fetchStatus(second.url, bearer(key))).toBe(200);
    const readLastUse = async () =>
      (await store.listAccessKeys()).find(({ name }) => name === "used")?.lastUsedAt ?? 0;
    await waitUntil("the last use is stored", async () => (await readLastUse()) >= before, 10_000);
  });
});
