import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deriveSessionValue } from "../src/security/session.ts";
import { SignInThrottle } from "../src/security/sign-in-throttle.ts";
import { findSchemaErrors } from "./validate-schema.ts";
import { sendRawRequest } from "./raw-http.ts";
import type { TestGateway } from "./test-gateway.ts";
import { testGateway } from "./gateway-fixture.ts";

const token = "token-one-0123456789";
const demo = "[server]\nport = 0\ndemo = true\n";
const secure = `${demo}tokens = ["${token}"]\n[clients.laptop]\ntoken = "token-two-0123456789"\n`;
const cookieForm =
  /^deltawire_session_\d+=([\w-]{43}); Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/;

interface Described {
  content: { "application/json": { schema: Record<string, unknown> } };
}

const start = (toml = secure): Promise<TestGateway> => testGateway(toml);

function signIn(url: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${url}/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Cookies are shared by all ports of a host, so the name contains the port. */
function cookieName(url: string): string {
  return `deltawire_session_${new URL(url).port}`;
}

/** Signs in and returns the cookie as a browser sends it. */
async function fetchCookie(url: string, given = token): Promise<string> {
  const set = (await signIn(url, { token: given })).headers.get("set-cookie") ?? "";
  return set.split(";")[0] ?? "";
}

async function fetchStatus(url: string, headers: Record<string, string>): Promise<number> {
  return (await sendRawRequest(`${url}/v1/models`, { method: "GET", headers })).status;
}

const fetchSession = async (url: string, headers: Record<string, string> = {}): Promise<unknown> =>
  (await fetch(`${url}/api/session`, { headers })).json();
const readError = async (response: Response): Promise<object> =>
  ((await response.json()) as { error: object }).error;
const version = expect.any(String) as string;

describe("a token", () => {
  test("is exchanged for a cookie that does not contain it", async () => {
    const { url } = await start();
    expect(await fetchSession(url)).toEqual({ version, token_required: true, signed_in: false });
    const response = await signIn(url, { token: "token-two-0123456789" });
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const session = { version, token_required: true, signed_in: true, client: "laptop" };
    expect(await response.json()).toEqual(session);
    const [, value = ""] = cookieForm.exec(response.headers.get("set-cookie") ?? "") ?? [];
    expect(value).toBe(deriveSessionValue("token-two-0123456789"));
    const cookie = `${cookieName(url)}=${value}`;
    expect(await fetchSession(url, { cookie })).toEqual(session);
    expect(await fetchStatus(url, { cookie })).toBe(200);
  });

  test("that is wrong is a 401 without a cookie", async () => {
    const { url } = await start();
    for (const wrong of ["", "token-one", `${token} `]) {
      const response = await signIn(url, { token: wrong });
      expect(response.status).toBe(401);
      expect(response.headers.get("set-cookie")).toBeNull();
      expect(await readError(response)).toMatchObject({ code: "missing_token" });
    }
  });

  test("gets a Secure cookie only if the proxy in front uses HTTPS", async () => {
    const { url } = await start();
    for (const [proto, isSecure] of [
      ["https", true],
      ["HTTPS, http", true],
      ["http", false],
      ["http, https", false],
    ] as const) {
      const reply = await signIn(url, { token }, { "x-forwarded-proto": proto });
      const set = reply.headers.get("set-cookie") ?? "";
      expect([proto, set.endsWith("; Secure")]).toEqual([proto, isSecure]);
    }
  });

  test.each([
    ["", 400, "invalid_json", /empty/],
    ["{", 400, "invalid_json", /not valid JSON/],
    ["[]", 400, "invalid_request", /object/],
    ["{}", 400, "invalid_request", /token: is missing/],
    [{ token: 7 }, 400, "invalid_request", /token: must be a string, got 7/],
    [{ token, remember: true }, 400, "invalid_request", /remember: unknown field/],
    [
      { token: "x".repeat(20_000) },
      413,
      "request_too_large",
      /the body is larger than 16384 bytes/,
    ],
  ])("must be a field of a small JSON object: %j", async (body, status, code, message) => {
    const { url } = await start();
    const response = await signIn(url, body);
    expect(response.status).toBe(status);
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(await readError(response)).toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  });

  test("is not needed if none is configured, and no cookie is set", async () => {
    const { url } = await start(demo);
    const session = { version, token_required: false, signed_in: true };
    expect(await fetchSession(url)).toEqual(session);
    const response = await signIn(url, { token: "whatever" });
    expect([response.status, await response.json()]).toEqual([200, session]);
    expect(response.headers.get("set-cookie")).toBeNull();
    for (const headers of [{}, { cookie: `${cookieName(url)}=nonsense` }])
      expect(await fetchStatus(url, headers)).toBe(200);
  });
});

test("requests and replies match the OpenAPI document", async () => {
  const { url } = await start();
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: { "/api/session": Record<string, { responses: Record<string, Described> }> };
    components: { schemas: Record<string, Record<string, unknown>> };
  };
  const cookie = await fetchCookie(url);
  for (const [method, body, status] of [
    ["get", undefined, 200],
    ["post", { token }, 200],
    ["post", { token: "wrong" }, 401],
    ["post", {}, 400],
    ["delete", undefined, 200],
  ] as const) {
    const reply = await sendRawRequest(`${url}/api/session`, {
      method: method.toUpperCase(),
      headers: { cookie },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect([method, reply.status]).toEqual([method, status]);
    const described = document.paths["/api/session"][method]?.responses[status];
    const schema = described?.content["application/json"].schema ?? { type: "null" };
    expect(findSchemaErrors(document.components.schemas, schema, JSON.parse(reply.text))).toEqual(
      [],
    );
  }
});

describe("the cookie", () => {
  test("grants the page the access of its token", async () => {
    const { url } = await start();
    const cookie = await fetchCookie(url);
    const origin = url;
    for (const headers of [
      { cookie },
      { cookie, origin },
      { cookie, origin, "sec-fetch-site": "same-origin" },
      { cookie, "sec-fetch-site": "none" },
      { cookie: `theme=dark; ${cookie}; other=1` },
      { cookie: `${cookieName(url)}=old; ${cookie}` },
    ])
      expect([headers, await fetchStatus(url, headers)]).toEqual([headers, 200]);
  });

  test("gives no access to pages of other origins, on this machine or elsewhere", async () => {
    const { url } = await start(
      secure.replace("demo", 'cors_origins = ["https://a.example"]\ndemo'),
    );
    const cookie = await fetchCookie(url);
    for (const [headers, status] of [
      [{ "sec-fetch-site": "same-site" }, 401],
      [{ "sec-fetch-site": "cross-site" }, 401],
      [{ "sec-fetch-site": "anything" }, 401],
      [{ origin: url, "sec-fetch-site": "same-site" }, 401],
      [{ origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" }, 403],
      [{ origin: "http://127.0.0.1:1" }, 403],
      [{ origin: "null" }, 403],
      [{ origin: "https://evil.example" }, 403],
      [{ origin: "https://a.example" }, 401],
      [{ host: "evil.example" }, 403],
    ] as [Record<string, string>, number][])
      expect([headers, await fetchStatus(url, { cookie, ...headers })]).toEqual([headers, status]);
    // A page of an allowed origin can still use its own token.
    const headers = { origin: "https://a.example", authorization: `Bearer ${token}` };
    expect(await fetchStatus(url, headers)).toBe(200);
  });

  test("is set and cleared only by our own page", async () => {
    const { url } = await start();
    for (const method of ["POST", "DELETE"])
      for (const origin of ["http://127.0.0.1:1", "https://evil.example"]) {
        const headers = { origin };
        const body = JSON.stringify({ token });
        const reply = await sendRawRequest(`${url}/api/session`, { method, headers, body });
        expect(reply.status).toBe(403);
        expect(reply.headers["set-cookie"]).toBeUndefined();
      }
  });

  test("gives no access if it is another value, or the token itself", async () => {
    const { url } = await start();
    const value = deriveSessionValue(token);
    const name = cookieName(url);
    for (const cookie of [
      `${name}=`,
      `${name}=${token}`,
      `${name}=${value.slice(0, -1)}`,
      `${name}=${value}A`,
      `${name}=${deriveSessionValue("another-token-0123")}`,
      `D${name.slice(1)}=${value}`,
      `x${name}=${value}`,
      `${name}="${value}"`,
      // The cookie of a gateway on another port.
      `${name}0=${value}`,
      `deltawire_session=${value}`,
      value,
    ])
      expect([cookie, await fetchStatus(url, { cookie })]).toEqual([cookie, 401]);
    expect(await fetchStatus(url, { authorization: `Bearer ${value}` })).toBe(401);
  });

  test("does not make up for a wrong token in the same request", async () => {
    const { url } = await start();
    const cookie = await fetchCookie(url);
    expect(await fetchStatus(url, { cookie, authorization: "Bearer wrong-token" })).toBe(401);
  });

  test("survives a restart, and becomes invalid with its token", async () => {
    const first = await start();
    const cookie = await fetchCookie(first.url);
    const onPort = (toml: string) => start(toml.replace("port = 0", `port = ${port}`));
    const { port } = new URL(first.url);
    await first.close();
    const restarted = await onPort(secure);
    expect(await fetchStatus(restarted.url, { cookie })).toBe(200);
    await restarted.close();
    const changed = await onPort(`${demo}tokens = ["token-new-0123456789"]\n`);
    expect(await fetchStatus(changed.url, { cookie })).toBe(401);
    expect(await fetchSession(changed.url, { cookie })).toMatchObject({ signed_in: false });
  });

  test("is cleared by signing out", async () => {
    const { url } = await start();
    const cookie = await fetchCookie(url);
    const response = await fetch(`${url}/api/session`, { method: "DELETE", headers: { cookie } });
    expect(await response.json()).toEqual({ version, token_required: true, signed_in: false });
    expect(response.headers.get("set-cookie")).toBe(
      `${cookieName(url)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`,
    );
  });

  test("is never logged or repeated in an error, even if a client puts it into a URL", async () => {
    const gateway = await start();
    const { url, lines } = gateway;
    const cookie = await fetchCookie(url);
    gateway.sentSecrets.add(cookie).add(deriveSessionValue(token));
    await fetchStatus(url, { cookie });
    const reflected = await fetch(`${url}/v1/models/${deriveSessionValue(token)}`, {
      headers: { cookie },
    });
    expect(reflected.status).toBe(404);
    await signIn(url, { token: "token-wrong-0123456789" });
    const log = lines.join("");
    expect(log).toContain("/v1/models/[redacted]");
    expect(log).toContain("sign-in with a wrong token");
    expect(log).not.toContain("token-wrong");
  });
});

describe("wrong tokens", () => {
  const wrong = { token: "token-wrong-0123456789" };

  test("one after another are slowed down, and then rejected with Retry-After", async () => {
    const { url } = await start();
    for (let attempts = 0; attempts < 5; attempts += 1)
      expect((await signIn(url, wrong)).status).toBe(401);
    const startedAt = performance.now();
    expect((await signIn(url, wrong)).status).toBe(401);
    expect(performance.now() - startedAt).toBeGreaterThan(800);
    const many = await Promise.all(Array.from({ length: 10 }, () => signIn(url, wrong)));
    const rejected = many.filter(({ status }) => status === 429);
    expect(rejected.length).toBeGreaterThanOrEqual(9);
    expect(Number(rejected[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    // A valid token has to wait too, or the delay would reveal that it is valid. In a header it still works.
    expect((await signIn(url, { token })).status).toBe(429);
    expect(await fetchStatus(url, { authorization: `Bearer ${token}` })).toBe(200);
  });

  test("in a header are rejected and logged immediately, without affecting valid ones", async () => {
    const { url, lines } = await start();
    const startedAt = performance.now();
    const bearer = (given: string) => ({ authorization: `Bearer ${given}` });
    for (let attempts = 0; attempts < 20; attempts += 1)
      expect(await fetchStatus(url, bearer("token-wrong-0123456789"))).toBe(401);
    expect(await fetchStatus(url, bearer(token))).toBe(200);
    expect((await signIn(url, { token })).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(lines.filter((line) => line.includes("missing_token"))).toHaveLength(20);
  });

  test("are cleared by a valid one", async () => {
    const { url } = await start();
    for (let round = 0; round < 3; round += 1) {
      for (let attempts = 0; attempts < 4; attempts += 1)
        expect((await signIn(url, wrong)).status).toBe(401);
      expect((await signIn(url, { token })).status).toBe(200);
    }
  });

  test("of a client that disconnects while it waits cause no internal error", async () => {
    const { url, lines } = await start();
    for (let attempts = 0; attempts < 5; attempts += 1) await signIn(url, wrong);
    const signal = AbortSignal.timeout(100);
    const left = fetch(`${url}/api/session`, {
      method: "POST",
      body: JSON.stringify(wrong),
      signal,
    });
    await expect(left).rejects.toThrow(/abort|timeout/i);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(lines.join("")).not.toContain("internal error");
  });

  test("from one address are limited in number, however they are spread over time", () => {
    const pauses = fc.array(fc.nat(5000), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(pauses, (waits) => {
        const attempts = new SignInThrottle();
        const attemptTimes: number[] = [];
        let now = 1;
        for (const wait of waits) {
          now += wait;
          const decision = attempts.recordAttempt("a", now);
          if (decision.status === "allowed") attemptTimes.push(now + decision.waitMs);
        }
        expect(attemptTimes).toEqual(attemptTimes.toSorted((a, b) => a - b));
        // Five attempts are free, then there are pauses of 1, 2, 4, 8, 16 and 30 s.
        const gaps = attemptTimes
          .slice(1)
          .map((position, index) => position - (attemptTimes[index] ?? 0));
        for (const [index, gap] of gaps.entries())
          expect(gap).toBeGreaterThanOrEqual(
            index < 4 ? 0 : Math.min(30_000, 1000 * 2 ** (index - 4)),
          );
      }),
    );
  });

  test("are remembered for up to a thousand addresses and a quarter of an hour", () => {
    const attempts = new SignInThrottle();
    const exhaust = (address: string, now: number): void => {
      for (let count = 0; count < 8; count += 1) attempts.recordAttempt(address, now);
    };
    const isSlowed = (address: string, now: number): boolean =>
      attempts.recordAttempt(address, now).status === "rejected";
    exhaust("first", 1);
    expect(isSlowed("first", 2)).toBe(true);
    expect(isSlowed("other", 2)).toBe(false);
    for (let count = 0; count < 999; count += 1) attempts.recordAttempt(`address ${count}`, 3);
    expect(isSlowed("first", 4)).toBe(false);
    exhaust("second", 5);
    expect(isSlowed("second", 6)).toBe(true);
    expect(attempts.recordAttempt("second", 16 * 60 * 1000)).toEqual({
      status: "allowed",
      waitMs: 0,
    });
    expect(attempts.recordAttempt("second", 16 * 60 * 1000)).toEqual({
      status: "allowed",
      waitMs: 0,
    });
  });
});
