import { defineAgent, defineTool } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { answers } from "./in-chat.ts";
import { say } from "./stage.ts";

let open = () => {};

/** Runs until a test lets it end. */
const holdDoor = defineTool({
  name: "hold_door",
  description: "Holds a door until somebody has gone through.",
  input: { type: "object", properties: {} },
  effect: "pure",
  run: () =>
    new Promise<string>((resolve) => {
      open = () => resolve("Somebody went through.");
    }),
});

/** Somebody whose answer runs for as long as a test wants. */
export const doorman = defineAgent({
  name: "doorman",
  instructions: "You hold doors.",
  model: "lab/clean",
  tools: [holdDoor],
});

/** Asks the doorman of this chat, and waits until the tool runs. */
export async function holdTheDoor(tab: Page, words = "hold_door"): Promise<void> {
  await say(tab, words);
  await answers(tab)
    .first()
    .getByRole("button", { name: /^hold_door.*Running/ })
    .waitFor();
}

export function openDoor(): void {
  open();
}
