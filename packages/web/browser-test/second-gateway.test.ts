import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { testGateway } from "./gateway.ts";
import { findAxeViolations, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Two gateways use the same data: the page of the second one explains the problem, and works when the first has stopped. */

const folder = mkdtempSync(join(tmpdir(), "deltawire-page-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const toml = `[server]\nport = 0\ndemo = true\n[store]\npath = ${JSON.stringify(join(folder, "deltawire.db"))}\n`;
const fixture = setupBrowserFixture();

test.each([
  {
    locale: "en-US",
    title: "Another gateway is using the same data",
    inList: "The notice at the top of the page explains why and what to do.",
    notSent: "Not sent: another gateway is using the data.",
  },
  {
    locale: "zh-CN",
    title: "另一个网关正在使用同一份数据",
    inList: "原因和解决办法见页面顶部的提示。",
    notSent: "未发送：另一个网关正在使用这份数据。",
  },
])(
  "the page explains the problem and how to use a separate data folder, until the first gateway stops ($locale)",
  async (language) => {
    const first = await testGateway(toml);
    const second = await testGateway(toml, { storeRetryMs: 100 });
    try {
      const user = await fixture.newUser({ locale: language.locale }, second.url);
      const tab = await user.tab();
      const notice = tab.getByRole("alert");
      await notice.getByText(language.title).waitFor();
      expect(await notice.innerText()).toContain("--data FOLDER --port N");
      expect(await notice.innerText()).toContain("is in use by");
      await tab.getByText(language.inList).waitFor();
      await takeScreenshot(tab, `second-gateway-${language.locale}`);
      expect(await findAxeViolations(tab)).toEqual([]);
      expect(await tab.getByRole("navigation").last().innerText()).not.toContain(folder);
      const box = tab.locator("textarea[data-composer]");
      await box.fill("Are you there?");
      const posts: string[] = [];
      tab.on("request", (request) => {
        if (request.method() === "POST") posts.push(new URL(request.url()).pathname);
      });
      await box.press("Enter");
      await tab.getByText(language.notSent).waitFor();
      expect(posts).toEqual(["/api/chats"]);
      expect(await box.inputValue()).toBe("Are you there?");
      await takeScreenshot(tab, `second-gateway-not-sent-${language.locale}`);
      await first.close();
      await notice.getByText(language.title).waitFor({ state: "detached", timeout: 60_000 });
      await takeScreenshot(tab, `second-gateway-alone-${language.locale}`);
    } finally {
      await Promise.allSettled([first.close(), second.close()]);
    }
  },
);

test("a long path in an error of the chat list is not cut off", async () => {
  const user = await fixture.newUser();
  const tab = await user.tab();
  const path = `/${"folder".repeat(20)}/deltawire.db`;
  const error = { code: "internal_error", message: `${path} cannot be read` };
  const isList = (url: URL) => url.pathname === "/api/chats";
  await tab.route(isList, (route) => route.fulfill({ status: 500, json: { error } }));
  await tab.reload();
  const errorText = tab.getByRole("navigation", { name: "Chats" }).getByText(path);
  await errorText.waitFor();
  const fits = (text: Element) => {
    const list = text.closest("nav")?.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(text);
    return range.getBoundingClientRect().right <= (list?.right ?? 0);
  };
  expect(await errorText.evaluate(fits)).toBe(true);
});
