import { describe, expect, test } from "vitest";
import { routes } from "../src/http/routes.ts";
import { sendRawRequest, openConnection, sendBytes } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

interface Failure {
  error: { message: string; type: string; param: string | null; code: string };
}

const postsWithoutBody = new Set(["/api/chats/{chat}/restore", "/v1/responses/{response}/cancel"]);

const start = () =>
  testGateway(
    `[models]\nfast = "up/vendor/small"\n${upstreamToml("up", "http://127.0.0.1:9/v1", { models: ["vendor/small", "large"] })}`,
  );

async function readError(response: Response): Promise<Failure["error"]> {
  return ((await response.json()) as Failure).error;
}

/** Parses the status and the JSON of a reply read from a bare socket. */
function parseRawReply(text: string): { status: number; body: Failure } {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
  return { status, body: JSON.parse(text.slice(text.indexOf("\r\n\r\n"))) as Failure };
}

describe("an unsupported request", () => {
  test.each([
    ["/chat/completions", "did you mean /v1/chat/completions?"],
    ["/responses", "did you mean /v1/responses?"],
    ["/v1/v1/responses", "did you mean /v1/responses?"],
    ["/v1/completions", "/openapi.json"],
    ["/admin", "/openapi.json"],
  ])("to %s is a 404 with a hint", async (path, hint) => {
    const { url } = await start();
    const response = await fetch(url + path, { method: "POST", body: "{}" });
    expect(response.status).toBe(404);
    const { message, ...more } = await readError(response);
    expect(message).toContain(`POST ${path} is not supported`);
    expect(message).toContain(hint);
    expect(more).toEqual({ type: "not_found_error", param: null, code: "not_found" });
  });

  test("with the wrong method is a 405 that lists the allowed methods", async () => {
    const { url } = await start();
    for (const [method, path, allowed] of [
      ["GET", "/v1/responses", "POST"],
      ["PUT", "/v1/responses/resp_1", "GET, DELETE"],
      ["PUT", "/v1/chat/completions", "POST"],
      ["POST", "/v1/models", "GET"],
      ["DELETE", "/v1/models/up/large", "GET"],
      ["POST", "/deltawire/lessons", "GET, DELETE"],
      ["POST", "/", "GET"],
    ] as const) {
      const response = await fetch(url + path, { method });
      expect([path, response.status, response.headers.get("allow")]).toEqual([path, 405, allowed]);
      expect(await readError(response)).toMatchObject({ code: "method_not_allowed" });
    }
  });
});

