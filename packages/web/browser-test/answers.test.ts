import { defineAgent, defineTool } from "@deltawire/agent";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { HeldModel } from "./held-model.ts";
import { answeredIn, callLine, endedAnswers } from "./in-chat.ts";
import { lastAnswer, say, staged, takePicture } from "./stage.ts";

/* What an agent does on its way to an answer: calls and sub-agents. */

let letGo = () => {};
/** Tells how far it is, then waits until a test lets it end. */
const digTunnel = defineTool<{ to: string }>({
  name: "dig_tunnel",
  description: "Digs a tunnel.",
  input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  effect: "pure",
  // What a result may hide nobody is told on the way.
  approval: { result: "never" },
  run: async ({ to }, context) => {
    const { signal } = context;
    // Nobody keeps it: whoever comes later sees the next one.
    const telling = setInterval(() => context.progress("half of the way", 0.5), 50);
    await new Promise<void>((resolve) => {
      letGo = resolve;
      signal.addEventListener("abort", () => resolve());
    });
    clearInterval(telling);
    signal.throwIfAborted();
    return `The tunnel to ${to} is dug.`;
  },
});
const digger = defineAgent({
  name: "digger",
  description: "Digs.",
  instructions: "You dig.",
  model: "priced",
  tools: [digTunnel],
});
const foreman = defineAgent({
  name: "foreman",
  description: "Has others dig.",
  instructions: "You have others dig.",
  model: "lab/clean",
  agents: [digger],
});
const owner = defineAgent({
  name: "owner",
  instructions: "You want a tunnel.",
  model: "lab/clean",
  tools: [digTunnel],
  agents: [foreman, digger],
});

const stage = staged({
  agents: [owner, foreman, digger],
  toml: '[models]\npriced = { use = "lab/clean", price_input = 1000, price_output = 2000 }\n',
});

async function asked(words: string, agent = "demo-agent"): Promise<{ tab: Page; answer: Locator }> {
  const tab = await (await stage.person()).tab(await stage.chat({ agent }));
  await say(tab, words);
  return { tab, answer: lastAnswer(tab) };
}

const answered = (words: string) => answeredIn(stage, words);

