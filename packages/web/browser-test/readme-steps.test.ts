import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { testGateway } from "./gateway.ts";
import { answers, endedAnswers, messages } from "./in-chat.ts";
import { say, staged, takePicture } from "./stage.ts";

/* The first steps of README.md, typed into the page of a gateway that nobody has configured. */

const stage = staged({});
const readme = readFileSync(join(import.meta.dirname, "..", "..", "..", "README.md"), "utf8").split(
  "\n",
);

/** The prompt in the row of the README that promises `result`. */
function prompt(result: RegExp): string {
  const row = readme.find((line) => line.startsWith("|") && result.test(line)) ?? "";
  const [, text] = /`([^`]+)`/.exec(row) ?? [];
  if (text === undefined) throw new Error(`README.md has no row with a prompt for ${result}`);
  return text;
}

async function newTab(): Promise<Page> {
  const gateway = await testGateway("");
  onTestFinished(() => gateway.close());
  return (await stage.person({}, gateway.url)).tab();
}

describe("README.md", () => {
  test("its first prompt is answered by two tool calls with references", async () => {
    const tab = await newTab();
    await say(tab, prompt(/two tool calls in parallel/));
    const answer = await endedAnswers(tab, 1);
    await answer
      .getByText(/2 calls at once|2 parallel tool calls/)
      .first()
      .waitFor();
    await answer.getByText("The weather in Rome", { exact: true }).waitFor();
    await takePicture(tab, "readme-first-answer");
  });

  test("its second prompt waits for an approval", async () => {
    const tab = await newTab();
    await say(tab, prompt(/a tool that waits for you/));
    await tab.getByRole("button", { name: "Approve", exact: true }).first().click();
    const answer = await endedAnswers(tab, 1);
    await answer.getByText(/hello/).first().waitFor();
    await takePicture(tab, "readme-approval");
  });

  test("an answer goes on over a reload", async () => {
    const tab = await newTab();
    await say(tab, prompt(/goes on without the page/));
    await expect.poll(() => answers(tab).count()).toBe(1);
    await tab.reload();
    await expect.poll(() => messages(tab).count()).toBe(1);
    await endedAnswers(tab, 1);
  });
});
