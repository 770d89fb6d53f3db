import { describe, expect, test } from "vitest";
import { openAnsweredChat, getAnswers, getCallButton, isTopInView } from "./chat-actions.ts";
import { sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* References: preview and link to the source. */

const fixture = setupBrowserFixture();
const openAnswered = (words: string) => openAnsweredChat(fixture, words);

describe("a reference", () => {
  test("shows its source on hover, and goes to its call when pressed", async () => {
    const { tab, answer } = await openAnswered("What is the weather in Paris?");
    const chip = answer.getByRole("button", { name: "Source 1: The weather in Paris" });
    await chip.hover();
    expect(await answer.innerText()).not.toContain("[^");
    const card = tab.getByRole("dialog", { name: "Source 1: The weather in Paris" });
    await card.getByText("Found by get_weather").waitFor();
    expect(await card.innerText()).toContain("15C");
    await takeScreenshot(tab, "answers-reference");
    await tab.mouse.move(5, 5);
    await card.waitFor({ state: "detached" });
    await chip.click();
    const found = answer.locator("[data-call]");
    await expect.poll(() => found.evaluate((one) => one === document.activeElement)).toBe(true);
    await getCallButton(answer, /^get_weather Paris/)
      .and(tab.locator("[aria-expanded=true]"))
      .waitFor();
    await takeScreenshot(tab, "answers-reference-target");
  });

  test("shows an image on keyboard focus", async () => {
    const { tab, answer } = await openAnswered('draw_picture of "a house"');
    const chip = answer.getByRole("button", { name: /^Source 1/ }).first();
    await answer.getByRole("button", { name: /^Enlarge/ }).focus();
    for (let presses = 0; presses < 3; presses += 1)
      if (!(await chip.evaluate((one) => one === document.activeElement)))
        await tab.keyboard.press("Tab");
    await expect.poll(() => chip.evaluate((one) => one === document.activeElement)).toBe(true);
    const card = tab.getByRole("dialog", { name: /^Source 1/ });
    const cardImage = card.getByRole("img");
    await expect
      .poll(() => cardImage.evaluate((image: HTMLImageElement) => image.naturalWidth))
      .toBe(64);
    await takeScreenshot(tab, "answers-reference-image");
    await tab.keyboard.press("Escape");
    await card.waitFor({ state: "detached" });
  });

  test("to a result of a sub-agent expands the sub-agent and goes to the call", async () => {
    const { tab, answer } = await openAnswered("ask forecaster about the weather in Paris");
    await answer
      .getByRole("button", { name: /^Source 1: The weather in Paris/ })
      .first()
      .click();
    const found = answer.locator("[data-call] [data-call]").filter({ hasText: "get_weather" });
    await expect.poll(() => found.evaluate((one) => one === document.activeElement)).toBe(true);
    // It is in view and stays there.
    await expect.poll(() => found.evaluate(isTopInView)).toBe(true);
    await takeScreenshot(tab, "answers-reference-sub-agent");
  });

  test("to an earlier answer shows its source and goes to that answer", async () => {
    const { tab } = await openAnswered("What is the weather in Paris?");
    await sendMessage(tab, "say exactly\n```\nAs I said [^1], not [^9].\n```");
    const second = getAnswers(tab).nth(1);
    const chip = second.getByRole("button", { name: "Source 1: The weather in Paris" }).first();
    await chip.hover();
    const card = tab.getByRole("dialog", { name: "Source 1: The weather in Paris" });
    await card.getByText("Found by get_weather").waitFor();
    await second.getByText("1 source", { exact: true }).waitFor();
    await second.getByRole("button", { name: "Source 9 not found" }).waitFor();
    await takeScreenshot(tab, "answers-reference-earlier");
    await chip.click();
    const found = getAnswers(tab).first().locator("[data-call]");
    await expect.poll(() => found.evaluate((one) => one === document.activeElement)).toBe(true);
  });

  test("without a source is marked as such", async () => {
    const { tab, answer } = await openAnswered(
      "say exactly\n```\nThe sea is green [^7], they say.\n```",
    );
    const chip = answer.getByRole("button", { name: "Source 7 not found" });
    expect(await chip.innerText()).toBe("7?");
    await chip.click();
    await tab.getByText("The model cites a number that no tool returned.").waitFor();
    await takeScreenshot(tab, "answers-reference-unresolved");
  });
});