test("a trailing slash and a query change nothing, and HEAD is GET without a body", async () => {
  const { url } = await start();
  for (const path of ["/v1/models/", "/v1/models?client_version=0.166.0", "/healthz/", "/?a=b"])
    expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
  const head = await fetch(`${url}/v1/models`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

describe("an invalid HTTP request", () => {
  test("is a 400 in OpenAI's format, and the next request is served", async () => {
    const { url } = await start();
    for (const bytes of [
      "nonsense\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET / HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n",
      "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
      "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
    ]) {
      const { status, body } = parseRawReply(await sendBytes(url, Buffer.from(bytes, "latin1")));
      expect([bytes, status]).toEqual([bytes, 400]);
      expect(body.error).toMatchObject({ type: "invalid_request_error", param: null });
      expect(body.error.message).toContain("could not read the request");
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test("target is a 404 and causes no internal error", async () => {
    const { url } = await start();
    const get = (target: string): Promise<string> =>
      sendBytes(url, `GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    for (const target of ["///", "http://[", "//[::1", "/%", "/v1/models/%E0%A4%A", "*", "/[]"]) {
      const { status, body } = parseRawReply(await get(target));
      expect([target, status]).toEqual([target, 404]);
      expect(body.error.type).toBe("not_found_error");
    }
    // An absolute URL, as clients send it to a proxy.
    expect(await get("http://localhost/healthz")).toMatch(/^HTTP\/1.1 200 /);
    expect(await get("//")).toMatch(/^HTTP\/1.1 200 /);
  });
});

test("a WebSocket upgrade gets a 426 immediately, except at /v1/responses, and the connection closes", async () => {
  const { url } = await start();
  for (const path of ["/v1/models", "/v1/realtime?model=x", "/"]) {
    const { socket, received, ended } = await openConnection(url);
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    await ended;
    expect(received()).toMatch(/^HTTP\/1.1 426 Upgrade Required\r\n/);
    expect(parseRawReply(received()).body.error).toMatchObject({ code: "upgrade_not_supported" });
  }
});

test("an HTTP/2 upgrade request, as sent by curl and Java, is answered with HTTP/1.1", async () => {
  const { url } = await start();
  const { socket, received } = await openConnection(url);
  socket.write(
    "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
  );
  await waitUntil("an answer", () => received().includes("\r\n\r\n"));
  expect(received()).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  socket.destroy();
});

describe("the OpenAPI document", () => {
  interface Operation {
    operationId: string;
    summary: string;
    security?: unknown[];
    parameters: { name: string; in: string; required: boolean }[];
    requestBody?: { content: Record<string, unknown> };
    responses: Record<string, { description: string }>;
  }

  test("has version 3.1 and lists every route once with its replies", async () => {
    const { url } = await start();
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
      openapi: string;
      info: { title: string; version: string };
      servers: { url: string }[];
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: object; securitySchemes: object };
      security: Record<string, unknown>[];
    };
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({
      title: "Deltawire",
      version: expect.any(String) as string,
    });
    expect(document.servers).toEqual([{ url }]);
    const documentedRoutes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documentedRoutes.toSorted()).toEqual(
      routes.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, method, operation } of operations) {
      expect(operation.operationId).toMatch(/^\w+$/);
      const success = Object.keys(operation.responses).find((status) => status.startsWith("2"));
      expect(operation.responses[success ?? ""]?.description).toBeTruthy();
      const hasBody = method === "post" && !postsWithoutBody.has(path);
      expect([path, operation.requestBody !== undefined]).toEqual([path, hasBody]);
      const pathParams = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(
        operation.parameters.filter((each) => each.in === "path").map(({ name }) => name),
      ).toEqual(pathParams);
    }
    for (const scheme of document.security.flatMap((each) => Object.keys(each)))
      expect(document.components.securitySchemes).toHaveProperty(scheme);
    for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g))
      expect(document.components.schemas).toHaveProperty(String(name));
  });

  test("matches the routes: those without security need no token, all others do", async () => {
    const gateway = await testGateway(
      `[server]\nport = 0\ndemo = true\ntokens = ["token-0123456789"]\n`,
    );
    const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Operation>>;
    };
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { security }] of Object.entries(methods)) {
        const address = gateway.url + path.replace("{model}", "x");
        const { status } = await sendRawRequest(address, { method: method.toUpperCase() });
        expect([path, method, status === 401]).toEqual([path, method, security === undefined]);
      }
  });
});

describe("the home page", () => {
  test("shows how to connect Codex and any other client, with this URL", async () => {
    const { url } = await start();
    const response = await fetch(url);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const page = await response.text();
    for (const text of [
      'model_provider = "deltawire"',
      "[model_providers.deltawire]",
      `base_url = "${url}/v1"`,
      'wire_api = "responses"',
      `model_catalog_url = "${url}/v1/models"`,
      `curl ${url}/v1/chat/completions`,
      "POST /v1/responses",
    ])
      expect(page).toContain(text);
  });

  test("makes no external requests, runs no script, and cannot be framed", async () => {
    const { url } = await start();
    const response = await fetch(url);
    const page = await response.text();
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\son\w+=|\ssrc=/i);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("script");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("escapes names", async () => {
    const gateway = await testGateway(
      `[models]\n'<b onclick="x">' = "up/m"\n${upstreamToml("up", "http://127.0.0.1:9/v1", { models: ["<script>"] })}`,
    );
    const page = await (await fetch(gateway.url)).text();
    expect(page).not.toMatch(/<b onclick|<script/);
  });
});

describe("the model list", () => {
  test("is OpenAI's list and Codex's catalog in one object", async () => {
    const { url } = await start();
    const list = (await (await fetch(`${url}/v1/models`)).json()) as {
      object: string;
      data: { id: string; object: string; created: number; owned_by: string }[];
      models: Record<string, unknown>[];
    };
    expect(list.object).toBe("list");
    expect(list.data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["fast", "up/vendor/small", "up/large", "large"]),
    );
    for (const each of list.data)
      expect(each).toMatchObject({
        object: "model",
        created: expect.any(Number) as number,
        owned_by: "up",
      });
    for (const entry of list.models)
      for (const field of [
        "slug",
        "display_name",
        "supported_reasoning_levels",
        "shell_type",
        "visibility",
        "supported_in_api",
        "priority",
        "support_verbosity",
        "truncation_policy",
        "experimental_supported_tools",
        "base_instructions",
        "context_window",
        "apply_patch_tool_type",
      ])
        expect(entry).toHaveProperty(field);
    expect(list.models.map(({ slug }) => slug)).toContain("fast");
  });

  test("has a route for each model; slashes in names may be escaped or not", async () => {
    const { url } = await start();
    for (const path of ["fast", "up/vendor/small", "up%2Fvendor%2Fsmall", "large"]) {
      const response = await fetch(`${url}/v1/models/${path}`);
      expect([path, response.status]).toEqual([path, 200]);
      expect(await response.json()).toMatchObject({
        id: decodeURIComponent(path),
        object: "model",
      });
    }
    const missing = await fetch(`${url}/v1/models/nothing`);
    expect(missing.status).toBe(404);
    expect(await readError(missing)).toMatchObject({ code: "model_not_found", param: "model" });
  });

  test("is not delayed for long by an upstream that does not respond", async () => {
    const silent = await testUpstream(() => undefined, { listModels: () => undefined });
    const gateway = await testGateway(
      `${upstreamToml("silent", silent.url)}${upstreamToml("up", "http://127.0.0.1:9/v1", { models: ["m"] })}`,
    );
    const startedAt = performance.now();
    const list = (await (await fetch(`${gateway.url}/v1/models`)).json()) as {
      data: { id: string }[];
    };
    // Listing the models of an upstream may take ten seconds.
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(list.data.map(({ id }) => id)).toContain("up/m");
  });
});

test("health, readiness and upstreams are reported", async () => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "x"));
  const read = async (path: string): Promise<unknown> => (await fetch(gateway.url + path)).json();
  expect(await read("/healthz")).toEqual({ status: "ok", version: expect.any(String) as string });
  expect(await read("/readyz")).toEqual({ status: "ready" });
  expect(await read("/deltawire/upstreams")).toMatchObject({
    upstreams: [
      { name: "up", speaks: "chat", profile: "generic", has_key: true, circuit: "closed" },
    ],
  });
  expect(gateway.lines.map((line) => (JSON.parse(line) as { path: string }).path)).toEqual([
    "/deltawire/upstreams",
  ]);
});