describe("a call", () => {
  test("says what it is called with, how it went and for how long, and shows the rest unfolded", async () => {
    const { tab, answer } = await answered("What is the weather in Paris and Rome?");
    const group = answer.getByRole("group", { name: "2 calls at once" });
    expect(
      await group.getByRole("button", { name: /^get_weather (Paris|Rome) .*Done/ }).count(),
    ).toBe(2);
    const paris = callLine(group, /^get_weather Paris/);
    expect(await paris.getAttribute("aria-expanded")).toBe("false");
    await paris.click();
    expect(await group.innerText()).toMatch(
      /Arguments\s+\{\s+"city": "Paris"\s+\}[^]*Result[^]*"temperature": "15C"/,
    );
    await takePicture(tab, "answers-call");
  });

  test("shows its arguments as they come, its status, and how far it is", async () => {
    const { tab, answer } = await asked('dig_tunnel to "the sea"', "owner");
    const line = callLine(answer, /^dig_tunnel the sea Running [\d.]+ s$/);
    await line.waitFor();
    const progress = answer.getByRole("progressbar", { name: "Progress of dig_tunnel" });
    await progress.waitFor();
    expect(await progress.evaluate((bar: HTMLProgressElement) => bar.value)).toBe(0.5);
    expect(await progress.getAttribute("aria-valuetext")).toBe("50%");
    await answer.getByText("50%", { exact: true }).waitFor();
    await answer.getByText("half of the way").waitFor();
    await takePicture(tab, "answers-running");
    // However many digits it has, what stands behind it stays where it is.
    const wordsBehind = (percent: string) =>
      answer.locator(".answer-progress").evaluate((shown, text) => {
        const [number, words] = shown.querySelectorAll("span");
        if (number !== undefined) number.textContent = text;
        return words?.getBoundingClientRect().left;
      }, percent);
    expect(await wordsBehind("100%")).toBe(await wordsBehind("1%"));
    await wordsBehind("50%");
    await tab.emulateMedia({ colorScheme: "dark" });
    await tab.setViewportSize({ width: 390, height: 844 });
    await takePicture(tab, "answers-running-phone-dark");
    await tab.setViewportSize({ width: 1280, height: 800 });
    letGo();
    await endedAnswers(tab, 1);
    await callLine(answer, /^dig_tunnel the sea Done [\d.]+ s$/).waitFor();
    expect(await progress.count()).toBe(0);
    expect(await answer.innerText()).toContain("The tunnel to the sea is dug.");
  });

  test("that says no more is shown as far as it is after a reload, and in another tab", async () => {
    const { tab, answer } = await asked('dig_tunnel to "the sea"', "owner");
    await answer.getByText("half of the way").waitFor();
    await tab.reload();
    const other = await tab.context().newPage();
    await other.goto(tab.url());
    for (const each of [tab, other]) {
      const progress = lastAnswer(each).getByRole("progressbar", {
        name: "Progress of dig_tunnel",
      });
      await progress.waitFor();
      expect(await progress.evaluate((bar: HTMLProgressElement) => bar.value)).toBe(0.5);
      await lastAnswer(each).getByText("half of the way").waitFor();
    }
    letGo();
    await endedAnswers(tab, 1);
    expect(await lastAnswer(tab).getByRole("progressbar").count()).toBe(0);
  });

  test("counts while somebody looks on", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    const progress = await watchedProgress(tab);
    await say(tab, "slow_count to 2");
    await endedAnswers(tab, 1);
    expect(await progress()).toContain(0.5);
    // Twice a second.
    await callLine(lastAnswer(tab), /^slow_count 2 Done [1-9][\d.]* s$/).waitFor();
  });

  test("that fails does not stop the answer", async () => {
    const { tab, answer } = await asked('fail_on_purpose because "I say so"');
    await endedAnswers(tab, 1);
    await callLine(answer, /^fail_on_purpose I say so Failed/).waitFor();
    expect(await answer.getByRole("button", { name: "Release" }).count()).toBe(0);
  });

  test("that fails says so, and why, where failures are shown to people first", async () => {
    const hash = await stage.chat({ agent: "demo-agent", results: "on error" });
    const tab = await (await stage.person()).tab(hash);
    await say(tab, 'fail_on_purpose because "I say so"');
    const answer = lastAnswer(tab);
    const question = answer.getByRole("group", { name: /result of fail_on_purpose/ });
    await question.getByText("It failed. Failures are shown to you before").waitFor();
    await callLine(answer, /Failed, waiting for you$/).waitFor();
    await takePicture(tab, "answers-failure-held");
    await question.getByRole("button", { name: "Release" }).click();
    await endedAnswers(tab, 1);
    const line = callLine(answer, /^fail_on_purpose I say so Failed/);
    await line.click();
    const card = answer.locator("[data-call]");
    expect(await card.innerText()).toMatch(/Problem[^]*failed as it was told to: I say so/);
    await takePicture(tab, "answers-failed");
  });

  test("gives a picture that is seen without unfolding anything, and large when pressed", async () => {
    const { tab, answer } = await answered('draw_picture of "a house by the sea"');
    const picture = answer.getByRole("img", { name: "Picture 1" });
    await expect
      .poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth))
      .toBe(64);
    await takePicture(tab, "answers-picture");
    await answer.getByRole("button", { name: "Picture 1, enlarge" }).click();
    await tab.getByRole("dialog", { name: "Picture 1" }).getByRole("img").waitFor();
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });
  });
});

describe("arguments that are long", () => {
  const held = new HeldModel();
  const slow = staged({ held });

  test("are seen while the model still writes them", async () => {
    const tab = await (await slow.person()).tab(await slow.chat());
    const words = "a house by the sea with forty windows, a garden and a roof of red tiles";
    const line = callLine(lastAnswer(tab), /^draw_picture .*Preparing/);
    const written = async () => ((await line.textContent()) ?? "").replace(/Preparing$/, "");
    held.holdAfter(3, "tool_calls");
    await say(tab, `draw_picture of "${words}"`);
    for (const events of [5, 7, 9]) {
      const before = await written();
      held.holdAfter(events, "tool_calls");
      const hasGrown = (now: string) => now.length > before.length && now.startsWith(before);
      await expect.poll(written).toSatisfy(hasGrown);
    }
    await takePicture(tab, "answers-preparing");
    held.letGo();
    await callLine(lastAnswer(tab), /^draw_picture .*red tiles Done/).waitFor();
  });
});

