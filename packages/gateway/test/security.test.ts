import { describe, expect, test } from "vitest";
import { sendRawRequest } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream, hello, helloChat, gatewayFixture } from "./gateway-fixture.ts";
import { sendError, streamText } from "./scripted-upstream.ts";

const secure = `[server]
port = 0
tokens = ["token-one-0123456789"]
[clients.laptop]
token = "env:LAPTOP_TOKEN"
`;
const env = { LAPTOP_TOKEN: "token-two-0123456789" };
const openRoutes = ["/", "/healthz", "/readyz", "/openapi.json"];
const closedRoutes = [
  "/v1/models",
  "/v1/models/up/m",
  "/deltawire/upstreams",
  "/deltawire/lessons",
];

describe("keys", () => {
  test("of clients never go upstream, in any header; the upstream's own key does", async () => {
    const { gateway, upstream } = await gatewayFixture(
      (_request, response) => streamText(response, "fine"),
      {
        upstream: { api_key: "key-of-the-upstream" },
      },
    );
    for (const headers of [
      { authorization: "Bearer bearer-of-somebody" },
      { authorization: "Basic dXNlcjpwYXNz" },
      { "api-key": "key-of-somebody", "x-api-key": "key-of-somebody" },
      { cookie: "session=of-somebody", "x-goog-api-key": "key-of-somebody" },
      { "openai-organization": "org-of-somebody", "openai-project": "proj-of-somebody" },
    ])
      expect((await gateway.post("/responses", hello, { headers })).status).toBe(200);
    for (const { headers } of upstream.requests) {
      expect(headers.authorization).toBe("Bearer key-of-the-upstream");
      expect(JSON.stringify(headers)).not.toMatch(/somebody|dXNlcjpwYXNz/);
    }
  });

  test("go in the header that the upstream expects, next to its own headers and parameters", async () => {
    const { gateway, upstream } = await gatewayFixture(
      (_request, response) => streamText(response, "fine"),
      {
        upstream: { api_key: "key-of-the-upstream", api_key_header: "api-key" },
        toml: '[upstreams.up.headers]\nx-team = "blue-team"\n[upstreams.up.query]\napi-version = "7"\n',
      },
    );
    await gateway.post("/responses", hello, { headers: { "api-key": "key-of-somebody" } });
    expect(upstream.requests[0]).toMatchObject({
      path: "/v1/chat/completions?api-version=7",
      headers: { "api-key": "key-of-the-upstream", "x-team": "blue-team" },
    });
    expect(upstream.requests[0]?.headers.authorization).toBeUndefined();
  });

  test("go only to their own upstream", async () => {
    const [a, b] = [
      await testUpstream((_request, response) => sendError(response, 503, { message: "down" })),
      await testUpstream((_request, response) => streamText(response, "fine")),
    ];
    const gateway = await testGateway(
      `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", a.url, { api_key: "key-of-upstream-a", retries: 0 })}${upstreamToml("b", b.url, { api_key: "key-of-upstream-b" })}`,
    );
    expect((await gateway.post("/responses", { ...hello, model: "best" })).status).toBe(200);
    expect(a.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer key-of-upstream-a",
    ]);
    expect(b.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer key-of-upstream-b",
    ]);
  });

  test.each([301, 302, 303, 307, 308])(
    "do not follow a %i to another server, nor does the request",
    async (status) => {
      const other = await testUpstream((_request, response) => streamText(response, "caught"));
      const { gateway } = await gatewayFixture((_request, response) => {
        response.writeHead(status, { location: `${other.url}/chat/completions` });
        response.end();
      });
      for (const [path, body] of [
        ["/responses", hello],
        ["/chat/completions", { ...helloChat, stream: false }],
        ["/embeddings", { model: "up/m", input: "x" }],
      ] as const) {
        const response = await gateway.post(path, body);
        expect(response.status).toBe(502);
        expect(await response.json()).toMatchObject({ error: { code: "upstream_redirect" } });
      }
      expect(other.requests).toEqual([]);
    },
  );

  test("go where the configuration says, whatever a request contains", async () => {
    const other = await testUpstream((_request, response) => streamText(response, "caught"));
    const { gateway, upstream } = await gatewayFixture((_request, response) =>
      streamText(response, "fine"),
    );
    const odd = {
      base_url: other.url,
      baseUrl: other.url,
      api_base: other.url,
      url: other.url,
      upstream: { base_url: other.url },
    };
    const headers = {
      "x-deltawire-upstream": other.url,
      "x-forwarded-host": new URL(other.url).host,
      "x-portkey-custom-host": other.url,
      forwarded: `host=${new URL(other.url).host}`,
    };
    await gateway.post("/responses", { ...hello, ...odd }, { headers });
    await gateway.post("/chat/completions", { ...helloChat, ...odd }, { headers });
    await gateway.post("/embeddings", { model: "up/m", input: "x", ...odd }, { headers });
    for (const model of ["up/../../elsewhere", "up/m?x=1", `up/${other.url}`, "up/m#x", "up/\r\nm"])
      await gateway.post("/chat/completions", { ...helloChat, model }, { headers });
    expect(other.requests).toEqual([]);
    const paths = new Set(upstream.requests.map(({ path }) => path));
    expect(paths).toEqual(new Set(["/v1/chat/completions", "/v1/embeddings"]));
  });
});

