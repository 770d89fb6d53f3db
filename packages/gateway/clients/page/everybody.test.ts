import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ask, endedAnswer, focusedIn, lastAnswer, staged, tabTo, takePicture } from "./stage.ts";

const stage = staged({ paceMs: 2 });
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

test("a whole conversation goes without a mouse", async () => {
  const person = await stage.person();
  const tab = await person.tab();
  const keys = tab.keyboard;
  const dialog = tab.getByRole("dialog");
  const focusIs = async (name: string | RegExp): Promise<void> => {
    await expect.poll(() => focusedIn(tab)).toMatch(name);
  };
  await tab.getByRole("region", { name: "Things to try" }).waitFor();

  // Whoever comes can write at once, and skip to the content from the top.
  await focusIs(/^Message$/);
  await tabTo(tab, "Skip to the content", "Shift+Tab");
  await takePicture(tab, "keys-skip");
  await keys.press("Enter");
  expect(await tab.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  await keys.press("i");
  await focusIs(/^Message$/);
  await keys.type("Show me a table");
  await keys.press("Enter");
  await tab.getByRole("article", { name: /^Answer of/ }).waitFor();
  await endedAnswer(tab);

  // Through what was said, and to what can be done with it.
  await keys.press("Alt+ArrowUp");
  await focusIs(/^(?:Answer of|You)/);
  await keys.press("k");
  await focusIs(/^You/);
  await keys.press("j");
  await focusIs(/^Answer of/);
  await takePicture(tab, "keys-message");
  await keys.press("c");
  await tab.getByText("Copied").first().waitFor();
  expect(await tab.evaluate(() => navigator.clipboard.readText())).toContain("|");
  await keys.press("r");
  await tab.getByText("2/2").first().waitFor();
  await endedAnswer(tab);

  // Every command by its name, and the focus is back where it was.
  await keys.press("Control+k");
  await dialog.getByRole("combobox").waitFor();
  await keys.type("prefer");
  await takePicture(tab, "keys-palette");
  await keys.press("Enter");
  await tab.getByRole("dialog", { name: "Preferences" }).waitFor();
  await takePicture(tab, "keys-preferences");
  await keys.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await tab.getByRole("main").focus();
  await keys.press("?");
  const shortcuts = tab.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const name of ["Command palette", "Write a message", "Show approvals", "Next message"])
    await shortcuts.getByText(name, { exact: true }).first().waitFor();
  await takePicture(tab, "keys-shortcuts");
  await keys.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await tab.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  await keys.press("n");
  await tab.getByRole("region", { name: "Things to try" }).waitFor();
});

describe("in Chinese", () => {
  /** All words that are shown or read out, but those of models, agents and people. */
  function latinIn(tab: Page): Promise<string[]> {
    return tab.evaluate(() => {
      const texts: string[] = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() !== null) {
        const { parentElement, textContent } = walker.currentNode;
        if (parentElement?.closest("code, pre, kbd, article, option, noscript") === null)
          texts.push(textContent ?? "");
      }
      for (const each of document.body.querySelectorAll("[aria-label], [title], [placeholder]"))
        if (each.closest("article") === null)
          for (const name of ["aria-label", "title", "placeholder"])
            texts.push(each.getAttribute(name) ?? "");
      return texts.filter((text) => /[A-Za-z]{3,}/.test(text));
    });
  }
  /** Names, what the demo has said, and what stays as it is in any language. */
  const names =
    /^\{[^]*\}$|I call .*|.*The m.*…|null|get_weather|Paris|Oslo|text:|Ask|Deltawire|Codex|demo-agent|forecaster|messenger|lab(?:\/[\w-]+)?|DELTAWIRE_TOKEN|SQLite|JSON|HTML|Markdown|OpenAI|PDF|Chat Completions|Responses|Ctrl|Shift|Alt|Enter|Esc|Tab|config\.toml|npm start|migrate|generic|API|send_message|Bob|IANA|base64|top_p|temperature|http\S+/gi;

  async function english(tab: Page): Promise<string[]> {
    const found = (await latinIn(tab)).map((text) => text.replaceAll(names, ""));
    return [...new Set(found.filter((text) => /[A-Za-z]{3,}/.test(text)))];
  }

  test("no word of another language is left in any view", async () => {
    const person = await stage.person({ locale: "zh-CN" });
    const tab = await person.tab();
    const left: Record<string, string[]> = {};
    const check = async (view: string) => {
      const found = await english(tab);
      if (found.length > 0) left[view] = found;
      await takePicture(tab, `chinese-${view}`);
    };
    await tab.getByRole("button", { name: "发送" }).waitFor();
    expect(await tab.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
    await check("start");

    const hash = await stage.chat();
    await tab.goto(`${stage.gateway.url}/${hash}`);
    const box = tab.getByRole("textbox", { name: "消息", exact: true });
    await box.fill('请 send_message 给 Bob："你好"');
    await box.press("Enter");
    await tab.getByRole("button", { name: "批准", exact: true }).waitFor();
    await check("approval");
    await tab.getByRole("button", { name: /^审批：1/ }).click();
    await check("tray");
    await tab.getByRole("button", { name: "批准", exact: true }).first().click();
    await tab.getByRole("article").and(tab.locator(":not([aria-busy])")).nth(1).waitFor();
    await check("chat");

    await tab.keyboard.press("Control+k");
    await tab.getByRole("combobox").waitFor();
    await check("palette");
    await tab.keyboard.press("Escape");
    await tab.keyboard.press("Control+;");
    await tab.getByRole("dialog").waitFor();
    await check("settings");
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });
    await tab.goto(`${stage.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem").first().waitFor();
    await check("tree");
    await tab.goto(`${stage.gateway.url}/#/upstreams`);
    await tab.getByRole("region", { name: "lab", exact: true }).waitFor();
    await check("upstreams");
    expect(left).toEqual({});
  });

  test("it is chosen under preferences, holds at once and after a reload", async () => {
    const person = await stage.person();
    const tab = await person.tab();
    await tab.getByRole("banner").getByRole("button", { name: "More" }).click();
    await tab.getByRole("menuitem", { name: /^Preferences/ }).click();
    await tab.getByLabel("Language").selectOption("中文");
    await tab.getByRole("dialog", { name: "偏好设置" }).waitFor();
    await tab.reload();
    await tab.getByRole("button", { name: "发送" }).waitFor();
  });
});

