import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { testGateway } from "./gateway.ts";
import { barriersOn, staged, takePicture } from "./stage.ts";

/* Two gateways on the same data: the page of the second says so, and works as soon as the first is gone. */

const folder = mkdtempSync(join(tmpdir(), "deltawire-page-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const toml = `[server]\nport = 0\ndemo = true\n[store]\npath = ${JSON.stringify(join(folder, "deltawire.db"))}\n`;
const stage = staged();

test.each([
  {
    locale: "en-US",
    says: "Another gateway is using the same data",
    inList: "The notice at the top says why, and what to do.",
    notSent: "Not sent: another gateway uses the data.",
  },
  {
    locale: "zh-CN",
    says: "另一个网关正在使用同一份数据",
    inList: "原因和解决办法见页面顶部的提示。",
    notSent: "未发送：另一个网关正在使用这份数据。",
  },
])("the page says what is wrong and how to give it its own place ($locale)", async (language) => {
  const first = await testGateway(toml);
  const second = await testGateway(toml, { storeAgainMs: 100 });
  try {
    const person = await stage.person({ locale: language.locale }, second.url);
    const tab = await person.tab();
    const notice = tab.getByRole("alert");
    await notice.getByText(language.says).waitFor();
    expect(await notice.innerText()).toContain("--data FOLDER --port N");
    expect(await notice.innerText()).toContain("is in use by");
    await tab.getByText(language.inList).waitFor();
    await takePicture(tab, `second-gateway-${language.locale}`);
    expect(await barriersOn(tab)).toEqual([]);
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
    await takePicture(tab, `second-gateway-not-sent-${language.locale}`);
    await first.close();
    await notice.getByText(language.says).waitFor({ state: "detached", timeout: 60_000 });
    await takePicture(tab, `second-gateway-alone-${language.locale}`);
  } finally {
    await Promise.allSettled([first.close(), second.close()]);
  }
});

test("a long path in the list is not cut off", async () => {
  const person = await stage.person();
  const tab = await person.tab();
  const path = `/${"folder".repeat(20)}/deltawire.db`;
  const error = { code: "internal_error", message: `${path} cannot be read` };
  const isList = (url: URL) => url.pathname === "/api/chats";
  await tab.route(isList, (route) => route.fulfill({ status: 500, json: { error } }));
  await tab.reload();
  const said = tab.getByRole("navigation", { name: "Chats" }).getByText(path);
  await said.waitFor();
  const fits = (text: Element) => {
    const list = text.closest("nav")?.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(text);
    return range.getBoundingClientRect().right <= (list?.right ?? 0);
  };
  expect(await said.evaluate(fits)).toBe(true);
});
