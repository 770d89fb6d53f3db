import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ask, barriersOn, endedAnswer, lastAnswer, staged, takePicture } from "./stage.ts";

const token = "token-of-the-page-0123456789";
const stage = staged({ toml: `[server]\nport = 0\ntokens = ["${token}"]` });
const box = (tab: Page) => tab.getByRole("textbox", { name: "Message", exact: true });

async function signIn(tab: Page, given = token): Promise<void> {
  await tab.getByLabel("Token", { exact: true }).fill(given);
  await tab.getByRole("button", { name: "Sign in" }).click();
}

describe("a gateway that asks for a token", () => {
  test("shows nothing but the form, tells of a wrong token, and lets in who has a right one", async () => {
    const person = await stage.person();
    const tab = await person.tab();
    await tab.getByRole("heading", { name: "This gateway asks for a token" }).waitFor();
    expect(await tab.getByRole("navigation").count()).toBe(0);
    expect(await barriersOn(tab)).toEqual([]);
    await takePicture(tab, "session-sign-in");
    await signIn(tab, "another-token-0123456789");
    const field = tab.getByLabel("Token", { exact: true });
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    await tab.getByRole("alert").getByText("This is none of the gateway's tokens.").waitFor();
    await takePicture(tab, "session-wrong-token");
    await signIn(tab);
    await box(tab).waitFor();
    await takePicture(tab, "session-signed-in");
  });

  test("tells in the language of the page what is wrong, and when to come back", async () => {
    const person = await stage.person({ locale: "zh-CN" });
    const tab = await person.tab();
    const submit = async () => {
      await tab.getByLabel("令牌", { exact: true }).fill("another-token-0123456789");
      await tab.getByRole("button", { name: "登录" }).click();
    };
    await submit();
    await tab.getByRole("alert").getByText("这不是此网关的令牌。").waitFor();
    await tab.route("**/api/session", (route) =>
      route.fulfill({ status: 429, headers: { "retry-after": "12" }, json: {} }),
    );
    await submit();
    await tab.getByRole("alert").getByText("12 秒后重试").waitFor();
    await takePicture(tab, "session-too-many-tries-chinese");
  });

  test("keeps whoever is in: after a reload, and in a second tab", async () => {
    const person = await stage.person();
    const tab = await person.tab();
    await signIn(tab);
    await box(tab).waitFor();
    await tab.reload();
    await box(tab).waitFor();
    await box(await person.tab()).waitFor();
  });

  test("leads to what was asked for", async () => {
    const person = await stage.person();
    const tab = await person.tab("#/upstreams");
    await signIn(tab);
    await tab.getByRole("heading", { name: "lab" }).waitFor();
  });

  test("streams answers and shows pictures to who is in", async () => {
    const person = await stage.person();
    const tab = await person.tab(await stage.chat());
    await signIn(tab);
    await ask(tab, 'draw_picture of "a house by the sea"');
    const answer = await endedAnswer(tab);
    const picture = answer.getByRole("img").first();
    await expect
      .poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth))
      .toBeGreaterThan(0);
    await takePicture(tab, "session-picture");
  });

  test("takes whoever signs out back to the form, in every tab", async () => {
    const person = await stage.person();
    const hash = await stage.chat();
    const tab = await person.tab(hash);
    await signIn(tab);
    await box(tab).waitFor();
    const other = await person.tab(hash);
    await box(other).waitFor();
    await tab.getByRole("banner").getByRole("button", { name: "More" }).click();
    await tab.getByRole("menuitem", { name: "Sign out" }).click();
    await tab.getByRole("button", { name: "Sign in" }).waitFor();
    await other.getByRole("button", { name: "Sign in" }).waitFor();
    await signIn(other);
    await box(other).waitFor();
    await box(tab).waitFor();
  });
});

test("the token is in no address, no storage, no cookie and no element", async () => {
  const person = await stage.person();
  const tab = await person.tab(await stage.chat());
  await signIn(tab);
  await ask(tab, "hello");
  await endedAnswer(tab);
  await tab.evaluate(() => (location.hash = "#/upstreams"));
  await tab.getByRole("heading", { name: "lab" }).waitFor();
  const kept = await tab.evaluate(() =>
    JSON.stringify([
      location.href,
      Object.entries(localStorage),
      Object.entries(sessionStorage),
      document.cookie,
      document.documentElement.outerHTML,
      [...document.querySelectorAll("input")].map(({ value }) => value),
    ]),
  );
  expect(kept).not.toContain(token);
  expect(person.asked.filter((address) => address.includes(token))).toEqual([]);
  const [cookie] = await person.context.cookies();
  expect(cookie).toMatchObject({
    name: expect.stringMatching(/^deltawire_session_\d+$/) as string,
    httpOnly: true,
    sameSite: "Strict",
  });
  expect(cookie?.value).not.toContain(token);
});

test("what waits while somebody is signed out is there when they are back", async () => {
  const person = await stage.person();
  const tab = await person.tab(await stage.chat());
  await signIn(tab);
  await ask(tab, 'please send_message to Bob: "hello"');
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
  await person.context.clearCookies();
  await tab.reload();
  await signIn(tab);
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).click();
  expect(await (await endedAnswer(tab)).innerText()).toContain("would have been sent");
});
