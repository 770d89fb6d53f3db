import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { runningGateway, upstreamToml } from "../../test/running-gateway.ts";
import { messageBox } from "./in-chat.ts";
import { builtPage, staged, takePicture, type PersonOptions } from "./stage.ts";

const stage = staged();

/** A gateway of its own with this configuration, and somebody who looks at it. */
async function openedWith(toml: string, options?: PersonOptions) {
  const gateway = await runningGateway(toml, { page: builtPage });
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
