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
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { demoAgents, startDemo, type Demo } from "@deltawire/demo";
import { testGateway, upstreamToml, type StartOptions, type TestGateway } from "./gateway.ts";
import type { HeldModel } from "./held-model.ts";
import { ofFailure, pictures } from "./pictures.ts";

/** A gateway with the page, and the browser, for all tests of a file; each begins without any chat. */
export interface Stage {
  readonly gateway: TestGateway;
  /** Somebody with a browser, which is closed after the test. That fails if the browser complained of the page. */
  person(options?: PersonOptions, url?: string): Promise<Person>;
  /** What the demo model was asked, the newest at the end. */
  readonly requests: Demo["requests"];
  /** A new chat, as an address of the page; the demo's agent answers unless told otherwise. */
  chat(settings?: object, title?: string): Promise<string>;
  /** A chat of a file, as an address of the page. */
  importChat(file: object): Promise<string>;
}

export interface StageOptions extends StartOptions {
  /** How long the demo model waits between two words; it does not unless told. */
  paceMs?: number;
  /** By which a test holds what the demo model says. */
  held?: HeldModel;
  /** Of deltawire.toml, beside the demo model, which is `lab/clean` and what chats have that say nothing. */
  toml?: string;
  /** Further lines of `[chats]`. */
  chats?: string;
}

export function staged({
  paceMs = 0,
  held,
  toml = "",
  chats = "",
  agents = [],
  ...more
}: StageOptions = {}): Stage {
  let stage:
    | { browser: Browser; gateway: TestGateway; demo: Demo; close(): Promise<void> }
    | undefined;
  const people: Person[] = [];
  const now = () => {
    if (stage === undefined) throw new Error("the stage is built before the first test");
    return stage;
  };
  beforeAll(async () => {
    const demo = await startDemo({ paceMs });
    const line = await held?.before(demo.url);
    const usual = `[chats]\nmodel = "lab/clean"\n${chats}\n${upstreamToml("lab", line?.url ?? demo.url)}`;
    const gateway = await testGateway(`${toml}\n${usual}`, {
      agents: [...demoAgents("lab/clean"), ...agents],
      ...more,
    });
    const browser = await connectedBrowser();
    const close = async () => {
      await browser.close();
      await gateway.close();
      await line?.close();
      await demo.close();
    };
    stage = { browser, gateway, demo, close };
  });
  afterEach(async ({ task }) => {
    const were = people.splice(0);
    if (task.result?.state === "fail") await takePictures(were, ofFailure + task.name);
    await Promise.all(were.map((person) => person.close()));
    await deleteChats(now().gateway);
    held?.letGo();
    expect(were.flatMap(({ complaints }) => complaints)).toEqual([]);
  });
  afterAll(() => stage?.close());
  return {
    get gateway() {
      return now().gateway;
    },
    get requests() {
      return now().demo.requests;
    },
    async person(options, url) {
      const { browser, gateway } = now();
      const person = await Person.of(browser, url ?? gateway.url, options);
      people.push(person);
      return person;
    },
    chat: (settings, title) => newChat(now().gateway, settings, title),
    importChat: (file) => importedChat(now().gateway, file),
  };
}

async function takePictures(people: readonly Person[], name: string): Promise<void> {
  const tabs = people.flatMap(({ context }) => context.pages());
  for (const [at, tab] of tabs.entries())
    await takePicture(tab, `${name} ${at + 1}`.replaceAll(/\W+/g, "-")).catch(() => undefined);
}

async function newChat(
  gateway: TestGateway,
  settings: object = { agent: "demo-agent" },
  title?: string,
): Promise<string> {
  const body = JSON.stringify({ settings, title });
  const reply = await asked(gateway, "/api/chats", { method: "POST", body });
  const { chat } = (await reply.json()) as { chat: { chat_id: string } };
  return `#/chats/${chat.chat_id}`;
}

async function importedChat(gateway: TestGateway, file: object): Promise<string> {
  const body = JSON.stringify(file);
  const reply = await asked(gateway, "/api/chats/import", { method: "POST", body });
  const { data } = (await reply.json()) as { data: { chat_id: string }[] };
  return `#/chats/${data[0]?.chat_id}`;
}

/** What runs in them is stopped, and what waits for somebody waits no longer. */
async function deleteChats(gateway: TestGateway): Promise<void> {
  const reply = await asked(gateway, "/api/chats?limit=100");
  const { data } = (await reply.json()) as { data: { chat_id: string }[] };
  for (const { chat_id } of data)
    await asked(gateway, `/api/chats/${chat_id}?forever=true`, { method: "DELETE" });
}

