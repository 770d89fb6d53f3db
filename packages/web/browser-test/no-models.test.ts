import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { testGateway, upstreamToml } from "./gateway.ts";
import { messageBox } from "./in-chat.ts";
import { staged, takePicture, type PersonOptions } from "./stage.ts";

const stage = staged();

/** A gateway of its own with this configuration, and somebody who looks at it. */
async function openedWith(toml: string, options?: PersonOptions) {
  const gateway = await testGateway(toml);
  onTestFinished(() => gateway.close());
  const person = await stage.person(options, gateway.url);
  const chats = async () => {
    const reply = await fetch(`${gateway.url}/api/chats`);
    return ((await reply.json()) as { data: object[] }).data.length;
  };
  return { gateway, person, chats };
}

async function write(tab: Page, box: string, words: string): Promise<void> {
  const field = tab.getByRole("textbox", { name: box, exact: true });
  await field.fill(words);
  await field.press("Enter");
}

/** A server on loopback that can be away; `script` answers what it is asked. */
async function serverAt(script: RequestListener, port = 0) {
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

/** An upstream that lists no model, as one that is away. */
const nobody = upstreamToml("away", "http://127.0.0.1:9/v1");

describe("in a gateway without a model", () => {
  test("a chat says so in the language of the person, with what to do, and sends nothing", async () => {
    const { gateway, person, chats } = await openedWith(nobody, { locale: "zh-CN" });
    const made = await fetch(`${gateway.url}/api/chats`, { method: "POST", body: "{}" });
    const { chat } = (await made.json()) as { chat: { chat_id: string } };
    const tab = await person.tab(`#/chats/${chat.chat_id}`);
    await write(tab, "消息", "你好");
    await tab.getByText("还没有可用的模型").waitFor();
    await takePicture(tab, "no-models-chinese");
    expect(await tab.getByRole("textbox", { name: "消息", exact: true }).inputValue()).toBe("你好");
    await tab.getByRole("form").getByRole("button", { name: "打开上游页面" }).click();
    await expect.poll(() => new URL(tab.url()).hash).toBe("#/upstreams");
    expect(await chats()).toBe(1);
  });

  test("a message that is refused leaves no chat behind, and stays where it was written", async () => {
    const { person, chats } = await openedWith(nobody);
    // As before the page knows what there is to choose from.
    await person.context.route("**/api/chats/choices", (route) => route.abort());
    const tab = await person.tab();
    for (let tries = 0; tries < 3; tries += 1) {
      await write(tab, "Message", "Hello");
      await tab.getByText("There is no model that could answer.").first().waitFor();
      await expect.poll(chats).toBe(0);
      expect(await messageBox(tab).inputValue()).toBe("Hello");
      expect(new URL(tab.url()).hash).not.toContain("chats");
    }
    await takePicture(tab, "no-models-refused");
  });
});

test("the configured model can be asked though its upstream lists nothing", async () => {
  const { person, chats } = await openedWith(`[chats]\nmodel = "away/gone"\n${nobody}`);
  const tab = await person.tab();
  await write(tab, "Message", "Hello");
  await tab.getByRole("article", { name: "You" }).waitFor();
  expect(await chats()).toBe(1);
});

describe("where upstreams are configured and none lists a model", () => {
  test("the start page names each with its problem, and keeps what is written", async () => {
    const key = "sk-wrong-0123456789abcdef";
    const rejecting = await serverAt((_request, response) => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `Incorrect key ${key}` } }));
    });
    const website = await serverAt((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<!doctype html><title>Welcome</title>");
    });
    const { person } = await openedWith(
      nobody +
        upstreamToml("keyed", baseUrl(rejecting), { api_key: key }) +
        upstreamToml("site", baseUrl(website)),
    );
    const tab = await person.tab();
    const problems = tab.getByRole("status", { name: "No upstream has listed a model yet" });
    await problems.getByText(/away: .*connection was refused/).waitFor();
    await problems.getByText(/keyed: .*refused the key with 401/).waitFor();
    await problems.getByText(/site: .*answered HTML/).waitFor();
    expect(await problems.textContent()).not.toContain(key);
    expect(await tab.getByText("No model is configured yet").count()).toBe(0);
    await messageBox(tab).fill("Hello");
    const asked = tab.waitForResponse("**/api/chats/choices");
    await problems.getByRole("button", { name: "Try again" }).click();
    await asked;
    expect(await messageBox(tab).inputValue()).toBe("Hello");
    await takePicture(tab, "upstream-problems");
  });

  test("a server that comes up is there without a reload, beside what was written", async () => {
    const before = await serverAt(() => undefined);
    await before.close();
    const { person } = await openedWith(upstreamToml("local", baseUrl(before)));
    const tab = await person.tab();
    await tab.getByText(/local: .*connection was refused/).waitFor();
    await messageBox(tab).fill("Hello");
    await serverAt((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data: [{ id: "only", object: "model" }] }));
    }, before.port);
    await tab.getByRole("button", { name: "Answered by: local/only" }).waitFor();
    expect(await tab.getByText(/connection was refused/).count()).toBe(0);
    expect(await messageBox(tab).inputValue()).toBe("Hello");
  });
});

test("without any upstream the start page says what to configure", async () => {
  const { person } = await openedWith("[server]\nport = 0\ndemo = false\n");
  const tab = await person.tab();
  await tab.getByText("No model is configured yet").waitFor();
});

describe("a model of a server that lists none", () => {
  test.each([
    {
      locale: "en-US",
      who: "Answered by: No model",
      use: "Use nolist/foo",
      name: "Answered by: nolist/foo",
    },
    { locale: "zh-CN", who: /无模型/, use: "使用 nolist/foo", name: /nolist\/foo/ },
  ])("can be chosen by its name: $locale", async ({ locale, who, use, name }) => {
    const asked: string[] = [];
    const server = await serverAt((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(404, { "content-type": "application/json" });
      response.end("{}");
    });
    const toml = `[chats]\ntitles = false\n${upstreamToml("nolist", baseUrl(server))}`;
    const { person } = await openedWith(toml, { locale });
    const tab = await person.tab();
    await tab.getByRole("button", { name: who }).click();
    await tab.getByRole("combobox").fill("nolist/foo");
    await tab.getByRole("option", { name: use }).waitFor();
    await takePicture(tab, `written-model-${locale}`);
    await tab.getByRole("combobox").press("Enter");
    await tab.getByRole("button", { name }).waitFor();
    const box = tab.locator("form textarea");
    await box.fill("Hello");
    await box.press("Enter");
    await expect.poll(() => asked).toContain("POST /v1/chat/completions");
  });
});
