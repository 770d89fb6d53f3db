import { describe, expect, test } from "vitest";
import { answeredIn, answers, callLine, topInView } from "./in-chat.ts";
import { say, staged, takePicture } from "./stage.ts";

/* What an answer cites: seen where it is cited, and found where it comes from. */

const stage = staged();
const answered = (words: string) => answeredIn(stage, words);

describe("a reference", () => {
  test("shows what it stands for to who points at it, and goes to its call when pressed", async () => {
    const { tab, answer } = await answered("What is the weather in Paris?");
    const chip = answer.getByRole("button", { name: "Source 1: The weather in Paris" });
    await chip.hover();
    expect(await answer.innerText()).not.toContain("[^");
    const card = tab.getByRole("dialog", { name: "Source 1: The weather in Paris" });
    await card.getByText("Found by get_weather").waitFor();
    expect(await card.innerText()).toContain("15C");
    await takePicture(tab, "answers-reference");
    await tab.mouse.move(5, 5);
    await card.waitFor({ state: "detached" });
    await chip.click();
    const found = answer.locator("[data-call]");
    await expect.poll(() => found.evaluate((one) => one === document.activeElement)).toBe(true);
    await callLine(answer, /^get_weather Paris/)
      .and(tab.locator("[aria-expanded=true]"))
      .waitFor();
    await takePicture(tab, "answers-reference-gone-to");
  });

  test("shows a picture to who comes to it by the keyboard", async () => {
    const { tab, answer } = await answered('draw_picture of "a house"');
    const chip = answer.getByRole("button", { name: /^Source 1/ }).first();
    await answer.getByRole("button", { name: /enlarge$/ }).focus();
    for (let presses = 0; presses < 3; presses += 1)
      if (!(await chip.evaluate((one) => one === document.activeElement)))
        await tab.keyboard.press("Tab");
    await expect.poll(() => chip.evaluate((one) => one === document.activeElement)).toBe(true);
    const card = tab.getByRole("dialog", { name: /^Source 1/ });
    const picture = card.getByRole("img");
    await expect
      .poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth))
      .toBe(64);
    await takePicture(tab, "answers-reference-picture");
    await tab.keyboard.press("Escape");
    await card.waitFor({ state: "detached" });
  });

  test("of what a sub-agent found leads into it", async () => {
    const { tab, answer } = await answered("ask forecaster about the weather in Paris");
    await answer
      .getByRole("button", { name: /^Source 1: The weather in Paris/ })
      .first()
      .click();
    const found = answer.locator("[data-call] [data-call]").filter({ hasText: "get_weather" });
    await expect.poll(() => found.evaluate((one) => one === document.activeElement)).toBe(true);
    // It is in sight, and stays there.
    await expect.poll(() => found.evaluate(topInView)).toBe(true);
    await takePicture(tab, "answers-reference-sub-agent");
  });

  test("of an earlier answer shows what that found, and goes there", async () => {
    const { tab } = await answered("What is the weather in Paris?");
    await say(tab, "say exactly\n```\nAs I said [^1], not [^9].\n```");
    const second = answers(tab).nth(1);
    const chip = second.getByRole("button", { name: "Source 1: The weather in Paris" }).first();
    await chip.hover();
    const card = tab.getByRole("dialog", { name: "Source 1: The weather in Paris" });
    await card.getByText("Found by get_weather").waitFor();
    await second.getByText("1 source", { exact: true }).waitFor();
    await second.getByRole("button", { name: "Source 9 is not there" }).waitFor();
    await takePicture(tab, "answers-reference-earlier");
    await chip.click();
    const found = answers(tab).first().locator("[data-call]");
    await expect.poll(() => found.evaluate((one) => one === document.activeElement)).toBe(true);
  });

  test("that stands for nothing is marked, and says so", async () => {
    const { tab, answer } = await answered(
      "say exactly\n```\nThe sea is green [^7], they say.\n```",
    );
    const chip = answer.getByRole("button", { name: "Source 7 is not there" });
    expect(await chip.innerText()).toBe("7?");
    await chip.click();
    await tab.getByText("The model cites a number that no tool has given.").waitFor();
    await takePicture(tab, "answers-reference-unresolved");
  });
});
