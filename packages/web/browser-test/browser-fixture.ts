import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import {
  chromium,
  type Browser,
  type BrowserContext,
  type Locator,
  type Page,
} from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject, type RunnerTestCase } from "vitest";
import { createDemoAgents, startDemoServer, type DemoServer } from "@deltawire/demo";
import { testGateway, upstreamToml, type StartOptions, type TestGateway } from "./gateway.ts";
import type { PausableModel } from "./pausable-model.ts";
import { failurePrefix, screenshotFolder } from "./screenshots.ts";

/** A gateway with the page and a browser, shared by all tests of a file. Each test starts without chats. */
export interface BrowserFixture {
  readonly gateway: TestGateway;
  /** Opens a browser context, which is closed after the test. The test fails if the browser has reported errors of the page. */
  newUser(options?: BrowserUserOptions, url?: string): Promise<BrowserUser>;
  /** Requests to the demo model, the newest last. */
  readonly requests: DemoServer["requests"];
  /** Creates a chat and returns its URL hash. The demo agent answers by default. */
  createChat(settings?: object, title?: string): Promise<string>;
  /** Imports a chat and returns its URL hash. */
  importChat(file: object): Promise<string>;
}

export interface BrowserFixtureOptions extends StartOptions {
  /** Delay of the demo model between two words. Default: none. */
  paceMs?: number;
  /** Pauses the replies of the demo model. */
  pausableModel?: PausableModel;
  /** Appended to deltawire.toml, which has the demo model as `lab/clean`, the default of chats. */
  toml?: string;
  /** Additional lines of `[chats]`. */
  chatsToml?: string;
}

export function setupBrowserFixture({
  paceMs = 0,
  pausableModel,
  toml = "",
  chatsToml = "",
  agents = [],
  ...more
}: BrowserFixtureOptions = {}): BrowserFixture {
  let fixture: { gateway: TestGateway; demo: DemoServer; close(): Promise<void> } | undefined;
  const users = new BrowserUsers();
  const getFixture = () => {
    if (fixture === undefined) throw new Error("the fixture is set up before the first test");
    return fixture;
  };
  beforeAll(async () => {
    const demo = await startDemoServer({ paceMs });
    const proxy = await pausableModel?.startProxy(demo.url);
    const defaultToml = `[chats]\nmodel = "lab/clean"\n${chatsToml}\n${upstreamToml("lab", proxy?.url ?? demo.url)}`;
    const gateway = await testGateway(`${toml}\n${defaultToml}`, {
      agents: [...createDemoAgents("lab/clean"), ...agents],
      ...more,
    });
    await users.connect();
    const close = async () => {
      await users.disconnect();
      await gateway.close();
      await proxy?.close();
      await demo.close();
    };
    fixture = { gateway, demo, close };
  });
  afterEach(async ({ task }) => {
    const errors = await users.closeAll(task);
    await deleteChats(getFixture().gateway);
    pausableModel?.resume();
    expect(errors).toEqual([]);
  });
  afterAll(() => fixture?.close());
  return {
    get gateway() {
      return getFixture().gateway;
    },
    get requests() {
      return getFixture().demo.requests;
    },
    newUser: (options, url) => users.add(url ?? getFixture().gateway.url, options),
    createChat: (settings, title) => createChat(getFixture().gateway, settings, title),
    importChat: (file) => importChat(getFixture().gateway, file),
  };
}

/** A browser for tests that start gateways themselves. The tests fail if the browser has reported errors of the page. */
export function setupBrowserUsers(): Pick<BrowserUsers, "add"> {
  const users = new BrowserUsers();
  beforeAll(() => users.connect());
  afterEach(async ({ task }) => {
    expect(await users.closeAll(task)).toEqual([]);
  });
  afterAll(() => users.disconnect());
  return users;
}

async function createChat(
  gateway: TestGateway,
  settings: object = { agent: "demo-agent" },
  title?: string,
): Promise<string> {
  const body = JSON.stringify({ settings, title });
  const reply = await requestGateway(gateway, "/api/chats", { method: "POST", body });
  const { chat } = (await reply.json()) as { chat: { chat_id: string } };
  return `#/chats/${chat.chat_id}`;
}

async function importChat(gateway: TestGateway, file: object): Promise<string> {
  const body = JSON.stringify(file);
  const reply = await requestGateway(gateway, "/api/chats/import", { method: "POST", body });
  const { data } = (await reply.json()) as { data: { chat_id: string }[] };
  return `#/chats/${data[0]?.chat_id}`;
}

/** Deletes all chats, including those with running answers and pending approvals. */
async function deleteChats(gateway: TestGateway): Promise<void> {
  const reply = await requestGateway(gateway, "/api/chats?limit=100");
  const { data } = (await reply.json()) as { data: { chat_id: string }[] };
  for (const { chat_id } of data)
    await requestGateway(gateway, `/api/chats/${chat_id}?forever=true`, { method: "DELETE" });
}

function requestGateway({ url, config }: TestGateway, path: string, init: RequestInit = {}) {
  const [client] = config.server.clients;
  return fetch(`${url}${path}`, {
    ...init,
    headers: {
      "content-type": "application/json",
      ...(client === undefined ? {} : { authorization: `Bearer ${client.token}` }),
    },
  });
}

/** Opens another view in the same tab. Resolves when it is shown. */
export async function navigateTo(tab: Page, hash: string): Promise<void> {
  await tab.evaluate(
    (to) =>
      new Promise<void>((resolve) => {
        // The page's own listener has been called before this one.
        addEventListener("hashchange", () => resolve(), { once: true });
        location.hash = to;
      }),
    hash,
  );
}

