import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chooseWho, endedAnswers, pick, toldWith } from "./in-chat.ts";
import { lastAnswer, say, staged, takePicture } from "./stage.ts";

/* Who answers in a chat, with what, how far, what it is told, and what it costs. */

const stage = staged({
  toml: `[models]
priced = { use = "lab/clean", price_input = 1000, price_output = 2000 }
`,
});

async function opened(settings?: object): Promise<Page> {
  return (await stage.person()).tab(await stage.chat(settings));
}

/** The dialog of settings at one of its sections. */
async function settings(tab: Page, section: string): Promise<Locator> {
  await pick(tab.getByRole("button", { name: "More for this chat" }), "Settings");
  const dialog = tab.getByRole("dialog", { name: "Settings of this chat" });
  await dialog.getByRole("tab", { name: section }).click();
  return dialog;
}

async function save(dialog: Locator): Promise<void> {
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
}

const told = (words: string) => toldWith(stage.requests, words);

describe("who answers", () => {
  test("is a model or an agent, chosen where messages are written, and stays so", async () => {
    const tab = await opened({ model: "priced" });
    await tab.getByRole("button", { name: "Answered by: priced" }).click();
    await tab.getByRole("option", { name: /^demo-agent/ }).waitFor();
    await takePicture(tab, "settings-picker");
    await tab.keyboard.press("Escape");
    await chooseWho(tab, "forecaster");
    await tab.getByRole("button", { name: /^forecaster answers/ }).waitFor();
    await tab.reload();
    await tab.getByRole("button", { name: "Answered by: forecaster" }).waitFor();
    await say(tab, "Hello");
    await tab.getByRole("article", { name: "Answer of forecaster" }).waitFor();
  });

  test("has the tool groups that are switched on", async () => {
    const tab = await opened({ model: "priced" });
    await pick(tab.getByTitle("Tools: none on"), "time");
    await tab.getByTitle("Tools: 1 on").waitFor();
    await say(tab, 'current_time of "UTC"');
    const answer = await endedAnswers(tab, 1);
    await answer.getByRole("button", { name: /^current_time .*Done/ }).waitFor();
    const dialog = await settings(tab, "Tools");
    expect(await dialog.getByRole("switch", { name: "time" }).isChecked()).toBe(true);
  });

  test("stops at the limits of the chat", async () => {
    const tab = await opened();
    const dialog = await settings(tab, "Tools");
    const seconds = dialog.getByRole("textbox", { name: "Seconds" });
    expect(await seconds.getAttribute("placeholder")).toBe("Default: 7 days");
    await dialog.getByRole("textbox", { name: "Rounds" }).fill("many");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Write a number.").waitFor();
    await takePicture(tab, "settings-limits");
    await dialog.getByRole("textbox", { name: "Rounds" }).fill("2");
    await save(dialog);
    await say(tab, "get_weather of Paris in 5 steps");
    const answer = await endedAnswers(tab, 1);
    expect(await answer.getByRole("button", { name: /^get_weather/ }).count()).toBeLessThan(4);
  });
});

