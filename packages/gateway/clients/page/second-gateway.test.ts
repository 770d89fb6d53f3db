import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runningGateway } from "../../test/running-gateway.ts";
import { barriersOn, builtPage, staged, takePicture } from "./stage.ts";

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
  },
  {
    locale: "zh-CN",
    says: "另一个网关正在使用同一份数据",
    inList: "原因和解决办法见页面顶部的提示。",
  },
])("the page says what is wrong and how to give it its own place ($locale)", async (language) => {
  const first = await runningGateway(toml);
  const second = await runningGateway(toml, { page: builtPage, storeAgainMs: 100 });
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
    await first.close();
    await notice.getByText(language.says).waitFor({ state: "detached", timeout: 60_000 });
    await takePicture(tab, `second-gateway-alone-${language.locale}`);
  } finally {
    await Promise.allSettled([first.close(), second.close()]);
  }
});
