import { defineAgent, defineTool } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { waitForAnswers, chooseMenuItem } from "./chat-actions.ts";
import { sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Statistics of answers, variables, and the review of tool results. */

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

const fixture = setupBrowserFixture({ agents: [reader] });
const getMenuButton = (tab: Page, name = "Actions for this chat") =>
  tab.getByRole("button", { name });

describe("the statistics of an answer", () => {
  test("are shown with its tokens: the numbers of requests and calls, and the times", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    await sendMessage(tab, 'fail_on_purpose because "I say so"');
    const answer = await waitForAnswers(tab, 1);
    await answer.getByTitle("Tokens and cost").click();
    const rows = tab.getByRole("dialog", { name: "Tokens and cost" });
    await rows.getByText("Model requests").waitFor();
    const text = await rows.innerText();
    expect(text).toMatch(/Time\s+[\d.]+ s\s+spent on the model\s+[\d.]+ s/);
    expect(text).toMatch(/Model requests\s+2\s+Tool rounds\s+1\s+Tool calls\s+1\s+failed\s+1/);
    await takeScreenshot(tab, "statistics");
  });

  test("are available in Chinese", async () => {
    const tab = await (await fixture.newUser({ locale: "zh-CN" })).tab(await fixture.createChat());
    const box = tab.getByRole("textbox", { name: "消息", exact: true });
    await box.fill("What is the weather in Paris?");
    await box.press("Enter");
    const answer = tab.getByRole("article").last();
    await answer.getByTitle("用量与费用").click();
    const rows = tab.getByRole("dialog", { name: "用量与费用" });
    await rows.getByText("模型请求").waitFor();
    expect(await rows.innerText()).toMatch(/工具调用\s+1/);
    await takeScreenshot(tab, "statistics-chinese");
  });
});

describe("the variables of a chat", () => {
  test("are listed with their origin and can be opened", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat({ agent: "reader" }));
    await chooseMenuItem(getMenuButton(tab), "Variables");
    const dialog = tab.getByRole("dialog", { name: "Variables in this chat" });
    await dialog.getByText("No variables yet.").waitFor();
    await tab.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await sendMessage(tab, 'read_report of "May"');
    await waitForAnswers(tab, 1);
    await chooseMenuItem(getMenuButton(tab), "Variables");
    const show = dialog.getByRole("button", { name: "Show" });
    await show.waitFor();
    expect(await dialog.innerText()).toMatch(
      /\{\{var:\w+\}\}\s+result of read_report\s+6\.\dK characters/,
    );
    await show.click();
    await dialog.getByText("Report May. All is well.").waitFor();
    await takeScreenshot(tab, "variables");
    await dialog.getByRole("button", { name: "Hide" }).click();
    await dialog.getByText("Report May. All is well.").waitFor({ state: "detached" });
  });
});

test("show the error if they cannot be loaded, and can be retried", async () => {
  const tab = await (await fixture.newUser()).tab(await fixture.createChat());
  let isDown = true;
  await tab.route("**/variables", (route) =>
    isDown
      ? route.fulfill({ status: 200, contentType: "text/html", body: "<p>a proxy</p>" })
      : route.continue(),
  );
  await chooseMenuItem(getMenuButton(tab), "Variables");
  const dialog = tab.getByRole("dialog", { name: "Variables in this chat" });
  await dialog.getByText("Could not load variables:").waitFor();
  await takeScreenshot(tab, "variables-failed");
  isDown = false;
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByText("No variables yet.").waitFor();
  expect(await dialog.getByRole("alert").count()).toBe(0);
});

describe("tool results", () => {
  test("are shown for review if the chat's settings require it", async () => {
    const tab = await (await fixture.newUser()).tab(await fixture.createChat());
    const open = async () => {
      await chooseMenuItem(getMenuButton(tab), "Settings");
      const dialog = tab.getByRole("dialog", { name: "Chat settings" });
      await dialog.getByRole("tab", { name: "Tools" }).click();
      return dialog;
    };
    const dialog = await open();
    const choice = dialog.getByRole("combobox", {
      name: "Review tool results before the model sees them",
    });
    await choice.selectOption("Always");
    await choice.scrollIntoViewIfNeeded();
    await takeScreenshot(tab, "settings-results");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await sendMessage(tab, "What is the weather in Paris?");
    await tab.getByRole("button", { name: "Show to model" }).click();
    await waitForAnswers(tab, 1);
    const again = await open();
    expect(await again.getByRole("combobox", { name: /^Review tool results/ }).inputValue()).toBe(
      "always",
    );
  });

  test("have a translated setting for their review", async () => {
    const tab = await (await fixture.newUser({ locale: "zh-CN" })).tab(await fixture.createChat());
    await chooseMenuItem(getMenuButton(tab, "此对话的更多操作"), "设置");
    await tab.getByRole("tab", { name: "工具" }).click();
    const choice = tab.getByRole("combobox", { name: "工具结果先由我审核，再交给模型" });
    await choice.selectOption("仅出错时");
    expect(await choice.inputValue()).toBe("on_error");
    await takeScreenshot(tab, "settings-results-chinese");
  });
});
