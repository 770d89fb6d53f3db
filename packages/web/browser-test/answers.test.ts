import { defineAgent, defineTool } from "@deltawire/agent";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { PausableModel } from "./pausable-model.ts";
import { openAnsweredChat, getCallButton, waitForAnswers } from "./chat-actions.ts";
import { lastAnswer, sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Tool calls and sub-agents in answers. */

let finishDigging = () => {};
/** Reports progress until the test calls `finishDigging`. */
const digTunnel = defineTool<{ to: string }>({
  name: "dig_tunnel",
  description: "Digs a tunnel.",
  input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  effect: "pure",
  // A tool whose result may be held reports no progress.
  approval: { result: "never" },
  run: async ({ to }, context) => {
    const { signal } = context;
    // Progress is not stored, so a page that is opened later shows the next report.
    const reporting = setInterval(() => context.progress("halfway there", 0.5), 50);
    await new Promise<void>((resolve) => {
      finishDigging = resolve;
      signal.addEventListener("abort", () => resolve());
    });
    clearInterval(reporting);
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

const fixture = setupBrowserFixture({
  agents: [owner, foreman, digger],
  toml: '[models]\npriced = { use = "lab/clean", price_input = 1000, price_output = 2000 }\n',
});

async function openChatAndSend(
  text: string,
  agent = "demo-agent",
): Promise<{ tab: Page; answer: Locator }> {
  const tab = await (await fixture.newUser()).tab(await fixture.createChat({ agent }));
  await sendMessage(tab, text);
  return { tab, answer: lastAnswer(tab) };
}

const openAnswered = (text: string) => openAnsweredChat(fixture, text);

describe("a tool call", () => {
  test("shows its arguments, outcome and duration, and more when it is expanded", async () => {
    const { tab, answer } = await openAnswered("What is the weather in Paris and Rome?");
    const group = answer.getByRole("group", { name: "2 parallel tool calls" });
    expect(
      await group.getByRole("button", { name: /^get_weather (Paris|Rome) .*Done/ }).count(),
    ).toBe(2);
    const paris = getCallButton(group, /^get_weather Paris/);
    expect(await paris.getAttribute("aria-expanded")).toBe("false");
    await paris.click();
    expect(await group.innerText()).toMatch(
      /Arguments\s+\{\s+"city": "Paris"\s+\}[^]*Result[^]*"temperature": "15C"/,
    );
    await takeScreenshot(tab, "answers-call");
  });

  test("shows its arguments while they stream, its status and its progress", async () => {
    const { tab, answer } = await openChatAndSend('dig_tunnel to "the sea"', "owner");
    const line = getCallButton(answer, /^dig_tunnel the sea Running [\d.]+ s$/);
    await line.waitFor();
    const progress = answer.getByRole("progressbar", { name: "Progress of dig_tunnel" });
    await progress.waitFor();
    expect(await progress.evaluate((bar: HTMLProgressElement) => bar.value)).toBe(0.5);
    expect(await progress.getAttribute("aria-valuetext")).toBe("50%");
    await answer.getByText("50%", { exact: true }).waitFor();
    await answer.getByText("halfway there").waitFor();
    await takeScreenshot(tab, "answers-running");
    // The text after the percentage does not move, however many digits the percentage has.
    const measureTextLeft = (percent: string) =>
      answer.locator(".answer-progress").evaluate((element, text) => {
        const [number, label] = element.querySelectorAll("span");
        if (number !== undefined) number.textContent = text;
        return label?.getBoundingClientRect().left;
      }, percent);
    expect(await measureTextLeft("100%")).toBe(await measureTextLeft("1%"));
    await measureTextLeft("50%");
    await tab.emulateMedia({ colorScheme: "dark" });
    await tab.setViewportSize({ width: 390, height: 844 });
    await takeScreenshot(tab, "answers-running-phone-dark");
    await tab.setViewportSize({ width: 1280, height: 800 });
    finishDigging();
    await waitForAnswers(tab, 1);
    await getCallButton(answer, /^dig_tunnel the sea Done [\d.]+ s$/).waitFor();
    expect(await progress.count()).toBe(0);
    expect(await answer.innerText()).toContain("The tunnel to the sea is dug.");
  });

  test("shows its last progress after a reload and in another tab", async () => {
    const { tab, answer } = await openChatAndSend('dig_tunnel to "the sea"', "owner");
    await answer.getByText("halfway there").waitFor();
    await tab.reload();
    const other = await tab.context().newPage();
    await other.goto(tab.url());
    for (const each of [tab, other]) {
      const progress = lastAnswer(each).getByRole("progressbar", {
        name: "Progress of dig_tunnel",
      });
      await progress.waitFor();
      expect(await progress.evaluate((bar: HTMLProgressElement) => bar.value)).toBe(0.5);
      await lastAnswer(each).getByText("halfway there").waitFor();
    }
    finishDigging();
    await waitForAnswers(tab, 1);
    expect(await lastAnswer(tab).getByRole("progressbar").count()).toBe(0);
  });

  test("updates its elapsed time", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    const progress = await recordProgress(tab);
    await sendMessage(tab, "slow_count to 2");
    await waitForAnswers(tab, 1);
    expect(await progress()).toContain(0.5);
    // It counts twice a second.
    await getCallButton(lastAnswer(tab), /^slow_count 2 Done [1-9][\d.]* s$/).waitFor();
  });

  test("that fails does not stop the answer", async () => {
    const { tab, answer } = await openChatAndSend('fail_on_purpose because "I say so"');
    await waitForAnswers(tab, 1);
    await getCallButton(answer, /^fail_on_purpose I say so Failed/).waitFor();
    expect(await answer.getByRole("button", { name: "Show to model" }).count()).toBe(0);
  });

  test("that fails waits for a review if the settings of the chat require it", async () => {
    const hash = await fixture.createChat({ agent: "demo-agent", result_approval: "on_error" });
    const tab = await (await fixture.newUser()).tab(hash);
    await sendMessage(tab, 'fail_on_purpose because "I say so"');
    const answer = lastAnswer(tab);
    const question = answer.getByRole("group", { name: /result of fail_on_purpose/ });
    await question.getByText("The tool failed. You see failures before").waitFor();
    await getCallButton(answer, /Failed, waiting for you$/).waitFor();
    await takeScreenshot(tab, "answers-failure-held");
    await question.getByRole("button", { name: "Show to model" }).click();
    await waitForAnswers(tab, 1);
    const line = getCallButton(answer, /^fail_on_purpose I say so Failed/);
    await line.click();
    const card = answer.locator("[data-call]");
    expect(await card.innerText()).toMatch(/Error[^]*failed on purpose: I say so/);
    await takeScreenshot(tab, "answers-failed");
  });

  test("shows its image without being expanded, and enlarges it when pressed", async () => {
    const { tab, answer } = await openAnswered('draw_picture of "a house by the sea"');
    const image = answer.getByRole("img", { name: "Image 1" });
    await expect
      .poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth))
      .toBe(64);
    await takeScreenshot(tab, "answers-image");
    await answer.getByRole("button", { name: "Enlarge Image 1" }).click();
    await tab.getByRole("dialog", { name: "Image 1" }).getByRole("img").waitFor();
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });
  });
});