export async function sendMessage(tab: Page, text: string): Promise<void> {
  const box = tab.getByRole("textbox", { name: "Message", exact: true });
  await box.fill(text);
  await box.press("Enter");
}

/** Sends a message and waits until its answer has started. */
export async function sendAndWaitForAnswer(tab: Page, text: string): Promise<Locator> {
  const lastId = () => getNamedAnswers(tab).evaluateAll((all) => all.at(-1)?.id);
  // Existing messages are rendered together with the composer.
  await tab.getByRole("textbox", { name: "Message", exact: true }).waitFor();
  const before = await lastId();
  await sendMessage(tab, text);
  await expect.poll(lastId).toSatisfy((id) => id !== undefined && id !== before);
  return lastAnswer(tab);
}

export function lastAnswer(tab: Page): Locator {
  return getNamedAnswers(tab).last();
}

function getNamedAnswers(tab: Page): Locator {
  return tab.getByRole("article", { name: /^Answer from/ });
}

/** Waits until the last answer has ended and returns it. */
export async function waitForAnswerEnd(tab: Page, timeout = 30_000): Promise<Locator> {
  const answer = lastAnswer(tab);
  await answer.and(tab.locator(":not([aria-busy])")).waitFor({ timeout });
  return answer;
}

/** Returns the accessible name of the focused element. */
export function getFocusedName(tab: Page): Promise<string> {
  return tab.evaluate(() => {
    const { activeElement: focused } = document;
    const by = document.getElementById(focused?.getAttribute("aria-labelledby") ?? "");
    return focused?.getAttribute("aria-label") ?? by?.innerText ?? focused?.textContent ?? "";
  });
}

/** Presses Tab until the element with this name has the focus. */
export async function tabTo(
  tab: Page,
  name: string,
  key: "Tab" | "Shift+Tab" = "Tab",
): Promise<void> {
  for (let presses = 0; presses < 30; presses += 1) {
    if ((await getFocusedName(tab)) === name) return;
    await tab.keyboard.press(key);
  }
  throw new Error(`${key} did not reach ${JSON.stringify(name)}`);
}

/** A user with a browser context. The tabs of a user share a session, drafts and preferences. */
export class BrowserUser {
  readonly context: BrowserContext;
  readonly #url: string;
  /** Errors and policy violations that the browser reported. Must be empty. */
  readonly browserErrors: string[] = [];
  /** URLs of all requests. All must belong to the gateway. */
  readonly requestedUrls: string[] = [];

  private constructor(context: BrowserContext, url: string) {
    this.context = context;
    this.#url = url;
  }

  static async create(
    browser: Browser,
    url: string,
    options: BrowserUserOptions = {},
  ): Promise<BrowserUser> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: "en-US",
      permissions: ["clipboard-read", "clipboard-write"],
      reducedMotion: "reduce",
      ...options,
    });
    // This is long enough for a busy machine.
    context.setDefaultTimeout(30_000);
    const user = new BrowserUser(context, url);
    context.on("request", (request) => user.requestedUrls.push(request.url()));
    context.on("weberror", (error) => user.browserErrors.push(String(error.error())));
    context.on("console", (message) => {
      if (message.type() === "error" && !isExpected(message.text()))
        user.browserErrors.push(message.text());
    });
    return user;
  }

  /** Opens a tab at a URL hash such as `#/upstreams`. */
  async tab(hash = ""): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(`${this.#url}/${hash}`);
    return page;
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

/** The users of one test after another, in one browser. */
export class BrowserUsers {
  #browser: Browser | undefined;
  readonly #active: BrowserUser[] = [];

  async connect(): Promise<void> {
    this.#browser = await chromium.connect(inject("browser"));
  }

  /** Opens a browser context for the page at this URL. */
  async add(url: string, options?: BrowserUserOptions): Promise<BrowserUser> {
    if (this.#browser === undefined)
      throw new Error("the browser is connected before the first test");
    const user = await BrowserUser.create(this.#browser, url, options);
    this.#active.push(user);
    return user;
  }

  /** Must be called after each test. Saves screenshots if it has failed. Returns the errors that the browser reported. */
  async closeAll({ name, result }: Readonly<RunnerTestCase>): Promise<string[]> {
    const users = this.#active.splice(0);
    if (result?.state === "fail") await takeScreenshots(users, failurePrefix + name);
    await Promise.all(users.map((user) => user.close()));
    return users.flatMap(({ browserErrors }) => browserErrors);
  }

  async disconnect(): Promise<void> {
    await this.#browser?.close();
  }
}

async function takeScreenshots(users: readonly BrowserUser[], name: string): Promise<void> {
  const tabs = users.flatMap(({ context }) => context.pages());
  for (const [at, tab] of tabs.entries())
    await takeScreenshot(tab, `${name} ${at + 1}`.replaceAll(/\W+/g, "-")).catch(() => undefined);
}

export type BrowserUserOptions = Parameters<Browser["newContext"]>[0];

/** True for failed requests, which the page reports to the user and the browser to the console. */
function isExpected(text: string): boolean {
  return text.startsWith("Failed to load resource");
}

/** Saves a screenshot as an artifact for review. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(screenshotFolder, `${name}.png`), animations: "disabled" });
}

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns accessibility violations: rule, element and explanation. */
export async function findAxeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { run } = (globalThis as unknown as { axe: { run: AxeRun } }).axe;
    const { violations } = await run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")} ${failureSummary}`),
    );
  });
}

type AxeRun = (
  within: Document,
  options: { runOnly: string[] },
) => Promise<{ violations: { id: string; nodes: AxeNode[] }[] }>;

interface AxeNode {
  target: string[];
  failureSummary: string;
}
