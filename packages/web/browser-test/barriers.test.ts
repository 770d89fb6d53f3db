import { setTimeout as after } from "node:timers/promises";
import { defineAgent, defineTool } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { looks, watchFor } from "./barriers.ts";
import { messages, moreOf, pick } from "./in-chat.ts";
import { ask, endedAnswer, lastAnswer, staged } from "./stage.ts";

/** Tells how far it is until it is stopped. */
const fillBath = defineTool({
  name: "fill_bath",
  description: "Fills a bath.",
  input: { type: "object", properties: {} },
  effect: "pure",
  // What a result may hide nobody is told on the way.
  approval: { result: "never" },
  run: async (_, context) => {
    for (;;) {
      context.progress("half full", 0.5);
      await after(50, undefined, { signal: context.signal });
    }
  },
});
const plumber = defineAgent({
  name: "plumber",
  instructions: "You fill baths.",
  model: "lab/clean",
  tools: [fillBath],
});

const stage = staged({ agents: [plumber] });

describe("nobody is kept out of what is there for a moment", () => {
  test.each(Object.entries(looks))("%s: finding, menus, the editor", async (look, options) => {
    const tab = await (await stage.person(options)).tab(await stage.chat());
    const { barriers, check } = watchFor(tab, look);
    await ask(tab, "Show me markdown with a table, code and math");
    await endedAnswer(tab);

    await tab.keyboard.press("Control+f");
    const find = tab.getByRole("searchbox", { name: "Find in this chat" });
    const told = (hasText: string) => tab.getByRole("status").filter({ hasText }).waitFor();
    await find.fill("markdown");
    await told("of 2");
    await check("find");
    await find.fill("a word that nobody said");
    await told("Not in this chat");
    await check("find-nothing");
    await find.press("Escape");
    await find.waitFor({ state: "detached" });

    for (const [view, button] of [
      ["menu-of-chat", tab.getByRole("button", { name: "More for this chat" })],
      ["menu-of-answer", moreOf(lastAnswer(tab))],
      ["menu-of-message", moreOf(messages(tab).first())],
      ["menu-of-tools", tab.getByTitle(/^Tools:/)],
    ] as const) {
      await button.click();
      await tab.getByRole("menu").waitFor();
      await check(view);
      await tab.keyboard.press("Escape");
      await tab.getByRole("menu").waitFor({ state: "detached" });
    }

    const message = messages(tab).first();
    if (look === "phone") await pick(moreOf(message), "Edit");
    else await message.getByRole("button", { name: "Edit", exact: true }).click();
    const editor = tab.getByRole("textbox", { name: "Edit your message" });
    await editor.fill("Show me a table");
    await check("editor");
    await editor.press("Escape");
    await editor.waitFor({ state: "detached" });
    expect(barriers).toEqual({});
  });

  test.each(Object.entries(looks))("%s: a tool that runs", async (look, options) => {
    const tab = await (await stage.person(options)).tab(await stage.chat({ agent: "plumber" }));
    const { barriers, check } = watchFor(tab, look);
    const answer = await ask(tab, "fill_bath");
    const progress = answer.getByRole("progressbar", { name: "Progress of fill_bath" });
    await progress.waitFor();
    await check("running");
    await answer.getByRole("button", { name: /^fill_bath/ }).click();
    await check("running-open");
    expect(await progress.count()).toBe(1);
    expect(barriers).toEqual({});
  });
});