describe("long arguments", () => {
  const pausableModel = new PausableModel();
  const slow = setupBrowserFixture({ pausableModel });

  test("are visible while the model is still writing them", async () => {
    const tab = await (await slow.newUser()).tab(await slow.createChat());
    const description = "a house by the sea with forty windows, a garden and a roof of red tiles";
    const line = getCallButton(lastAnswer(tab), /^draw_picture .*Preparing/);
    const readArguments = async () => ((await line.textContent()) ?? "").replace(/Preparing$/, "");
    pausableModel.pauseAfter(3, "tool_calls");
    await sendMessage(tab, `draw_picture of "${description}"`);
    for (const events of [5, 7, 9]) {
      const before = await readArguments();
      pausableModel.pauseAfter(events, "tool_calls");
      const hasGrown = (now: string) => now.length > before.length && now.startsWith(before);
      await expect.poll(readArguments).toSatisfy(hasGrown);
    }
    await takeScreenshot(tab, "answers-preparing");
    pausableModel.resume();
    await getCallButton(lastAnswer(tab), /^draw_picture .*red tiles Done/).waitFor();
  });
});

/** Records the values of a progress bar. */
async function recordProgress(tab: Page): Promise<() => Promise<number[]>> {
  const values = await tab.evaluateHandle(() => {
    const seen: number[] = [];
    const recordValue = () => {
      const value = document.querySelector("progress")?.value;
      if (value !== undefined && value !== seen.at(-1)) seen.push(value);
    };
    new MutationObserver(recordValue).observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
    });
    return seen;
  });
  return () => values.jsonValue();
}

