import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createSession } from "../../src/state/session.ts";
import { createPage } from "../../src/state/create-page.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, until } from "../node-world.ts";

const token = "a-token-of-sixteen-characters-at-least";
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess(`[clients.me]\ntoken = "${token}"\n`);
});
afterAll(() => gateway.close());

/** A tab of a browser with cookies, and what it asked for. */
function openTab() {
  const world = nodeWorld(gateway.url);
  const asked: { path: string; status: number }[] = [];
  let cookie = "";
  const page = createPage({
    ...world,
    async fetch(url, init) {
      const headers = new Headers(init?.headers);
      if (cookie !== "") headers.set("cookie", cookie);
      const reply = await world.fetch(url, { ...init, headers });
      const [given] = reply.headers.getSetCookie();
      if (given !== undefined) cookie = given.split(";")[0] ?? "";
      asked.push({ path: new URL(url).pathname, status: reply.status });
      return reply;
    },
  });
  onTestFinished(() => page.close());
  return { page, asked, dropCookie: () => (cookie = "") };
}

test("a page that needs a token asks for nothing until it has one, and then has everything", async () => {
  const { page, asked } = openTab();
  await until(page.session.state, ({ is }) => is === "needs token");
  expect(await page.session.signIn("wrong")).toEqual({ is: "wrong token" });
  expect(page.session.state.get()).toEqual({ is: "needs token" });
  expect(asked.filter(({ path }) => path !== "/api/session")).toEqual([]);
  expect(await page.session.signIn(token)).toBeUndefined();
  expect(page.session.state.get()).toMatchObject({ is: "open", withToken: true });
  await until(page.connection, ({ is }) => is === "live");
  await until(page.list.state, ({ is }) => is === "ready");
  await until(page.choices, (choices) => choices !== undefined);
  await page.session.signOut();
  expect(page.session.state.get()).toEqual({ is: "needs token" });
});

test("a session that has ended is noticed by what is asked next", async () => {
  const { page, dropCookie } = openTab();
  await until(page.session.state, ({ is }) => is === "needs token");
  await page.session.signIn(token);
  await until(page.connection, ({ is }) => is === "live");
  dropCookie();
  expect(await page.newChat()).toBeUndefined();
  await until(page.session.state, ({ is }) => is === "needs token");
  expect(page.toasts.all.get()).toMatchObject([{ kind: "error" }]);
});

test("what is asked beside the client notices it as well", async () => {
  const { page, dropCookie } = openTab();
  await until(page.session.state, ({ is }) => is === "needs token");
  await page.session.signIn(token);
  expect((await page.ask("/deltawire/upstreams")).status).toBe(200);
  dropCookie();
  expect((await page.ask("/deltawire/upstreams")).status).toBe(401);
  await until(page.session.state, ({ is }) => is === "needs token");
});

test("why nobody is let in is told by its kind, and in the gateway's words only where there is none", async () => {
  const error = { message: "no token is that long" };
  const replies: Record<string, () => Response> = {
    wrong: () => Response.json({ error: { message: "wrong" } }, { status: 401 }),
    often: () => Response.json({}, { status: 429, headers: { "retry-after": "12" } }),
    long: () => Response.json({ error }, { status: 413 }),
    page: () => new Response("<h1>Bad gateway</h1>", { status: 502 }),
  };
  const session = createSession({
    base: "",
    async fetch(_url, init) {
      const asked = JSON.parse(init?.body as string) as { token: string };
      const reply = replies[asked.token]?.();
      if (reply === undefined) throw new TypeError("Failed to fetch");
      return reply;
    },
  });
  const problems = await Promise.all(
    [...Object.keys(replies), "offline"].map((given) => session.signIn(given)),
  );
  expect(problems).toEqual([
    { is: "wrong token" },
    { is: "too many tries", seconds: 12 },
    { is: "other", message: error.message },
    { is: "other", message: "the gateway answered with status 502" },
    { is: "unreachable" },
  ]);
});
