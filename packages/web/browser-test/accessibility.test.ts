import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, defineTool } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { viewVariants, createAxeChecker } from "./accessibility.ts";
import { getMessages, getMoreButton, chooseMenuItem } from "./chat-actions.ts";
import {
  sendAndWaitForAnswer,
  waitForAnswerEnd,
  lastAnswer,
  setupBrowserFixture,
} from "./browser-fixture.ts";

/** Reports progress until it is stopped. */
const fillBath = defineTool({
  name: "fill_bath",
  description: "Fills a bath.",
  input: { type: "object", properties: {} },
  effect: "pure",
  // A tool whose result may be held reports no progress.
  approval: { result: "never" },
  run: async (_, context) => {
    for (;;) {
      context.progress("half full", 0.5);
      await sleep(50, undefined, { signal: context.signal });
    }
  },
});
const plumber = defineAgent({
  name: "plumber",
  instructions: "You fill baths.",
  model: "lab/clean",
  tools: [fillBath],
});

const fixture = setupBrowserFixture({ agents: [plumber] });

describe("temporary views are accessible:", () => {
  test.each(Object.entries(viewVariants))(
    "find bar, menus and message editor (%s)",
    async (variant, options) => {
      const tab = await (await fixture.newUser(options)).tab(await fixture.createChat());
      const { violations, check } = createAxeChecker(tab, variant);
      await sendAndWaitForAnswer(tab, "Show me markdown with a table, code and math");
      await waitForAnswerEnd(tab);

      await tab.keyboard.press("Control+f");
      const find = tab.getByRole("searchbox", { name: "Find in this chat" });
      const waitForStatus = (hasText: string) =>
        tab.getByRole("status").filter({ hasText }).waitFor();
      await find.fill("markdown");
      await waitForStatus("of 2");
      await check("find");
      await find.fill("a word that does not occur");
      await waitForStatus("No matches");
      await check("find-nothing");
      await find.press("Escape");
      await find.waitFor({ state: "detached" });

      for (const [view, button] of [
        ["menu-of-chat", tab.getByRole("button", { name: "Actions for this chat" })],
        ["menu-of-answer", getMoreButton(lastAnswer(tab))],
        ["menu-of-message", getMoreButton(getMessages(tab).first())],
        ["menu-of-tools", tab.getByTitle(/^Tools:/)],
      ] as const) {
        await button.click();
        await tab.getByRole("menu").waitFor();
        await check(view);
        await tab.keyboard.press("Escape");
        await tab.getByRole("menu").waitFor({ state: "detached" });
      }

      const message = getMessages(tab).first();
      if (variant === "phone") await chooseMenuItem(getMoreButton(message), "Edit");
      else await message.getByRole("button", { name: "Edit", exact: true }).click();
      const editor = tab.getByRole("textbox", { name: "Edit your message" });
      await editor.fill("Show me a table");
      await check("editor");
      await editor.press("Escape");
      await editor.waitFor({ state: "detached" });
      expect(violations).toEqual({});
    },
  );

  test.each(Object.entries(viewVariants))("a running tool (%s)", async (variant, options) => {
    const tab = await (
      await fixture.newUser(options)
    ).tab(await fixture.createChat({ agent: "plumber" }));
    const { violations, check } = createAxeChecker(tab, variant);
    const answer = await sendAndWaitForAnswer(tab, "fill_bath");
    const progress = answer.getByRole("progressbar", { name: "Progress of fill_bath" });
    await progress.waitFor();
    await check("running");
    await answer.getByRole("button", { name: /^fill_bath/ }).click();
    await check("running-open");
    expect(await progress.count()).toBe(1);
    expect(violations).toEqual({});
  });
});
