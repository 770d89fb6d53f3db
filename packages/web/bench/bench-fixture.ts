import { execFile } from "node:child_process";
import { on } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { createChatClient, currentPath, type ChatClient } from "@deltawire/tasks/chats";
import { chromium, type Browser, type CDPSession, type Page } from "playwright-core";
import { chromiumOptions } from "../browser-test/chromium.ts";
import {
  buildNodeCommand,
  type StartedProcess,
  type BenchEnvironment,
  waitForMessage,
} from "../../../bench/processes.ts";
import { formatModelName, type ModelEvent, type ReplyScript } from "./model.ts";
import { isAnswerComplete } from "./probe.ts";
import { generateChat } from "./generated-text.ts";

/** A real gateway with a fresh build of the page, a scripted model and a real browser, each in its own process. */
export interface BenchFixture {
  url: string;
  /** URL of the page in floor.ts. */
  floorUrl: string;
  client: ChatClient;
  browser: Browser;
  /** Resolves when the model has sent all of its next reply. */
  waitForReplyEnd: () => Promise<void>;
  close: () => Promise<void>;
}

export async function startBenchFixture(environment: BenchEnvironment): Promise<BenchFixture> {
  const [options] = await Promise.all([chromiumOptions(), buildPage()]);
  const model = environment.start("model", buildNodeCommand(import.meta.resolve("./model.ts")), {
    ipc: true,
  });
  const { port } = (await waitForMessage(model)) as { port: number };
  const gateway = environment.start(
    "gateway",
    buildNodeCommand(import.meta.resolve("./gateway.ts")),
    {
      ipc: true,
    },
  );
  gateway.child.send({ toml: createConfig(environment.folder, port) });
  const { url } = (await waitForMessage(gateway)) as { url: string };
  const browser = await chromium.launch(options);
  return {
    url,
    floorUrl: `http://127.0.0.1:${port}/floor`,
    client: createChatClient({ fetch, baseUrl: url }),
    browser,
    waitForReplyEnd: () => waitForReplyEnd(model),
    close: () => browser.close(),
  };
}

async function buildPage(): Promise<void> {
  const script = join(import.meta.dirname, "../../../scripts/build-page.ts");
  await promisify(execFile)(process.execPath, ["--conditions=@deltawire/source", script]);
}

async function waitForReplyEnd({ child }: StartedProcess): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  let next: number | undefined;
  for await (const [message] of on(child, "message", { signal })) {
    const event = message as ModelEvent;
    if (!("reply" in event)) continue;
    if (event.state === "started") next ??= event.reply;
    else if (event.reply === next) return;
  }
}

function createConfig(folder: string, modelPort: number): string {
  return `[server]
port = 0
demo = false

[store]
path = "${folder}/page.db"

[chats]
titles = false

[upstreams.up]
base_url = "http://127.0.0.1:${modelPort}/v1"
speaks = "chat"
api_key = "bench-key-0123456789"

[tools.files]
folder = "${folder}"
`;
}

/** A browser tab with the page, and its DevTools session. */
export class Tab {
  readonly page: Page;
  readonly cdp: CDPSession;

  private constructor(page: Page, cdp: CDPSession) {
    this.page = page;
    this.cdp = cdp;
  }

  /** `cpuSlowdown`: factor by which the CPU is throttled; 1 is full speed. */
  static async open({ browser }: BenchFixture, url: string, cpuSlowdown: number): Promise<Tab> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: "en-US",
    });
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    await cdp.send("Emulation.setCPUThrottlingRate", { rate: cpuSlowdown });
    await page.goto(url);
    return new Tab(page, cdp);
  }

  /** Waits until the composer is shown and the page is idle. */
  async waitUntilReady(): Promise<void> {
    await this.#composer.waitFor();
    await this.page.waitForTimeout(500);
  }

  /** Navigates inside the page. */
  async navigate(hash: string): Promise<void> {
    await this.page.goto(new URL(hash, this.page.url()).href);
    // Wait until the previous view is unmounted.
    await this.page.waitForTimeout(100);
    await this.#composer.waitFor();
  }

  /** Sends a message in the open chat. */
  async sendMessage(text: string): Promise<void> {
    await this.#composer.fill(text);
    await this.#composer.press("Enter");
  }

  /** Waits until the answer is complete or an approval is pending. */
  async waitForAnswer(): Promise<void> {
    await this.page.waitForFunction(isAnswerComplete, undefined, { polling: 100, timeout: 60_000 });
  }

  get #composer() {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}

/** Creates a chat with a scripted model. Returns its id. */
export async function createChat({ client }: BenchFixture, script: ReplyScript): Promise<string> {
  const { chat } = await client.create({
    settings: { model: `up/${formatModelName(script)}`, tool_groups: ["files"] },
  });
  return chat.chat_id;
}

/** Imports a chat with `itemCount` messages, to be continued by a scripted model. */
export async function importChat(
  { client }: BenchFixture,
  itemCount: number,
  script: ReplyScript,
): Promise<{ chatId: string; lastNodeId: string }> {
  const { data } = await client.importFile({ messages: generateChat(itemCount) });
  const chatId = data[0]?.chat_id ?? "";
  const { chat } = await client.get(chatId);
  const patch = { model: `up/${formatModelName(script)}` };
  await client.applyEdits(chatId, {
    revision: chat.revision,
    edits: [{ type: "settings", patch }],
  });
  return { chatId, lastNodeId: currentPath(chat).at(-1)?.node_id ?? "" };
}
