import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { upstreamToml } from "./gateway.ts";
import { takeModel } from "./in-chat.ts";
import { barriersOn, endedAnswer, lastAnswer, say, staged, takePicture } from "./stage.ts";

/* An upstream that is away: the page says so, counts down, and offers what can be done. */

/** Refuses everything, as a server does that is being started. */
let requests = 0;
const broken = createServer((request, response) => {
  requests += 1;
  request.resume();
  response.writeHead(503, { "content-type": "application/json" });
  response.end('{"error": {"message": "the model is still loading"}}');
});
broken.listen(0, "127.0.0.1");
await once(broken, "listening");
const { port } = broken.address() as AddressInfo;
afterAll(() => void broken.close());

const toml = upstreamToml("broken", `http://127.0.0.1:${port}/v1`, { models: ["m"] });

describe("a model that cannot answer", () => {
  // Long enough for a busy machine to look at it.
  const stage = staged({ toml, chats: "retry_seconds = 300" });

  test.each([
    {
      locale: "en-US",
      retrying: "Retrying",
      next: /Retrying: attempt \d+/,
      cause: /failed: .*still loading/,
      told: "To broken/m, as soon as it can be reached again",
    },
    {
      locale: "zh-CN",
      retrying: "正在重试",
      next: /正在重试：第 \d+ 次尝试/,
      cause: /失败：.*still loading/,
      told: "发给 broken/m，待其恢复连接后送达",
    },
  ])(
    "is counted down to, after a reload too ($locale)",
    async ({ locale, retrying, next, cause, told }) => {
      const place = await stage.chat({ model: "broken/m" });
      await fetch(`${stage.gateway.url}/api/chats/${place.split("/").at(-1)}/send`, {
        method: "POST",
        body: JSON.stringify({ text: "Hello" }),
      });
      const tab = await (await stage.person({ locale })).tab(place);
      const box = tab.locator(".answer-retry");
      await box.waitFor();
      await expectText(box, next);
      await expectText(box, cause);
      await expectText(tab.locator(".chat-answer header .status"), retrying);
      await expectText(tab.locator(".list-row[data-current] .list-sign"), retrying);
      await tab.getByPlaceholder(told).waitFor();
      // It counts: another second is shown sooner or later.
      const timer = box.getByRole("timer");
      const first = await timer.textContent();
      await expect.poll(() => timer.textContent(), { timeout: 20_000 }).not.toBe(first);
      await expect.poll(() => timer.textContent(), { timeout: 20_000 }).toMatch(/[2-5]/);
      await takePicture(tab, `retrying-${locale}`);
      expect(await barriersOn(tab)).toEqual([]);
      await tab.reload();
      await expectText(tab.locator(".answer-retry"), next);
    },
  );
});

describe("a model that is given up", () => {
  const stage = staged({ toml, chats: "retry_seconds = 1" });

  test("leaves Retry and Choose another model, which lead to an answer", async () => {
    const tab = await (await stage.person()).tab(await stage.chat({ model: "broken/m" }));
    await say(tab, "Hello");
    const failure = lastAnswer(tab).locator(".answer-failure");
    await failure.waitFor({ timeout: 60_000 });
    await expectText(failure, /still loading/);
    await takePicture(tab, "given-up");
    expect(await barriersOn(tab)).toEqual([]);
    const before = requests;
    await failure.getByRole("button", { name: "Retry" }).click();
    await expect.poll(() => requests, { timeout: 60_000 }).toBeGreaterThan(before);
    await failure.waitFor({ timeout: 60_000 });
    await failure.getByRole("button", { name: "Choose another model" }).click();
    const dialog = tab.getByRole("dialog");
    await dialog.getByRole("button", { name: /^Who answers this once/ }).click();
    await takeModel(dialog, "lab/clean");
    await takePicture(tab, "choose-another-model");
    await dialog.getByRole("button", { name: "Retry" }).click();
    await endedAnswer(tab);
    await expect.poll(() => lastAnswer(tab).locator(".answer-failure").count()).toBe(0);
    await expectText(lastAnswer(tab).locator("header"), /lab\/clean/);
  });
});

async function expectText(locator: ReturnType<typeof lastAnswer>, text: string | RegExp) {
  await expect.poll(() => locator.textContent(), { timeout: 20_000 }).toMatch(text);
}