describe("a sub-agent", () => {
  test("is one collapsed line with its activity, and can be stopped without the answer", async () => {
    const { tab, answer } = await openChatAndSend('ask digger to dig_tunnel to "the sea"', "owner");
    const line = getCallButton(answer, /^Sub-agent digger dig_tunnel the sea .*Running/);
    await line.waitFor();
    expect(await line.getAttribute("aria-expanded")).toBe("false");
    await takeScreenshot(tab, "answers-sub-agent");
    await line.click();
    await answer.getByText("halfway there").waitFor();
    await getCallButton(answer, /^dig_tunnel the sea Running/).waitFor();
    await takeScreenshot(tab, "answers-sub-agent-open");
    await answer.getByRole("button", { name: "Stop digger" }).press("Enter");
    await waitForAnswers(tab, 1);
    const stopped = getCallButton(answer, /^Sub-agent digger .*Canceled/);
    expect(await stopped.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await answer.innerText()).not.toMatch(/^Stopped/m);
  });

  test("shows its usage and contains its own sub-agent", async () => {
    const { tab, answer } = await openChatAndSend(
      'ask foreman to ask digger to dig_tunnel to "the hills"',
      "owner",
    );
    const outer = getCallButton(answer, /^Sub-agent foreman digger: dig_tunnel the hills/);
    await outer.waitFor();
    await takeScreenshot(tab, "answers-depth-2");
    await outer.click();
    const inner = getCallButton(answer, /^Sub-agent digger dig_tunnel the hills/);
    await inner.click();
    await getCallButton(answer, /^dig_tunnel the hills Running/).waitFor();
    await takeScreenshot(tab, "answers-depth-2-open");
    finishDigging();
    await waitForAnswers(tab, 1);
    await getCallButton(
      answer,
      /^Sub-agent foreman .*\d steps · [\d.]+K? tokens( · cost [\d.]+)? Done/,
    ).waitFor();
    await getCallButton(
      answer,
      /^Sub-agent digger .*\d steps? · [\d.]+K? tokens · cost [\d.]+ Done/,
    ).waitFor();
    await answer.getByTitle("Tokens and cost").click();
    const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
    expect(await rows.innerText()).toMatch(/including sub-agents\s+\d/);
  });

  test("that is nested in another one fits on a phone", async () => {
    const user = await fixture.newUser({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      colorScheme: "dark",
    });
    const tab = await user.tab(await fixture.createChat({ agent: "owner" }));
    await sendMessage(tab, 'ask foreman to ask digger to dig_tunnel to "the hills"');
    const answer = lastAnswer(tab);
    await getCallButton(answer, /^Sub-agent foreman/).tap();
    await getCallButton(answer, /^Sub-agent digger/).tap();
    await answer.getByText("halfway there").waitFor();
    await takeScreenshot(tab, "answers-phone-dark");
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    finishDigging();
    await waitForAnswers(tab, 1);
  });
});

describe("a finished answer", () => {
  test.each([
    "What is the weather in Paris and Rome?",
    'draw_picture of "a house"',
    "ask forecaster about the weather in Paris",
    "think about this, then show a table, code and mathematics",
  ])("is the same after a reload: %s", async (text) => {
    const { tab } = await openAnswered(text);
    await tab.getByTitle("Usage of this chat, including all versions").waitFor();
    const snapshotAnswer = async () => {
      const answer = lastAnswer(tab);
      await expect
        .poll(() => answer.locator("code:visible", { hasText: "\\sqrt" }).count())
        .toBe(0);
      const collapsed = answer.locator("button[aria-expanded=false]:not([aria-haspopup])");
      while ((await collapsed.count()) > 0) await collapsed.first().click();
      return answer.ariaSnapshot();
    };
    const before = await snapshotAnswer();
    await tab.reload();
    await waitForAnswers(tab, 1);
    await expect.poll(snapshotAnswer).toBe(before);
  });
});