describe("the Host of a request", () => {
  const start = () =>
    testGateway(`[server]\nport = 0\nallowed_hosts = ["gateway.lan"]\ndemo = true\n`);
  const statusFor = async (url: string, host: string, path = "/v1/models"): Promise<number> =>
    (await sendRawRequest(url + path, { method: "GET", headers: { host } })).status;

  test("must be a name of this machine or a configured one", async () => {
    const { url } = await start();
    for (const host of ["127.0.0.1", "localhost", "LOCALHOST:4141", "[::1]:80", "gateway.lan:4141"])
      expect([host, await statusFor(url, host)]).toEqual([host, 200]);
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example:4141",
      "evil.example:127",
      "192.168.1.7:4141",
      "169.254.169.254",
      "gateway.lan.evil.example",
      "notgateway.lan",
    ])
      expect([host, await statusFor(url, host)]).toEqual([host, 403]);
  });

  test("is checked before anything else, on public routes too", async () => {
    const { url } = await start();
    for (const path of [...openRoutes, "/v1/nowhere"])
      expect(await statusFor(url, "evil.example", path)).toBe(403);
    const { text } = await sendRawRequest(`${url}/v1/models`, {
      method: "GET",
      headers: { host: "evil.example" },
    });
    expect(JSON.parse(text)).toMatchObject({
      error: { code: "host_not_allowed", type: "permission_error", param: null },
    });
  });
});

describe("a web page", () => {
  test("of any other origin is rejected, and gets no header that would let it read the reply", async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) =>
      streamText(response, "fine"),
    );
    for (const origin of ["https://evil.example", "null", "http://127.0.0.1:1", "file://"])
      for (const [method, path] of [
        ["GET", "/v1/models"],
        ["POST", "/v1/responses"],
        ["OPTIONS", "/v1/responses"],
        ["GET", "/healthz"],
      ] as const) {
        const { status, headers } = await sendRawRequest(gateway.url + path, {
          method,
          headers: { origin, "content-type": "text/plain" },
          ...(method === "POST" ? { body: JSON.stringify(hello) } : {}),
        });
        expect([origin, path, status]).toEqual([origin, path, 403]);
        expect(Object.keys(headers).join()).not.toContain("access-control");
      }
    expect(upstream.requests).toEqual([]);
  });

  test("of this gateway's own origin is served", async () => {
    const { gateway } = await gatewayFixture((_request, response) => streamText(response, "fine"));
    const headers = { origin: gateway.url };
    expect((await gateway.post("/responses", hello, { headers })).status).toBe(200);
  });

  test("of a configured origin may send a preflight and requests, and read replies and errors", async () => {
    const origin = "https://chat.example.org";
    const { gateway } = await gatewayFixture((_request, response) => streamText(response, "fine"), {
      toml: `[server]\nport = 0\ncors_origins = ["${origin}"]\n`,
    });
    const preflight = await fetch(`${gateway.url}/v1/responses`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "authorization,content-type,x-stainless-os",
      vary: "origin",
    });
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
    for (const [path, body, status] of [
      ["/responses", hello, 200],
      ["/responses", "{", 400],
      ["/nowhere", {}, 404],
    ] as const) {
      const response = await gateway.post(path, body, { headers: { origin } });
      expect(response.status).toBe(status);
      expect(response.headers.get("access-control-allow-origin")).toBe(origin);
      expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    }
    const other = await gateway.post("/responses", hello, {
      headers: { origin: "https://chat.example.org.evil.example" },
    });
    expect(other.status).toBe(403);
  });
});

