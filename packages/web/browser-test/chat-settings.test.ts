import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  chooseResponder,
  waitForAnswers,
  chooseMenuItem,
  findModelRequest,
} from "./chat-actions.ts";
import { lastAnswer, sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Settings of a chat: model, tools, limits, context, privacy, and costs. */

const fixture = setupBrowserFixture({
  toml: `[models]
priced = { use = "lab/clean", price_input = 1000, price_output = 2000 }
`,
});

async function openChatTab(settings?: object): Promise<Page> {
  return (await fixture.newUser()).tab(await fixture.createChat(settings));
}

/** Opens the settings dialog at a section. */
async function openSettings(tab: Page, section: string): Promise<Locator> {
  await chooseMenuItem(tab.getByRole("button", { name: "Actions for this chat" }), "Settings");
  const dialog = tab.getByRole("dialog", { name: "Chat settings" });
  await dialog.getByRole("tab", { name: section }).click();
  return dialog;
}

async function saveSettings(dialog: Locator): Promise<void> {
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
}

const getModelRequest = (words: string) => findModelRequest(fixture.requests, words);

describe("the model or agent of a chat", () => {
  test("is chosen in the composer and stored", async () => {
    const tab = await openChatTab({ model: "priced" });
    await tab.getByRole("button", { name: "Answer with: priced" }).click();
    await tab.getByRole("option", { name: /^demo-agent/ }).waitFor();
    await takeScreenshot(tab, "settings-picker");
    await tab.keyboard.press("Escape");
    await chooseResponder(tab, "forecaster");
    await tab.getByRole("button", { name: /^forecaster answers/ }).waitFor();
    await tab.reload();
    await tab.getByRole("button", { name: "Answer with: forecaster" }).waitFor();
    await sendMessage(tab, "Hello");
    await tab.getByRole("article", { name: "Answer from forecaster" }).waitFor();
  });

  test("has the tool groups that are selected in the settings", async () => {
    const tab = await openChatTab({ model: "priced" });
    await chooseMenuItem(tab.getByTitle("Tools: off"), "time");
    await tab.getByTitle("Tools: 1 on").waitFor();
    await sendMessage(tab, 'current_time of "UTC"');
    const answer = await waitForAnswers(tab, 1);
    await answer.getByRole("button", { name: /^current_time .*Done/ }).waitFor();
    const dialog = await openSettings(tab, "Tools");
    expect(await dialog.getByRole("switch", { name: "time" }).isChecked()).toBe(true);
  });

  test("stops at the limits of the chat", async () => {
    const tab = await openChatTab();
    const dialog = await openSettings(tab, "Tools");
    const seconds = dialog.getByRole("textbox", { name: "Time (seconds)" });
    expect(await seconds.getAttribute("placeholder")).toBe("Default: 604800 (7 days)");
    await dialog.getByRole("textbox", { name: "Rounds" }).fill("many");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Enter a number.").waitFor();
    await takeScreenshot(tab, "settings-limits");
    await dialog.getByRole("textbox", { name: "Rounds" }).fill("2");
    await saveSettings(dialog);
    await sendMessage(tab, "get_weather of Paris in 5 steps");
    const answer = await waitForAnswers(tab, 1);
    expect(await answer.getByRole("button", { name: /^get_weather/ }).count()).toBeLessThan(4);
  });
});

describe("the model's input", () => {
  test("starts with the instructions of the chat", async () => {
    const tab = await openChatTab({ model: "priced" });
    const dialog = await openSettings(tab, "Answer");
    await dialog.getByRole("textbox", { name: "Instructions" }).fill("Speak like a pirate.");
    await dialog.getByRole("textbox", { name: "Temperature" }).fill("0.3");
    await takeScreenshot(tab, "settings-answer");
    await saveSettings(dialog);
    await sendMessage(tab, "Good evening");
    await waitForAnswers(tab, 1);
    expect(getModelRequest("Good evening")).toContain("Speak like a pirate.");
    expect(getModelRequest("Good evening")).toContain('"temperature":0.3');
  });

  test("contains no masked e-mail address, but users still see it", async () => {
    const tab = await openChatTab({ model: "priced" });
    const dialog = await openSettings(tab, "Privacy");
    await dialog.getByRole("switch", { name: "Mask private values" }).check();
    await takeScreenshot(tab, "settings-privacy");
    await saveSettings(dialog);
    await sendMessage(tab, "Write to ada@example.com today");
    const answer = await waitForAnswers(tab, 1);
    expect(await answer.innerText()).toContain("ada@example.com");
    await sendMessage(tab, "Whom did I name?");
    await waitForAnswers(tab, 2);
    await expect.poll(() => tab.title()).toContain("Write to");
    const bodies = fixture.requests.map(({ body }) => JSON.stringify(body ?? null));
    expect(bodies.filter((body) => body.includes("Write to {{EMAIL_1_"))).not.toEqual([]);
    expect(bodies.filter((body) => body.includes("ada@example.com"))).toEqual([]);
  });

  test("contains only the last turns if the settings limit them", async () => {
    const tab = await openChatTab({ model: "priced" });
    const dialog = await openSettings(tab, "Context");
    await dialog.getByRole("textbox", { name: "Messages to include" }).fill("1");
    await takeScreenshot(tab, "settings-conversation");
    await saveSettings(dialog);
    await sendMessage(tab, "The first thing");
    await waitForAnswers(tab, 1);
    await sendMessage(tab, "The second thing");
    await waitForAnswers(tab, 2);
    expect(getModelRequest("The second thing")).not.toContain("The first thing");
  });

  test("is unchanged if the settings are closed without saving", async () => {
    const tab = await openChatTab({ model: "priced" });
    const dialog = await openSettings(tab, "Answer");
    await dialog.getByRole("textbox", { name: "Instructions" }).fill("Be rude.");
    await tab.keyboard.press("Escape");
    await dialog.getByText("You have unsaved changes.").waitFor();
    await takeScreenshot(tab, "settings-unsaved");
    await dialog.getByRole("button", { name: "Discard changes" }).click();
    await dialog.waitFor({ state: "detached" });
    const again = await openSettings(tab, "Answer");
    expect(await again.getByRole("textbox", { name: "Instructions" }).inputValue()).toBe("");
  });

  test("is checked by the gateway, whose error is shown at the field", async () => {
    const tab = await openChatTab({ model: "priced" });
    const dialog = await openSettings(tab, "Answer");
    await dialog.getByRole("textbox", { name: "Temperature" }).fill("9");
    await dialog.getByRole("button", { name: "Save" }).click();
    const field = dialog.getByRole("textbox", { name: "Temperature" });
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    await takeScreenshot(tab, "settings-rejected");
  });
});

test("tokens and cost are shown for every answer, and their sum for the chat", async () => {
  const tab = await openChatTab({ model: "priced" });
  await sendMessage(tab, "Hello");
  const answer = await waitForAnswers(tab, 1);
  const usage = answer.getByTitle("Tokens and cost");
  await expect.poll(() => usage.innerText()).toMatch(/^\d+ tokens · cost [\d.]+ · [\d.]+ s$/);
  await usage.click();
  const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
  expect(await rows.innerText()).toMatch(
    /^Input\s+\d+\s+Output\s+\d+\s+including reasoning\s+\d+\s+Total\s+\d+\s+Cost\s+[\d.]+\s+Time/,
  );
  await takeScreenshot(tab, "chat-usage");
  await tab.keyboard.press("Escape");
  await rows.waitFor({ state: "hidden" });
  await lastAnswer(tab).getByRole("button", { name: "Retry" }).click();
  await lastAnswer(tab).getByRole("group", { name: "Version 2 of 2" }).waitFor();
  await waitForAnswers(tab, 1);
  const chatUsage = tab.getByTitle("Usage of this chat, including all versions");
  const tokensOf = (text: string) => Number(/^([\d.]+K?)/.exec(text)?.[1]?.replace("K", "e3"));
  const once = tokensOf(await usage.innerText());
  await expect.poll(async () => tokensOf(await chatUsage.innerText())).toBeGreaterThan(1.9 * once);
  expect(await chatUsage.innerText()).toContain("cost");
});

test("settings fit on a phone", async () => {
  const user = await fixture.newUser({ viewport: { width: 390, height: 844 }, hasTouch: true });
  const tab = await user.tab(await fixture.createChat({ model: "priced" }));
  const dialog = await openSettings(tab, "Privacy");
  await dialog.getByRole("switch", { name: "Mask private values" }).check();
  await takeScreenshot(tab, "settings-phone");
  expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});
