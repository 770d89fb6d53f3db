import { defineAgent, defineTool } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { getAnswers } from "./chat-actions.ts";
import { sendMessage } from "./browser-fixture.ts";

let release = () => {};

/** Runs until `releaseBlockingTool` is called. */
const blockingTool = defineTool({
  name: "block_answer",
  description: "Waits until the test releases it.",
  input: { type: "object", properties: {} },
  effect: "pure",
  run: () =>
    new Promise<string>((resolve) => {
      release = () => resolve("Released.");
    }),
});

/** An agent that can call the blocking tool. */
export const blockingAgent = defineAgent({
  name: "blocker",
  instructions: "You wait.",
  model: "lab/clean",
  tools: [blockingTool],
});

/** Sends a message to the agent and waits until its tool runs. */
export async function startBlockingTool(tab: Page, words = "block_answer"): Promise<void> {
  await sendMessage(tab, words);
  await getAnswers(tab)
    .first()
    .getByRole("button", { name: /^block_answer.*Running/ })
    .waitFor();
}

export function releaseBlockingTool(): void {
  release();
}
