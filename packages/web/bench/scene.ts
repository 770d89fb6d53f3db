import { execFile } from "node:child_process";
import { on } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { createChatClient, currentPath, type ChatClient } from "@deltawire/tasks/chats";
import { chromium, type Browser, type CDPSession, type Page } from "playwright-core";
import { chromiumOptions } from "../browser-test/chromium.ts";
import { nodeCommand, type Started, type Workshop, nextMessage } from "../../../bench/processes.ts";
import { modelOf, type FromModel, type Speech } from "./model.ts";
import { isWritten } from "./probe.ts";
import { longChat } from "./texts.ts";

/** A real gateway with the page that is built now, a model, and a real browser, each in processes of its own. */
export interface Scene {
  url: string;
  /** Where the floor's page is. */
  floor: string;
  client: ChatClient;
  browser: Browser;
  /** Resolves when the model has sent the last word of its next reply. */
  replyEnded: () => Promise<void>;
  close: () => Promise<void>;
}

export async function startScene(workshop: Workshop): Promise<Scene> {
  const [options] = await Promise.all([chromiumOptions(), buildPage()]);
  const model = workshop.start("model", nodeCommand(import.meta.resolve("./model.ts")), {
    ipc: true,
  });
  const { port } = (await nextMessage(model)) as { port: number };
  const gateway = workshop.start("gateway", nodeCommand(import.meta.resolve("./gateway.ts")), {
    ipc: true,
  });
  gateway.child.send({ toml: config(workshop.folder, port) });
  const { url } = (await nextMessage(gateway)) as { url: string };
  const browser = await chromium.launch(options);
  return {
    url,
    floor: `http://127.0.0.1:${port}/floor`,
    client: createChatClient({ fetch, base: url }),
    browser,
    replyEnded: () => replyEnded(model),
    close: () => browser.close(),
  };
}

async function buildPage(): Promise<void> {
  const script = join(import.meta.dirname, "../../../scripts/build-page.ts");
  await promisify(execFile)(process.execPath, ["--conditions=@deltawire/source", script]);
}

async function replyEnded({ child }: Started): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  let next: number | undefined;
  for await (const [message] of on(child, "message", { signal })) {
    const said = message as FromModel;
    if (!("reply" in said)) continue;
    if (said.has === "begun") next ??= said.reply;
    else if (said.reply === next) return;
  }
}

function config(folder: string, modelPort: number): string {
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

/** A tab of the page, with the tools to look into it. */
export class Tab {
  readonly page: Page;
  readonly cdp: CDPSession;

  private constructor(page: Page, cdp: CDPSession) {
    this.page = page;
    this.cdp = cdp;
  }

  /** `slowness`: how many times slower the processor is than it is. */
  static async open({ browser }: Scene, url: string, slowness: number): Promise<Tab> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: "en-US",
    });
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    await cdp.send("Emulation.setCPUThrottlingRate", { rate: slowness });
    await page.goto(url);
    return new Tab(page, cdp);
  }

  /** There is a place to write, and nothing is on its way. */
  async ready(): Promise<void> {
    await this.#box.waitFor();
    await this.page.waitForTimeout(500);
  }

  /** To another place of the page. */
  async go(hash: string): Promise<void> {
    await this.page.goto(new URL(hash, this.page.url()).href);
    // Until the place that was shown before is no longer.
    await this.page.waitForTimeout(100);
    await this.#box.waitFor();
  }

  /** Says something in the chat that is shown; the model answers. */
  async say(text: string): Promise<void> {
    await this.#box.fill(text);
    await this.#box.press("Enter");
  }

  /** The answer is whole, or a person is asked. */
  async written(): Promise<void> {
    await this.page.waitForFunction(isWritten, undefined, { polling: 100, timeout: 60_000 });
  }

  get #box() {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}

/** A chat that the bench's model answers. */
export async function newChat({ client }: Scene, speech: Speech): Promise<string> {
  const { chat } = await client.create({
    settings: { model: `up/${modelOf(speech)}`, tool_groups: ["files"] },
  });
  return chat.chat_id;
}

/** One of so many items that the bench's model goes on with. */
export async function importedChat(
  { client }: Scene,
  items: number,
  speech: Speech,
): Promise<{ chatId: string; lastId: string }> {
  const { data } = await client.importFrom({ messages: longChat(items) });
  const chatId = data[0]?.chat_id ?? "";
  const { chat } = await client.open(chatId);
  const patch = { model: `up/${modelOf(speech)}` };
  await client.edits(chatId, { revision: chat.revision, edits: [{ type: "settings", patch }] });
  return { chatId, lastId: currentPath(chat).at(-1)?.node_id ?? "" };
}
