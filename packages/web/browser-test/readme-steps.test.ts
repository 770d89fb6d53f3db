import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { testGateway } from "./gateway.ts";
import { getAnswers, waitForAnswers, getMessages } from "./chat-actions.ts";
import { sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* The first steps of README.md on the page of an unconfigured gateway. */

const fixture = setupBrowserFixture({});
const readme = readFileSync(join(import.meta.dirname, "..", "..", "..", "README.md"), "utf8").split(
  "\n",
);

/** Returns the prompt of the row with this result in the README's table. */
function findPrompt(result: RegExp): string {
  const row = readme.find((line) => line.startsWith("|") && result.test(line)) ?? "";
  const [, text] = /`([^`]+)`/.exec(row) ?? [];
  if (text === undefined) throw new Error(`README.md has no row with a prompt for ${result}`);
  return text;
}

async function newTab(): Promise<Page> {
  const gateway = await testGateway("");
  onTestFinished(() => gateway.close());
  return (await fixture.newUser({}, gateway.url)).tab();
}

describe("README.md", () => {
  test("its first prompt is answered by two tool calls with references", async () => {
    const tab = await newTab();
    await sendMessage(tab, findPrompt(/two tool calls in parallel/));
    const answer = await waitForAnswers(tab, 1);
    await answer.getByText("2 parallel tool calls").first().waitFor();
    await answer.getByText("The weather in Rome", { exact: true }).waitFor();
    await takeScreenshot(tab, "readme-first-answer");
  });

  test("its second prompt waits for an approval", async () => {
    const tab = await newTab();
    await sendMessage(tab, findPrompt(/a tool that waits for you/));
    await tab.getByRole("button", { name: "Approve", exact: true }).first().click();
    const answer = await waitForAnswers(tab, 1);
    await answer.getByText(/hello/).first().waitFor();
    await takeScreenshot(tab, "readme-approval");
  });

  test("an answer continues after a reload, as it says", async () => {
    const tab = await newTab();
    await sendMessage(tab, findPrompt(/continues while the page is closed/));
    await expect.poll(() => getAnswers(tab).count()).toBe(1);
    await tab.reload();
    await expect.poll(() => getMessages(tab).count()).toBe(1);
    await waitForAnswers(tab, 1);
  });
});