function asked({ url, config }: TestGateway, path: string, init: RequestInit = {}) {
  const [client] = config.server.clients;
  return fetch(`${url}${path}`, {
    ...init,
    headers: {
      "content-type": "application/json",
      ...(client === undefined ? {} : { authorization: `Bearer ${client.token}` }),
    },
  });
}

/** Another view in the same tab, which is shown when this ends. */
export async function goTo(tab: Page, hash: string): Promise<void> {
  await tab.evaluate(
    (to) =>
      new Promise<void>((resolve) => {
        // The page has heard of it before.
        addEventListener("hashchange", () => resolve(), { once: true });
        location.hash = to;
      }),
    hash,
  );
}

export async function say(tab: Page, words: string): Promise<void> {
  const box = tab.getByRole("textbox", { name: "Message", exact: true });
  await box.fill(words);
  await box.press("Enter");
}

/** Says it, and waits until an answer to it has begun. */
export async function ask(tab: Page, words: string): Promise<Locator> {
  const lastId = () => answers(tab).evaluateAll((all) => all.at(-1)?.id);
  // With the box comes all that was said before.
  await tab.getByRole("textbox", { name: "Message", exact: true }).waitFor();
  const before = await lastId();
  await say(tab, words);
  await expect.poll(lastId).toSatisfy((id) => id !== undefined && id !== before);
  return lastAnswer(tab);
}

export function lastAnswer(tab: Page): Locator {
  return answers(tab).last();
}

function answers(tab: Page): Locator {
  return tab.getByRole("article", { name: /^Answer of/ });
}

/** The last answer, when it has ended; one that is very long takes longer. */
export async function endedAnswer(tab: Page, timeout = 30_000): Promise<Locator> {
  const answer = lastAnswer(tab);
  await answer.and(tab.locator(":not([aria-busy])")).waitFor({ timeout });
  return answer;
}

/** What has the focus, as a screen reader calls it. */
export function focusedIn(tab: Page): Promise<string> {
  return tab.evaluate(() => {
    const { activeElement: focused } = document;
    const by = document.getElementById(focused?.getAttribute("aria-labelledby") ?? "");
    return focused?.getAttribute("aria-label") ?? by?.innerText ?? focused?.textContent ?? "";
  });
}

/** Presses Tab until it is there. */
export async function tabTo(
  tab: Page,
  name: string,
  key: "Tab" | "Shift+Tab" = "Tab",
): Promise<void> {
  for (let presses = 0; presses < 30; presses += 1) {
    if ((await focusedIn(tab)) === name) return;
    await tab.keyboard.press(key);
  }
  throw new Error(`${key} does not come to ${name}`);
}

/** A browser of one test file: tabs of one person share a context, and so a session, drafts and preferences. */
export class Person {
  readonly context: BrowserContext;
  readonly #url: string;
  /** What the browser forbade or complained of; a page that is well has none. */
  readonly complaints: string[] = [];
  /** Every address that was asked for; all have to be the gateway's. */
  readonly asked: string[] = [];

  private constructor(context: BrowserContext, url: string) {
    this.context = context;
    this.#url = url;
  }

  static async of(browser: Browser, url: string, options: PersonOptions = {}): Promise<Person> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: "en-US",
      permissions: ["clipboard-read", "clipboard-write"],
      reducedMotion: "reduce",
      ...options,
    });
    // Whatever does not come in this time on a busy machine does not come.
    context.setDefaultTimeout(30_000);
    const person = new Person(context, url);
    context.on("request", (request) => person.asked.push(request.url()));
    context.on("weberror", (error) => person.complaints.push(String(error.error())));
    context.on("console", (message) => {
      if (message.type() === "error" && !isExpected(message.text()))
        person.complaints.push(message.text());
    });
    return person;
  }

  /** A new tab, at an address of the page: `#/upstreams`. */
  async tab(hash = ""): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(`${this.#url}/${hash}`);
    return page;
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

export type PersonOptions = Parameters<Browser["newContext"]>[0];

/** A request that was refused or could not be sent is told to the person; the console says it as well. */
function isExpected(text: string): boolean {
  return text.startsWith("Failed to load resource");
}

function connectedBrowser(): Promise<Browser> {
  return chromium.connect(inject("browser"));
}

/** Kept as an artefact: somebody looks at it. */
export async function takePicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(pictures, `${name}.png`), animations: "disabled" });
}

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What is wrong for people who do not see, or cannot use a mouse: rule and place, a line each. */
export async function barriersOn(page: Page): Promise<string[]> {
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