/** How far a bar has been, in order. */
async function watchedProgress(tab: Page): Promise<() => Promise<number[]>> {
  const values = await tab.evaluateHandle(() => {
    const seen: number[] = [];
    const look = () => {
      const value = document.querySelector("progress")?.value;
      if (value !== undefined && value !== seen.at(-1)) seen.push(value);
    };
    new MutationObserver(look).observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
    });
    return seen;
  });
  return () => values.jsonValue();
}

describe("a sub-agent", () => {
  test("is folded with a line that says what it does, and can be stopped alone", async () => {
    const { tab, answer } = await asked('ask digger to dig_tunnel to "the sea"', "owner");
    const line = callLine(answer, /^Sub-agent digger dig_tunnel the sea .*Running/);
    await line.waitFor();
    expect(await line.getAttribute("aria-expanded")).toBe("false");
    await takePicture(tab, "answers-sub-agent");
    await line.click();
    await answer.getByText("half of the way").waitFor();
    await callLine(answer, /^dig_tunnel the sea Running/).waitFor();
    await takePicture(tab, "answers-sub-agent-open");
    await answer.getByRole("button", { name: "Stop digger" }).press("Enter");
    await endedAnswers(tab, 1);
    const stopped = callLine(answer, /^Sub-agent digger .*Canceled/);
    expect(await stopped.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await answer.innerText()).not.toMatch(/^Stopped/m);
  });

  test("says what it used, and its own sub-agent is within it", async () => {
    const { tab, answer } = await asked(
      'ask foreman to ask digger to dig_tunnel to "the hills"',
      "owner",
    );
    const outer = callLine(answer, /^Sub-agent foreman digger: dig_tunnel the hills/);
    await outer.waitFor();
    await takePicture(tab, "answers-depth-2");
    await outer.click();
    const inner = callLine(answer, /^Sub-agent digger dig_tunnel the hills/);
    await inner.click();
    await callLine(answer, /^dig_tunnel the hills Running/).waitFor();
    await takePicture(tab, "answers-depth-2-open");
    letGo();
    await endedAnswers(tab, 1);
    await callLine(
      answer,
      /^Sub-agent foreman .*\d steps · [\d.]+K? tokens( · cost [\d.]+)? Done/,
    ).waitFor();
    await callLine(
      answer,
      /^Sub-agent digger .*\d steps? · [\d.]+K? tokens · cost [\d.]+ Done/,
    ).waitFor();
    await answer.getByTitle("Tokens and cost").click();
    const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
    expect(await rows.innerText()).toMatch(/of it sub-agents\s+\d/);
  });

  test("fits a phone at depth two", async () => {
    const person = await stage.person({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      colorScheme: "dark",
    });
    const tab = await person.tab(await stage.chat({ agent: "owner" }));
    await say(tab, 'ask foreman to ask digger to dig_tunnel to "the hills"');
    const answer = lastAnswer(tab);
    await callLine(answer, /^Sub-agent foreman/).tap();
    await callLine(answer, /^Sub-agent digger/).tap();
    await answer.getByText("half of the way").waitFor();
    await takePicture(tab, "answers-phone-dark");
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    letGo();
    await endedAnswers(tab, 1);
  });
});

describe("an answer that has ended", () => {
  test.each([
    "What is the weather in Paris and Rome?",
    'draw_picture of "a house"',
    "ask forecaster about the weather in Paris",
    "think about this, then show a table, code and mathematics",
  ])("is the same after a reload: %s", async (words) => {
    const { tab } = await answered(words);
    await tab.getByTitle("Used by the whole chat, all versions").waitFor();
    const seen = async () => {
      const all = lastAnswer(tab);
      await expect.poll(() => all.locator("code:visible", { hasText: "\\sqrt" }).count()).toBe(0);
      const folded = all.locator("button[aria-expanded=false]:not([aria-haspopup])");
      while ((await folded.count()) > 0) await folded.first().click();
      return all.ariaSnapshot();
    };
    const before = await seen();
    await tab.reload();
    await endedAnswers(tab, 1);
    await expect.poll(seen).toBe(before);
  });
});
