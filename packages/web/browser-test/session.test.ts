import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  sendAndWaitForAnswer,
  findAxeViolations,
  waitForAnswerEnd,
  lastAnswer,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

const token = "token-of-the-page-0123456789";
const fixture = setupBrowserFixture({ toml: `[server]\nport = 0\ntokens = ["${token}"]` });
const getMessageBox = (tab: Page) => tab.getByRole("textbox", { name: "Message", exact: true });

async function signIn(tab: Page, value = token): Promise<void> {
  await tab.getByLabel("Token", { exact: true }).fill(value);
  await tab.getByRole("button", { name: "Sign in" }).click();
}

describe("a gateway that requires a token", () => {
  test("shows only the sign-in form, rejects a wrong token, and accepts a valid one", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab();
    await tab.getByRole("heading", { name: "This gateway requires a token" }).waitFor();
    await tab.getByText("Enter an access key or a token of the gateway's configuration").waitFor();
    expect(await tab.getByRole("navigation").count()).toBe(0);
    expect(await findAxeViolations(tab)).toEqual([]);
    await takeScreenshot(tab, "session-sign-in");
    await signIn(tab, "another-token-0123456789");
    const field = tab.getByLabel("Token", { exact: true });
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    await tab.getByRole("alert").getByText("This token is not valid.").waitFor();
    await takeScreenshot(tab, "session-wrong-token");
    await signIn(tab);
    await getMessageBox(tab).waitFor();
    await takeScreenshot(tab, "session-signed-in");
  });

  test("shows a translated error, and when to try again", async () => {
    const user = await fixture.newUser({ locale: "zh-CN" });
    const tab = await user.tab();
    const submit = async () => {
      await tab.getByLabel("令牌", { exact: true }).fill("another-token-0123456789");
      await tab.getByRole("button", { name: "登录" }).click();
    };
    await submit();
    await tab.getByRole("alert").getByText("令牌无效。").waitFor();
    await tab.route("**/api/session", (route) =>
      route.fulfill({ status: 429, headers: { "retry-after": "12" }, json: {} }),
    );
    await submit();
    await tab.getByRole("alert").getByText("12 秒后重试").waitFor();
    await takeScreenshot(tab, "session-too-many-tries-chinese");
  });

  test("keeps the user signed in after a reload and in a second tab", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab();
    await signIn(tab);
    await getMessageBox(tab).waitFor();
    await tab.reload();
    await getMessageBox(tab).waitFor();
    await getMessageBox(await user.tab()).waitFor();
  });

  test("opens the requested view after the sign-in", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab("#/upstreams");
    await signIn(tab);
    await tab.getByRole("heading", { name: "lab" }).waitFor();
  });

  test("streams answers and shows images to a signed-in user", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab(await fixture.createChat());
    await signIn(tab);
    await sendAndWaitForAnswer(tab, 'draw_picture of "a house by the sea"');
    const answer = await waitForAnswerEnd(tab);
    const answerImage = answer.getByRole("img").first();
    await expect
      .poll(() => answerImage.evaluate((image) => (image as HTMLImageElement).naturalWidth))
      .toBeGreaterThan(0);
    await takeScreenshot(tab, "session-image");
  });

  test("shows the sign-in form in every tab when the user signs out", async () => {
    const user = await fixture.newUser();
    const hash = await fixture.createChat();
    const tab = await user.tab(hash);
    await signIn(tab);
    await getMessageBox(tab).waitFor();
    const other = await user.tab(hash);
    await getMessageBox(other).waitFor();
    await tab.getByRole("banner").getByRole("button", { name: "More" }).click();
    await tab.getByRole("menuitem", { name: "Sign out" }).click();
    await tab.getByRole("button", { name: "Sign in" }).waitFor();
    await other.getByRole("button", { name: "Sign in" }).waitFor();
    await signIn(other);
    await getMessageBox(other).waitFor();
    await getMessageBox(tab).waitFor();
  });
});

test("does not put the token in a URL, a storage, a readable cookie or an element", async () => {
  const user = await fixture.newUser();
  const tab = await user.tab(await fixture.createChat());
  await signIn(tab);
  await sendAndWaitForAnswer(tab, "hello");
  await waitForAnswerEnd(tab);
  await tab.evaluate(() => (location.hash = "#/upstreams"));
  await tab.getByRole("heading", { name: "lab" }).waitFor();
  const stored = await tab.evaluate(() =>
    JSON.stringify([
      location.href,
      Object.entries(localStorage),
      Object.entries(sessionStorage),
      document.cookie,
      document.documentElement.outerHTML,
      [...document.querySelectorAll("input")].map(({ value }) => value),
    ]),
  );
  expect(stored).not.toContain(token);
  expect(user.requestedUrls.filter((address) => address.includes(token))).toEqual([]);
  const [cookie] = await user.context.cookies();
  expect(cookie).toMatchObject({
    name: expect.stringMatching(/^deltawire_session_\d+$/) as string,
    httpOnly: true,
    sameSite: "Strict",
  });
  expect(cookie?.value).not.toContain(token);
});

test("shows approvals that arrived while the user was signed out", async () => {
  const user = await fixture.newUser();
  const tab = await user.tab(await fixture.createChat());
  await signIn(tab);
  await sendAndWaitForAnswer(tab, 'please send_message to Bob: "hello"');
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
  await user.context.clearCookies();
  await tab.reload();
  await signIn(tab);
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).click();
  expect(await (await waitForAnswerEnd(tab)).innerText()).toContain("would have been sent");
});
