import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { upstreamToml } from "./gateway.ts";
import { pickModel } from "./chat-actions.ts";
import {
  findAxeViolations,
  waitForAnswerEnd,
  lastAnswer,
  sendMessage,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

/* An upstream that rejects every request: the page reports it, counts down, and offers actions. */

/** Number of requests to an upstream that rejects all of them, as a starting server does. */
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
  // Long enough for a busy machine.
  const fixture = setupBrowserFixture({ toml, chatsToml: "retry_seconds = 300" });

  test.each([
    {
      locale: "en-US",
      retrying: "Retrying",
      next: /Retrying: attempt \d+ in \d+\ss/,
      countdown: /in [2-5]\s/,
      cause: /failed: .*still loading/,
      placeholder: "Message broken/m (delivered when it is back)",
    },
    {
      locale: "zh-CN",
      retrying: "正在重试",
      next: /\d+ 秒后进行第 \d+ 次尝试/,
      countdown: /^[2-5] 秒后/,
      cause: /失败：.*still loading/,
      placeholder: "给 broken/m 发消息（恢复后送达）",
    },
  ])(
    "shows a countdown to the next attempt, even after a reload ($locale)",
    async ({ locale, retrying, next, countdown, cause, placeholder }) => {
      const hash = await fixture.createChat({ model: "broken/m" });
      await fetch(`${fixture.gateway.url}/api/chats/${hash.split("/").at(-1)}/send`, {
        method: "POST",
        body: JSON.stringify({ text: "Hello" }),
      });
      const tab = await (await fixture.newUser({ locale })).tab(hash);
      const box = tab.locator(".answer-retry");
      await box.waitFor();
      await expectText(box, next);
      await expectText(box, cause);
      await expectText(tab.locator(".chat-answer header .status-badge"), retrying);
      await expectText(tab.locator(".list-row[data-current] .list-activity"), retrying);
      await tab.getByPlaceholder(placeholder).waitFor();
      // The countdown is updated.
      const timer = box.getByRole("timer");
      const first = await timer.textContent();
      await expect.poll(() => timer.textContent(), { timeout: 20_000 }).not.toBe(first);
      await expect.poll(() => timer.textContent(), { timeout: 20_000 }).toMatch(countdown);
      await takeScreenshot(tab, `retrying-${locale}`);
      expect(await findAxeViolations(tab)).toEqual([]);
      await tab.reload();
      await expectText(tab.locator(".answer-retry"), next);
    },
  );
});

describe("a model that failed after all attempts", () => {
  const fixture = setupBrowserFixture({ toml, chatsToml: "retry_seconds = 1" });

  test("offers to retry and to choose another model, which then answers", async () => {
    const tab = await (
      await fixture.newUser()
    ).tab(await fixture.createChat({ model: "broken/m" }));
    await sendMessage(tab, "Hello");
    const failure = lastAnswer(tab).locator(".answer-failure");
    await failure.waitFor({ timeout: 60_000 });
    await expectText(failure, /still loading/);
    await takeScreenshot(tab, "given-up");
    expect(await findAxeViolations(tab)).toEqual([]);
    const before = requests;
    await failure.getByRole("button", { name: "Retry" }).click();
    await expect.poll(() => requests, { timeout: 60_000 }).toBeGreaterThan(before);
    await failure.waitFor({ timeout: 60_000 });
    await failure.getByRole("button", { name: "Choose another model" }).click();
    const dialog = tab.getByRole("dialog");
    await dialog.getByRole("button", { name: /^Answer with/ }).click();
    await pickModel(dialog, "lab/clean");
    await takeScreenshot(tab, "choose-another-model");
    await dialog.getByRole("button", { name: "Retry" }).click();
    await waitForAnswerEnd(tab);
    await expect.poll(() => lastAnswer(tab).locator(".answer-failure").count()).toBe(0);
    await expectText(lastAnswer(tab).locator("header"), /lab\/clean/);
  });
});

async function expectText(locator: ReturnType<typeof lastAnswer>, text: string | RegExp) {
  await expect.poll(() => locator.textContent(), { timeout: 20_000 }).toMatch(text);
}
