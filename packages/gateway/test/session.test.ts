import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sessionValue } from "../src/security/session.ts";
import { WrongTries } from "../src/security/wrong-tries.ts";
import { schemaFaults } from "./openapi-faults.ts";
import { ask } from "./raw-http.ts";
import type { TestGateway } from "./running-gateway.ts";
import { aGateway } from "./scene.ts";

const token = "token-one-0123456789";
const demo = "[server]\nport = 0\ndemo = true\n";
const secure = `${demo}tokens = ["${token}"]\n[clients.laptop]\ntoken = "token-two-0123456789"\n`;
const cookieForm =
  /^deltawire_session_\d+=([\w-]{43}); Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/;

interface Described {
  content: { "application/json": { schema: Record<string, unknown> } };
}

const start = (toml = secure): Promise<TestGateway> => aGateway(toml);

function signIn(url: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${url}/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Cookies know no ports: a gateway's is named after its own. */
function nameAt(url: string): string {
  return `deltawire_session_${new URL(url).port}`;
}

/** The cookie as a browser sends it. */
async function cookieOf(url: string, given = token): Promise<string> {
  const set = (await signIn(url, { token: given })).headers.get("set-cookie") ?? "";
  return set.split(";")[0] ?? "";
}

async function statusWith(url: string, headers: Record<string, string>): Promise<number> {
  return (await ask(`${url}/v1/models`, { method: "GET", headers })).status;
}

const sessionOf = async (url: string, headers: Record<string, string> = {}): Promise<unknown> =>
  (await fetch(`${url}/api/session`, { headers })).json();
const errorOf = async (response: Response): Promise<object> =>
  ((await response.json()) as { error: object }).error;
const version = expect.any(String) as string;

describe("a token", () => {
  test("is exchanged for a cookie that stands for it and does not hold it", async () => {
    const { url } = await start();
    expect(await sessionOf(url)).toEqual({ version, token_required: true, signed_in: false });
    const response = await signIn(url, { token: "token-two-0123456789" });
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const session = { version, token_required: true, signed_in: true, client: "laptop" };
    expect(await response.json()).toEqual(session);
    const [, value = ""] = cookieForm.exec(response.headers.get("set-cookie") ?? "") ?? [];
    expect(value).toBe(sessionValue("token-two-0123456789"));
    const cookie = `${nameAt(url)}=${value}`;
    expect(await sessionOf(url, { cookie })).toEqual(session);
    expect(await statusWith(url, { cookie })).toBe(200);
  });

  test("that is wrong is a 401 with no cookie", async () => {
    const { url } = await start();
    for (const wrong of ["", "token-one", `${token} `]) {
      const response = await signIn(url, { token: wrong });
      expect(response.status).toBe(401);
      expect(response.headers.get("set-cookie")).toBeNull();
      expect(await errorOf(response)).toMatchObject({ code: "missing_token" });
    }
  });

  test("travels by TLS only where the proxy in front has TLS", async () => {
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
    ["{", 400, "invalid_json", /no JSON/],
    ["[]", 400, "invalid_request", /object/],
    ["{}", 400, "invalid_request", /token: is missing/],
    [{ token: 7 }, 400, "invalid_request", /token: must be a string, got 7/],
    [{ token, remember: true }, 400, "invalid_request", /remember: unknown field/],
    [{ token: "x".repeat(20_000) }, 413, "request_too_large", /no token is that long/],
  ])("is asked for as a field of a small JSON object: %j", async (body, status, code, message) => {
    const { url } = await start();
    const response = await signIn(url, body);
    expect(response.status).toBe(status);
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(await errorOf(response)).toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  });

  test("is not needed where none is configured, and no cookie is set", async () => {
    const { url } = await start(demo);
    const session = { version, token_required: false, signed_in: true };
    expect(await sessionOf(url)).toEqual(session);
    const response = await signIn(url, { token: "whatever" });
    expect([response.status, await response.json()]).toEqual([200, session]);
    expect(response.headers.get("set-cookie")).toBeNull();
    for (const headers of [{}, { cookie: `${nameAt(url)}=nonsense` }])
      expect(await statusWith(url, headers)).toBe(200);
  });
});

test("what is asked and answered is as the OpenAPI document says", async () => {
  const { url } = await start();
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: { "/api/session": Record<string, { responses: Record<string, Described> }> };
    components: { schemas: Record<string, Record<string, unknown>> };
  };
  const cookie = await cookieOf(url);
  for (const [method, body, status] of [
    ["get", undefined, 200],
    ["post", { token }, 200],
    ["post", { token: "wrong" }, 401],
    ["post", {}, 400],
    ["delete", undefined, 200],
  ] as const) {
    const reply = await ask(`${url}/api/session`, {
      method: method.toUpperCase(),
      headers: { cookie },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect([method, reply.status]).toEqual([method, status]);
    const described = document.paths["/api/session"][method]?.responses[status];
    const schema = described?.content["application/json"].schema ?? { type: "null" };
    expect(schemaFaults(document.components.schemas, schema, JSON.parse(reply.text))).toEqual([]);
  }
});

describe("the cookie", () => {
  test("opens what a token opens, for our own page", async () => {
    const { url } = await start();
    const cookie = await cookieOf(url);
    const origin = url;
    for (const headers of [
      { cookie },
      { cookie, origin },
      { cookie, origin, "sec-fetch-site": "same-origin" },
      { cookie, "sec-fetch-site": "none" },
      { cookie: `theme=dark; ${cookie}; other=1` },
      { cookie: `${nameAt(url)}=old; ${cookie}` },
    ])
      expect([headers, await statusWith(url, headers)]).toEqual([headers, 200]);
  });

  test("opens nothing for pages of others, on this machine or elsewhere", async () => {
    const { url } = await start(
      secure.replace("demo", 'cors_origins = ["https://a.example"]\ndemo'),
    );
    const cookie = await cookieOf(url);
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
      expect([headers, await statusWith(url, { cookie, ...headers })]).toEqual([headers, status]);
    // A page that may ask still does so with its own token.
    const headers = { origin: "https://a.example", authorization: `Bearer ${token}` };
    expect(await statusWith(url, headers)).toBe(200);
  });

  test("is set and cleared by our own page alone", async () => {
    const { url } = await start();
    for (const method of ["POST", "DELETE"])
      for (const origin of ["http://127.0.0.1:1", "https://evil.example"]) {
        const headers = { origin };
        const body = JSON.stringify({ token });
        const reply = await ask(`${url}/api/session`, { method, headers, body });
        expect(reply.status).toBe(403);
        expect(reply.headers["set-cookie"]).toBeUndefined();
      }
  });

  test("opens nothing if it is another, or the token itself", async () => {
    const { url } = await start();
    const value = sessionValue(token);
    const name = nameAt(url);
    for (const cookie of [
      `${name}=`,
      `${name}=${token}`,
      `${name}=${value.slice(0, -1)}`,
      `${name}=${value}A`,
      `${name}=${sessionValue("another-token-0123")}`,
      `D${name.slice(1)}=${value}`,
      `x${name}=${value}`,
      `${name}="${value}"`,
      // Of a gateway on another port.
      `${name}0=${value}`,
      `deltawire_session=${value}`,
      value,
    ])
      expect([cookie, await statusWith(url, { cookie })]).toEqual([cookie, 401]);
    expect(await statusWith(url, { authorization: `Bearer ${value}` })).toBe(401);
  });

  test("does not mend a wrong token that is sent beside it", async () => {
    const { url } = await start();
    const cookie = await cookieOf(url);
    expect(await statusWith(url, { cookie, authorization: "Bearer wrong-token" })).toBe(401);
  });

  test("survives a restart, and ends with its token", async () => {
    const first = await start();
    const cookie = await cookieOf(first.url);
    const onPort = (toml: string) => start(toml.replace("port = 0", `port = ${port}`));
    const { port } = new URL(first.url);
    await first.close();
    const again = await onPort(secure);
    expect(await statusWith(again.url, { cookie })).toBe(200);
    await again.close();
    const changed = await onPort(`${demo}tokens = ["token-new-0123456789"]\n`);
    expect(await statusWith(changed.url, { cookie })).toBe(401);
    expect(await sessionOf(changed.url, { cookie })).toMatchObject({ signed_in: false });
  });

  test("is cleared by signing out", async () => {
    const { url } = await start();
    const cookie = await cookieOf(url);
    const response = await fetch(`${url}/api/session`, { method: "DELETE", headers: { cookie } });
    expect(await response.json()).toEqual({ version, token_required: true, signed_in: false });
    expect(response.headers.get("set-cookie")).toBe(
      `${nameAt(url)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`,
    );
  });

  test("is in no line of the log and in no error, even where a client puts it into an address", async () => {
    const gateway = await start();
    const { url, lines } = gateway;
    const cookie = await cookieOf(url);
    gateway.sent.add(cookie).add(sessionValue(token));
    await statusWith(url, { cookie });
    const odd = await fetch(`${url}/v1/models/${sessionValue(token)}`, { headers: { cookie } });
    expect(odd.status).toBe(404);
    await signIn(url, { token: "token-wrong-0123456789" });
    const log = lines.join("");
    expect(log).toContain("/v1/models/[redacted]");
    expect(log).toContain("a wrong token was tried");
    expect(log).not.toContain("token-wrong");
  });
});

describe("wrong tokens", () => {
  const wrong = { token: "token-wrong-0123456789" };

  test("one after another are slowed down, and then told when to come back", async () => {
    const { url } = await start();
    for (let tries = 0; tries < 5; tries += 1) expect((await signIn(url, wrong)).status).toBe(401);
    const began = performance.now();
    expect((await signIn(url, wrong)).status).toBe(401);
    expect(performance.now() - began).toBeGreaterThan(800);
    const many = await Promise.all(Array.from({ length: 10 }, () => signIn(url, wrong)));
    const refused = many.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(9);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    // A right one has to wait as well, or waiting would tell which is right. Whoever has a token may still use it.
    expect((await signIn(url, { token })).status).toBe(429);
    expect(await statusWith(url, { authorization: `Bearer ${token}` })).toBe(200);
  });

  test("in a header are refused at once, each with a line in the log, and right ones do not notice", async () => {
    const { url, lines } = await start();
    const began = performance.now();
    const bearer = (given: string) => ({ authorization: `Bearer ${given}` });
    for (let tries = 0; tries < 20; tries += 1)
      expect(await statusWith(url, bearer("token-wrong-0123456789"))).toBe(401);
    expect(await statusWith(url, bearer(token))).toBe(200);
    expect((await signIn(url, { token })).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(5000);
    expect(lines.filter((line) => line.includes("missing_token"))).toHaveLength(20);
  });

  test("are forgiven by a right one", async () => {
    const { url } = await start();
    for (let round = 0; round < 3; round += 1) {
      for (let tries = 0; tries < 4; tries += 1)
        expect((await signIn(url, wrong)).status).toBe(401);
      expect((await signIn(url, { token })).status).toBe(200);
    }
  });

  test("whoever leaves while waiting is no failure of the gateway", async () => {
    const { url, lines } = await start();
    for (let tries = 0; tries < 5; tries += 1) await signIn(url, wrong);
    const signal = AbortSignal.timeout(100);
    const left = fetch(`${url}/api/session`, {
      method: "POST",
      body: JSON.stringify(wrong),
      signal,
    });
    await expect(left).rejects.toThrow(/abort|timeout/i);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(lines.join("")).not.toContain("the gateway failed");
  });

  test("however they are spread, no address has more than a few looked at", () => {
    const pauses = fc.array(fc.nat(5000), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(pauses, (waits) => {
        const tries = new WrongTries();
        const looked: number[] = [];
        let now = 1;
        for (const wait of waits) {
          now += wait;
          const turn = tries.turnOf("a", now);
          if (turn.is === "now") looked.push(now + turn.waitMs);
        }
        expect(looked).toEqual(looked.toSorted((a, b) => a - b));
        // Five are free, then 1, 2, 4, 8, 16 and 30 s lie between two.
        const gaps = looked.slice(1).map((at, index) => at - (looked[index] ?? 0));
        for (const [index, gap] of gaps.entries())
          expect(gap).toBeGreaterThanOrEqual(
            index < 4 ? 0 : Math.min(30_000, 1000 * 2 ** (index - 4)),
          );
      }),
    );
  });

  test("are remembered of a thousand addresses and for a quarter of an hour", () => {
    const tries = new WrongTries();
    const exhaust = (address: string, now: number): void => {
      for (let count = 0; count < 8; count += 1) tries.turnOf(address, now);
    };
    const isSlowed = (address: string, now: number): boolean =>
      tries.turnOf(address, now).is === "later";
    exhaust("first", 1);
    expect(isSlowed("first", 2)).toBe(true);
    expect(isSlowed("other", 2)).toBe(false);
    for (let count = 0; count < 999; count += 1) tries.turnOf(`address ${count}`, 3);
    expect(isSlowed("first", 4)).toBe(false);
    exhaust("second", 5);
    expect(isSlowed("second", 6)).toBe(true);
    expect(tries.turnOf("second", 16 * 60 * 1000)).toEqual({ is: "now", waitMs: 0 });
    expect(tries.turnOf("second", 16 * 60 * 1000)).toEqual({ is: "now", waitMs: 0 });
  });
});