describe("with tokens configured,", () => {
  const start = async () => {
    const upstream = await testUpstream((_request, response) => streamText(response, "fine"));
    const gateway = await testGateway(
      secure + upstreamToml("up", upstream.url, { models: ["m"] }),
      {
        env,
      },
    );
    return { upstream, gateway };
  };

  test("each of them is accepted, as a bearer token or api-key", async () => {
    const { gateway } = await start();
    for (const headers of [
      { authorization: "Bearer token-one-0123456789" },
      { authorization: "bearer   token-two-0123456789 " },
      { authorization: "", "api-key": "token-two-0123456789" },
    ])
      expect((await gateway.post("/responses", hello, { headers })).status).toBe(200);
  });

  test("anything else is a 401 in OpenAI's format that says how, and sends no request upstream", async () => {
    const { gateway, upstream } = await start();
    for (const headers of [
      {},
      { authorization: "Bearer" },
      { authorization: "Bearer token-one-012345678" },
      { authorization: "Bearer token-one-0123456789x" },
      { authorization: "Bearer TOKEN-ONE-0123456789" },
      { authorization: "Basic token-one-0123456789" },
      { authorization: "token-one-0123456789" },
      { authorization: `Bearer ${"x".repeat(10_000)}` },
      { "api-key": "token-one" },
      { cookie: "token=token-one-0123456789" },
    ] as Record<string, string>[]) {
      const {
        status,
        headers: replied,
        text,
      } = await sendRawRequest(`${gateway.url}/v1/responses`, {
        headers,
        body: JSON.stringify(hello),
      });
      expect(status).toBe(401);
      expect(replied["www-authenticate"]).toMatch(/^Bearer/);
      const { error } = JSON.parse(text) as { error: { message: string } };
      expect(error).toMatchObject({
        type: "authentication_error",
        code: "missing_token",
        param: null,
      });
      expect(error.message).toContain("Authorization: Bearer");
    }
    expect(upstream.requests).toEqual([]);
  });

  test("only public routes need none", async () => {
    const { gateway } = await start();
    for (const path of openRoutes)
      expect([path, (await fetch(gateway.url + path)).status]).toEqual([path, 200]);
    for (const path of closedRoutes)
      expect([path, (await fetch(gateway.url + path)).status]).toEqual([path, 401]);
    const forgotten = await fetch(`${gateway.url}/deltawire/lessons`, { method: "DELETE" });
    expect(forgotten.status).toBe(401);
  });

  test("a token in the URL is ignored", async () => {
    const { gateway } = await start();
    for (const name of ["api_key", "key", "token", "access_token"]) {
      const address = `${gateway.url}/v1/models?${name}=token-one-0123456789`;
      expect((await fetch(address)).status).toBe(401);
    }
    expect(gateway.lines.join("")).not.toContain("token-one");
  });

  test("the log names the client and not its token", async () => {
    const { gateway } = await start();
    await gateway.post("/responses", hello, {
      headers: { authorization: "Bearer token-two-0123456789" },
    });
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({ client: "laptop", status: 200 });
  });
});
