import { defineAgent, defineTool } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { endedAnswers, pick } from "./in-chat.ts";
import { say, staged, takePicture } from "./stage.ts";

/* What models and tools did for an answer, the variables that they left, and who sees results first. */

const readReport = defineTool<{ name: string }>({
  name: "read_report",
  description: "Reads a report.",
  input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  effect: "pure",
  run: ({ name }) => `Report ${name}. ${"All is well. ".repeat(500)}`,
});
const reader = defineAgent({
  name: "reader",
  instructions: "You read reports.",
  model: "lab/clean",
  tools: [readReport],
});

const stage = staged({ agents: [reader] });
const menu = (tab: Page, name = "More for this chat") => tab.getByRole("button", { name });

describe("the statistics of an answer", () => {
  test("stand with its tokens: requests, calls and times", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    await say(tab, 'fail_on_purpose because "I say so"');
    const answer = await endedAnswers(tab, 1);
    await answer.getByTitle("Tokens and cost").click();
    const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
    await rows.getByText("Model requests").waitFor();
    const text = await rows.innerText();
    expect(text).toMatch(/Time\s+[\d.]+ s\s+of it model\s+[\d.]+ s/);
    expect(text).toMatch(
      /Model requests\s+2\s+Rounds of tools\s+1\s+Tool calls\s+1\s+of them failed\s+1/,
    );
    await takePicture(tab, "statistics");
  });

  test("are in Chinese too", async () => {
    const tab = await (await stage.person({ locale: "zh-CN" })).tab(await stage.chat());
    const box = tab.getByRole("textbox", { name: "消息", exact: true });
    await box.fill("What is the weather in Paris?");
    await box.press("Enter");
    const answer = tab.getByRole("article").last();
    await answer.getByTitle("用量与费用").click();
    const rows = tab.getByRole("dialog", { name: "用量与费用" });
    await rows.getByText("模型请求").waitFor();
    expect(await rows.innerText()).toMatch(/工具调用\s+1/);
    await takePicture(tab, "statistics-chinese");
  });
});

describe("the variables of a chat", () => {
  test("are listed with where they come from, and can be opened", async () => {
    const tab = await (await stage.person()).tab(await stage.chat({ agent: "reader" }));
    await pick(menu(tab), "Variables");
    const dialog = tab.getByRole("dialog", { name: "Variables of this chat" });
    await dialog.getByText("There are none yet.").waitFor();
    await tab.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await say(tab, 'read_report of "May"');
    await endedAnswers(tab, 1);
    await pick(menu(tab), "Variables");
    const show = dialog.getByRole("button", { name: "Show" });
    await show.waitFor();
    expect(await dialog.innerText()).toMatch(
      /\{\{var:\w+\}\}\s+result of read_report\s+6\.\dK characters/,
    );
    await show.click();
    await dialog.getByText("Report May. All is well.").waitFor();
    await takePicture(tab, "variables");
    await dialog.getByRole("button", { name: "Hide" }).click();
    await dialog.getByText("Report May. All is well.").waitFor({ state: "detached" });
  });
});

test("variables that cannot be read say why, and can be tried again", async () => {
  const tab = await (await stage.person()).tab(await stage.chat());
  let isDown = true;
  await tab.route("**/variables", (route) =>
    isDown
      ? route.fulfill({ status: 200, contentType: "text/html", body: "<p>a proxy</p>" })
      : route.continue(),
  );
  await pick(menu(tab), "Variables");
  const dialog = tab.getByRole("dialog", { name: "Variables of this chat" });
  await dialog.getByText("The variables could not be read:").waitFor();
  await takePicture(tab, "variables-failed");
  isDown = false;
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByText("There are none yet.").waitFor();
  expect(await dialog.getByRole("alert").count()).toBe(0);
});

describe("results of tools", () => {
  test("are shown first if the settings say so, and the setting is remembered", async () => {
    const tab = await (await stage.person()).tab(await stage.chat());
    const open = async () => {
      await pick(menu(tab), "Settings");
      const dialog = tab.getByRole("dialog", { name: "Settings of this chat" });
      await dialog.getByRole("tab", { name: "Tools" }).click();
      return dialog;
    };
    const dialog = await open();
    const choice = dialog.getByRole("combobox", {
      name: "Ask me before the model gets a tool's result",
    });
    await choice.selectOption("Always");
    await choice.scrollIntoViewIfNeeded();
    await takePicture(tab, "settings-results");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await say(tab, "What is the weather in Paris?");
    await tab.getByRole("button", { name: "Release" }).click();
    await endedAnswers(tab, 1);
    const again = await open();
    expect(await again.getByRole("combobox", { name: /^Ask me before/ }).inputValue()).toBe(
      "always",
    );
  });

  test("can be set in Chinese", async () => {
    const tab = await (await stage.person({ locale: "zh-CN" })).tab(await stage.chat());
    await pick(menu(tab, "此对话的更多操作"), "设置");
    await tab.getByRole("tab", { name: "工具" }).click();
    const choice = tab.getByRole("combobox", { name: "把工具结果交给模型前先问我" });
    await choice.selectOption("出错时");
    expect(await choice.inputValue()).toBe("on error");
    await takePicture(tab, "settings-results-chinese");
  });
});