describe("what the model is told", () => {
  test("begins with the instructions of the chat", async () => {
    const tab = await opened({ model: "priced" });
    const dialog = await settings(tab, "Answer");
    await dialog.getByRole("textbox", { name: "Instructions" }).fill("Speak like a pirate.");
    await dialog.getByRole("textbox", { name: "Temperature" }).fill("0.3");
    await takePicture(tab, "settings-answer");
    await save(dialog);
    await say(tab, "Good evening");
    await endedAnswers(tab, 1);
    expect(told("Good evening")).toContain("Speak like a pirate.");
    expect(told("Good evening")).toContain('"temperature":0.3');
  });

  test("has no address, where addresses are masked, and people see it all the same", async () => {
    const tab = await opened({ model: "priced" });
    const dialog = await settings(tab, "Privacy");
    await dialog.getByRole("switch", { name: "Mask private values" }).check();
    await takePicture(tab, "settings-privacy");
    await save(dialog);
    await say(tab, "Write to ada@example.com today");
    const answer = await endedAnswers(tab, 1);
    expect(await answer.innerText()).toContain("ada@example.com");
    await say(tab, "Whom did I name?");
    await endedAnswers(tab, 2);
    await expect.poll(() => tab.title()).toContain("Write to");
    const asked = stage.requests.map(({ body }) => JSON.stringify(body ?? null));
    expect(asked.filter((body) => body.includes("Write to {{EMAIL_1_"))).not.toEqual([]);
    expect(asked.filter((body) => body.includes("ada@example.com"))).toEqual([]);
  });

  test("is what was said in the last turns only, if the chat says so", async () => {
    const tab = await opened({ model: "priced" });
    const dialog = await settings(tab, "Conversation");
    await dialog.getByRole("textbox", { name: "Turns that the model is told" }).fill("1");
    await takePicture(tab, "settings-conversation");
    await save(dialog);
    await say(tab, "The first thing");
    await endedAnswers(tab, 1);
    await say(tab, "The second thing");
    await endedAnswers(tab, 2);
    expect(told("The second thing")).not.toContain("The first thing");
  });

  test("is left as it was where somebody leaves the settings without saving", async () => {
    const tab = await opened({ model: "priced" });
    const dialog = await settings(tab, "Answer");
    await dialog.getByRole("textbox", { name: "Instructions" }).fill("Be rude.");
    await tab.keyboard.press("Escape");
    await dialog.getByText("There are changes that are not saved.").waitFor();
    await takePicture(tab, "settings-unsaved");
    await dialog.getByRole("button", { name: "Discard them" }).click();
    await dialog.waitFor({ state: "detached" });
    const again = await settings(tab, "Answer");
    expect(await again.getByRole("textbox", { name: "Instructions" }).inputValue()).toBe("");
  });

  test("is refused by the gateway with words at the field", async () => {
    const tab = await opened({ model: "priced" });
    const dialog = await settings(tab, "Answer");
    await dialog.getByRole("textbox", { name: "Temperature" }).fill("9");
    await dialog.getByRole("button", { name: "Save" }).click();
    const field = dialog.getByRole("textbox", { name: "Temperature" });
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    await takePicture(tab, "settings-refused");
  });
});

test("tokens and cost stand with every turn, and their sum with the chat", async () => {
  const tab = await opened({ model: "priced" });
  await say(tab, "Hello");
  const answer = await endedAnswers(tab, 1);
  const usage = answer.getByTitle("Tokens and cost");
  await expect.poll(() => usage.innerText()).toMatch(/^\d+ tokens · cost [\d.]+ · [\d.]+ s$/);
  await usage.click();
  const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
  expect(await rows.innerText()).toMatch(
    /^Input\s+\d+\s+Output\s+\d+\s+of it reasoning\s+\d+\s+Total\s+\d+\s+Cost\s+[\d.]+\s+Time/,
  );
  await takePicture(tab, "chat-usage");
  await tab.keyboard.press("Escape");
  await rows.waitFor({ state: "hidden" });
  await lastAnswer(tab).getByRole("button", { name: "Retry" }).click();
  await lastAnswer(tab).getByRole("group", { name: "Version 2 of 2" }).waitFor();
  await endedAnswers(tab, 1);
  const whole = tab.getByTitle("Used by the whole chat, all versions");
  const tokensOf = (text: string) => Number(/^([\d.]+K?)/.exec(text)?.[1]?.replace("K", "e3"));
  const once = tokensOf(await usage.innerText());
  await expect.poll(async () => tokensOf(await whole.innerText())).toBeGreaterThan(1.9 * once);
  expect(await whole.innerText()).toContain("cost");
});

test("settings fit a phone", async () => {
  const person = await stage.person({ viewport: { width: 390, height: 844 }, hasTouch: true });
  const tab = await person.tab(await stage.chat({ model: "priced" }));
  const dialog = await settings(tab, "Privacy");
  await dialog.getByRole("switch", { name: "Mask private values" }).check();
  await takePicture(tab, "settings-phone");
  expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});
