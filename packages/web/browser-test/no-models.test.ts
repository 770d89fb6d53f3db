import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { testGateway, upstreamToml } from "./gateway.ts";
import { getComposerInput } from "./chat-actions.ts";
import { setupBrowserFixture, takeScreenshot, type BrowserUserOptions } from "./browser-fixture.ts";

const fixture = setupBrowserFixture();

/** Starts a gateway with this configuration and opens its page. */
async function openGatewayWith(toml: string, options?: BrowserUserOptions) {
  const gateway = await testGateway(toml);
  onTestFinished(() => gateway.close());
  const user = await fixture.newUser(options, gateway.url);
  const countChats = async () => {
    const reply = await fetch(`${gateway.url}/api/chats`);
    return ((await reply.json()) as { data: object[] }).data.length;
  };
  return { gateway, user, countChats };
}

async function submitText(tab: Page, box: string, words: string): Promise<void> {
  const field = tab.getByRole("textbox", { name: box, exact: true });
  await field.fill(words);
  await field.press("Enter");
}

/** Starts a local server with this request listener. It is closed after the test, or before with `close`. */
async function startServer(script: RequestListener, port = 0) {
  const server = createServer(script);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => void server.close(resolve));
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, close };
}

const baseUrl = ({ port }: { port: number }) => `http://127.0.0.1:${port}/v1`;

/** An upstream that lists no model, for example because it is down. */
const unreachableUpstream = upstreamToml("away", "http://127.0.0.1:9/v1");

describe("in a gateway without a model", () => {
  test("a chat says that there is none and what to do, and sends nothing", async () => {
    const { gateway, user, countChats } = await openGatewayWith(unreachableUpstream, {
      locale: "zh-CN",
    });
    const created = await fetch(`${gateway.url}/api/chats`, { method: "POST", body: "{}" });
    const { chat } = (await created.json()) as { chat: { chat_id: string } };
    const tab = await user.tab(`#/chats/${chat.chat_id}`);
    await submitText(tab, "消息", "你好");
    await tab.getByText("还没有可用的模型").waitFor();
    await takeScreenshot(tab, "no-models-chinese");
    expect(await tab.getByRole("textbox", { name: "消息", exact: true }).inputValue()).toBe("你好");
    await tab.getByRole("form").getByRole("button", { name: "打开上游页面" }).click();
    await expect.poll(() => new URL(tab.url()).hash).toBe("#/upstreams");
    expect(await countChats()).toBe(1);
  });

  test("a rejected message creates no chat and stays in the composer", async () => {
    const { user, countChats } = await openGatewayWith(unreachableUpstream);
    // The page behaves as before the choices are loaded.
    await user.context.route("**/api/chats/choices", (route) => route.abort());
    const tab = await user.tab();
    for (let attempts = 0; attempts < 3; attempts += 1) {
      await submitText(tab, "Message", "Hello");
      await tab.getByText("No model is available to answer.").first().waitFor();
      await expect.poll(countChats).toBe(0);
      expect(await getComposerInput(tab).inputValue()).toBe("Hello");
      expect(new URL(tab.url()).hash).not.toContain("chats");
    }
    await takeScreenshot(tab, "no-models-rejected");
  });
});

test("the configured model can be used even if its upstream lists none", async () => {
  const { user, countChats } = await openGatewayWith(
    `[chats]\nmodel = "away/gone"\n${unreachableUpstream}`,
  );
  const tab = await user.tab();
  await submitText(tab, "Message", "Hello");
  await tab.getByRole("article", { name: "You" }).waitFor();
  expect(await countChats()).toBe(1);
});

describe("if upstreams are configured but none lists a model,", () => {
  test("the start page shows what is wrong with each upstream, and keeps the draft", async () => {
    const key = "sk-wrong-0123456789abcdef";
    const rejecting = await startServer((_request, response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `Incorrect key ${key}` } }));
    });
    const website = await startServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<!doctype html><title>Welcome</title>");
    });
    const { user } = await openGatewayWith(
      unreachableUpstream +
        upstreamToml("keyed", baseUrl(rejecting), { api_key: key }) +
        upstreamToml("site", baseUrl(website)),
    );
    const tab = await user.tab();
    const problems = tab.getByRole("status", { name: "No models available yet" });
    await problems.getByText(/away: .*connection refused/).waitFor();
    await problems.getByText(/keyed: .*rejected the key \(401\)/).waitFor();
    await problems.getByText(/site: .*expected a model list, got HTML/).waitFor();
    expect(await problems.textContent()).not.toContain(key);
    expect(await tab.getByText("No model is configured yet").count()).toBe(0);
    await getComposerInput(tab).fill("Hello");
    const requests = tab.waitForResponse("**/api/chats/choices");
    await problems.getByRole("button", { name: "Try again" }).click();
    await requests;
    expect(await getComposerInput(tab).inputValue()).toBe("Hello");
    await takeScreenshot(tab, "upstream-problems");
  });

  test("a server that starts is available without a reload, and the draft stays", async () => {
    const before = await startServer(() => undefined);
    await before.close();
    const { user } = await openGatewayWith(upstreamToml("local", baseUrl(before)));
    const tab = await user.tab();
    await tab.getByText(/local: .*connection refused/).waitFor();
    await getComposerInput(tab).fill("Hello");
    await startServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data: [{ id: "only", object: "model" }] }));
    }, before.port);
    await tab.getByRole("button", { name: "Answer with: local/only" }).waitFor();
    expect(await tab.getByText(/connection refused/).count()).toBe(0);
    expect(await getComposerInput(tab).inputValue()).toBe("Hello");
  });
});

test("without any upstream the start page says that no model is configured", async () => {
  const { user } = await openGatewayWith("[server]\nport = 0\ndemo = false\n");
  const tab = await user.tab();
  await tab.getByText("No model is configured yet").waitFor();
});

describe("a model of a server that lists none", () => {
  test.each([
    {
      locale: "en-US",
      who: "Answer with: No model",
      use: "Use nolist/foo",
      name: "Answer with: nolist/foo",
    },
    { locale: "zh-CN", who: /无模型/, use: "使用 nolist/foo", name: /nolist\/foo/ },
  ])("can be chosen by name: $locale", async ({ locale, who, use, name }) => {
    const requests: string[] = [];
    const server = await startServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      response.writeHead(404, { "content-type": "application/json" });
      response.end("{}");
    });
    const toml = `[chats]\ntitles = false\n${upstreamToml("nolist", baseUrl(server))}`;
    const { user } = await openGatewayWith(toml, { locale });
    const tab = await user.tab();
    await tab.getByRole("button", { name: who }).click();
    await tab.getByRole("combobox").fill("nolist/foo");
    await tab.getByRole("option", { name: use }).waitFor();
    await takeScreenshot(tab, `written-model-${locale}`);
    await tab.getByRole("combobox").press("Enter");
    await tab.getByRole("button", { name }).waitFor();
    const box = tab.locator("form textarea");
    await box.fill("Hello");
    await box.press("Enter");
    await expect.poll(() => requests).toContain("POST /v1/chat/completions");
  });
});