describe("scripts", () => {
  const cases = [
    { language: "arabic", words: "مرحبا، كيف حالك؟", says: /نموذج العرض/, direction: "rtl" },
    { language: "hebrew", words: "שלום, מה שלומך?", says: /מודל ההדגמה/, direction: "rtl" },
    { language: "chinese", words: "你好，你是谁？", says: /演示模型/, direction: "ltr" },
    { language: "english", words: "Hello there", says: /I am a/, direction: "ltr" },
  ];
  test.each(cases)("$language runs $direction", async ({ language, words, says, direction }) => {
    const person = await stage.person();
    const tab = await person.tab(await stage.chat({ model: "lab/clean" }));
    await ask(tab, words);
    const answer = await endedAnswer(tab);
    const said = tab.getByRole("article", { name: "You" }).getByText(words);
    for (const text of [said, answer.getByText(says).first()])
      await expect
        .poll(() => text.evaluate((element) => getComputedStyle(element).direction))
        .toBe(direction);
    // The page itself stays as its language is read.
    expect(await tab.evaluate(() => getComputedStyle(document.body).direction)).toBe("ltr");
    await takePicture(tab, `script-${language}`);
  });
});

test("the appearance is the system's until another is chosen, which holds after a reload", async () => {
  const person = await stage.person({ colorScheme: "dark" });
  const tab = await person.tab();
  const background = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await tab.getByRole("region", { name: "Things to try" }).waitFor();
  const dark = await background();
  await tab.emulateMedia({ colorScheme: "light" });
  await expect.poll(background).not.toBe(dark);
  const light = await background();
  await tab.getByRole("banner").getByRole("button", { name: "More" }).click();
  await tab.getByRole("menuitem", { name: "Switch between light and dark" }).click();
  await expect.poll(background).toBe(dark);
  await tab.reload();
  await tab.getByRole("region", { name: "Things to try" }).waitFor();
  expect(await background()).toBe(dark);
  expect(light).not.toBe(dark);
});

test("on a phone nothing has to be scrolled sideways", async () => {
  const person = await stage.person(phone);
  const tab = await person.tab();
  const wide: string[] = [];
  const check = async (view: string) => {
    // Code and tables have scrollers of their own; the page and its content have none.
    const sizes = await tab.evaluate(() =>
      [document.documentElement, document.querySelector("main") ?? document.body].map(
        ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth,
      ),
    );
    if (sizes.some((more) => more > 0)) wide.push(`${view}: ${sizes.join(", ")}`);
    await takePicture(tab, `phone-${view}`);
  };
  await tab.getByRole("region", { name: "Things to try" }).waitFor();
  await check("start");
  await tab.getByRole("button", { name: "Show the list of chats" }).click();
  const list = tab.getByRole("navigation", { name: "Chats", exact: true });
  await list.waitFor();
  await check("list");
  await tab.keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  const hash = await stage.chat();
  await tab.goto(`${stage.gateway.url}/${hash}`);
  await tab.reload();
  await ask(tab, "Show me markdown with a table, code and math");
  await endedAnswer(tab);
  await check("markdown");
  await ask(
    tab,
    `say exactly\n\`\`\`\n${"a".repeat(300)} ${"https://example.com/".repeat(9)}\n\`\`\``,
  );
  await endedAnswer(tab);
  await check("long-words");
  await ask(tab, 'ask forecaster to ask messenger to send_message to Bob: "It is sunny"');
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
  await check("sub-agents");
  await tab.getByRole("button", { name: /answers\. Settings of the chat/ }).click();
  await tab.getByRole("dialog").waitFor();
  await check("settings");
  await tab.keyboard.press("Escape");
  await tab.goto(`${stage.gateway.url}/${hash}/tree`);
  await tab.getByRole("treeitem").first().waitFor();
  await check("tree");
  await tab.goto(`${stage.gateway.url}/#/upstreams`);
  await tab.getByRole("region", { name: "Connect Codex" }).waitFor();
  await check("upstreams");
  expect(wide).toEqual([]);
});

test("for who asked for less motion nothing moves, not even while an answer comes", async () => {
  const person = await stage.person({ reducedMotion: "reduce" });
  const tab = await person.tab(await stage.chat());
  await ask(tab, "long 200");
  await expect.poll(async () => (await lastAnswer(tab).innerText()).length).toBeGreaterThan(200);
  const moving = await tab.evaluate(
    () =>
      document
        .getAnimations()
        .filter(({ effect }) => Number(effect?.getComputedTiming().duration ?? 0) > 0).length,
  );
  expect(moving).toBe(0);
  await endedAnswer(tab);
});
