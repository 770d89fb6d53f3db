import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createSession } from "../../src/state/session.ts";
import { createAppStore } from "../../src/state/create-app-store.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { createNodeEnvironment, waitForCell } from "../node-environment.ts";

const token = "a-token-of-sixteen-characters-at-least";
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess(`[clients.me]\ntoken = "${token}"\n`);
});
afterAll(() => gateway.close());

/** Opens a tab that has cookies, and records its requests. */
function openTab() {
  const environment = createNodeEnvironment(gateway.url);
  const requests: { path: string; status: number }[] = [];
  let cookie = "";
  const page = createAppStore({
    ...environment,
    async fetch(url, init) {
      const headers = new Headers(init?.headers);
      if (cookie !== "") headers.set("cookie", cookie);
      const reply = await environment.fetch(url, { ...init, headers });
      const [newCookie] = reply.headers.getSetCookie();
      if (newCookie !== undefined) cookie = newCookie.split(";")[0] ?? "";
      requests.push({ path: new URL(url).pathname, status: reply.status });
      return reply;
    },
  });
  onTestFinished(() => page.close());
  return { page, requests, dropCookie: () => (cookie = "") };
}

test("a page that requires a token requests nothing until it has one, and then loads everything", async () => {
  const { page, requests } = openTab();
  await waitForCell(page.session.state, ({ status }) => status === "needs_token");
  expect(await page.session.signIn("wrong")).toEqual({ type: "wrong_token" });
  expect(page.session.state.get()).toEqual({ status: "needs_token" });
  expect(requests.filter(({ path }) => path !== "/api/session")).toEqual([]);
  expect(await page.session.signIn(token)).toBeUndefined();
  expect(page.session.state.get()).toMatchObject({ status: "open", hasToken: true });
  await waitForCell(page.connection, ({ status }) => status === "live");
  await waitForCell(page.chatList.state, ({ status }) => status === "ready");
  await waitForCell(page.choices, (choices) => choices !== undefined);
  await page.session.signOut();
  expect(page.session.state.get()).toEqual({ status: "needs_token" });
});

test("the next request notices that the session has ended", async () => {
  const { page, dropCookie } = openTab();
  await waitForCell(page.session.state, ({ status }) => status === "needs_token");
  await page.session.signIn(token);
  await waitForCell(page.connection, ({ status }) => status === "live");
  dropCookie();
  expect(await page.createAndOpenChat()).toBeUndefined();
  await waitForCell(page.session.state, ({ status }) => status === "needs_token");
  expect(page.toasts.all.get()).toMatchObject([{ kind: "error" }]);
});

test("a request outside of the client also notices that the session has ended", async () => {
  const { page, dropCookie } = openTab();
  await waitForCell(page.session.state, ({ status }) => status === "needs_token");
  await page.session.signIn(token);
  expect((await page.request("/deltawire/upstreams")).status).toBe(200);
  dropCookie();
  expect((await page.request("/deltawire/upstreams")).status).toBe(401);
  await waitForCell(page.session.state, ({ status }) => status === "needs_token");
});

test("a failed sign-in has its own type of error, or else the gateway's message", async () => {
  const error = { message: "the body is larger than 16384 bytes; send only the token" };
  const replies: Record<string, () => Response> = {
    wrong: () => Response.json({ error: { message: "wrong" } }, { status: 401 }),
    often: () => Response.json({}, { status: 429, headers: { "retry-after": "12" } }),
    long: () => Response.json({ error }, { status: 413 }),
    page: () => new Response("<h1>Bad gateway</h1>", { status: 502 }),
  };
  const session = createSession({
    baseUrl: "",
    async fetch(_url, init) {
      const requests = JSON.parse(init?.body as string) as { token: string };
      const reply = replies[requests.token]?.();
      if (reply === undefined) throw new TypeError("Failed to fetch");
      return reply;
    },
  });
  const problems = await Promise.all(
    [...Object.keys(replies), "offline"].map((newCookie) => session.signIn(newCookie)),
  );
  expect(problems).toEqual([
    { type: "wrong_token" },
    { type: "too_many_attempts", seconds: 12 },
    { type: "other", message: error.message },
    { type: "other", message: "the gateway responded with status 502" },
    { type: "unreachable" },
  ]);
});
