import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expandAll } from "./chat-actions.ts";
import {
  sendAndWaitForAnswer,
  waitForAnswerEnd,
  getFocusedName,
  navigateTo,
  lastAnswer,
  setupBrowserFixture,
  tabTo,
  takeScreenshot,
} from "./browser-fixture.ts";

const fixture = setupBrowserFixture({ paceMs: 2 });
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

test("a complete conversation works without a mouse", async () => {
  const user = await fixture.newUser();
  const tab = await user.tab();
  const keys = tab.keyboard;
  const dialog = tab.getByRole("dialog");
  const expectFocus = async (name: string | RegExp): Promise<void> => {
    await expect.poll(() => getFocusedName(tab)).toMatch(name);
  };
  await tab.getByRole("region", { name: "Things to try" }).waitFor();

  // The composer has the focus. A link at the top skips to the content.
  await expectFocus(/^Message$/);
  await tabTo(tab, "Skip to content", "Shift+Tab");
  await takeScreenshot(tab, "keys-skip");
  await keys.press("Enter");
  expect(await tab.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  await keys.press("i");
  await expectFocus(/^Message$/);
  await keys.type("Show me a table");
  await keys.press("Enter");
  await tab.getByRole("article", { name: /^Answer from/ }).waitFor();
  await waitForAnswerEnd(tab);

  // Keys move through the messages and run their actions.
  await keys.press("Alt+ArrowUp");
  await expectFocus(/^(?:Answer from|You)/);
  await keys.press("k");
  await expectFocus(/^You/);
  await keys.press("j");
  await expectFocus(/^Answer from/);
  await takeScreenshot(tab, "keys-message");
  await keys.press("c");
  await tab.getByText("Copied").first().waitFor();
  expect(await tab.evaluate(() => navigator.clipboard.readText())).toContain("|");
  await keys.press("Control+Shift+Enter");
  await tab.getByText("2/2").first().waitFor();
  await waitForAnswerEnd(tab);

  // Commands are found by name. The focus is restored afterwards.
  await keys.press("Control+k");
  await dialog.getByRole("combobox").waitFor();
  await keys.type("prefer");
  await takeScreenshot(tab, "keys-palette");
  await keys.press("Enter");
  await tab.getByRole("dialog", { name: "Preferences" }).waitFor();
  await takeScreenshot(tab, "keys-preferences");
  await keys.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await tab.getByRole("main").focus();
  await keys.press("?");
  const shortcuts = tab.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const name of ["Command palette", "Write a message", "Show approvals", "Next message"])
    await shortcuts.getByText(name, { exact: true }).first().waitFor();
  await takeScreenshot(tab, "keys-shortcuts");
  await keys.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => tab.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  await keys.press("n");
  await tab.getByRole("region", { name: "Things to try" }).waitFor();
});

describe("in Chinese", () => {
  /** Selects elements with text of users, models and tools. */
  const messageSelectors = [
    "code, pre, kbd, textarea, noscript, .plain-text, .markdown, .blocks-text, .list-title, .list-excerpt, .chat-title",
    ".answer-call:not(.answer-sub-agent) .answer-call-summary",
  ].join();

  /** Returns all other visible or accessible texts with Latin letters, including captions of code and tables. */
  function listLatinTexts(tab: Page): Promise<string[]> {
    return tab.evaluate((messageSelectors) => {
      const texts: string[] = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() !== null) {
        const { parentElement, textContent } = walker.currentNode;
        const isFrame = parentElement?.closest("figcaption, .visually-hidden") !== null;
        if (isFrame || parentElement?.closest(messageSelectors) === null)
          texts.push(textContent ?? "");
      }
      for (const each of document.body.querySelectorAll("[aria-label], [title], [placeholder]"))
        for (const name of ["aria-label", "title", "placeholder"])
          texts.push(each.getAttribute(name) ?? "");
      return texts.filter((text) => /[A-Za-z]{3,}/.test(text));
    }, messageSelectors);
  }
  const names = [
    /\b(?:demo-agent|forecaster|messenger|lab(?:\/[\w-]+)?|generic)\b/g,
    /\b(?:get_weather|send_message|draw_picture|fail_on_purpose|slow_count|text:|Bob|Paris|Oslo|Rome)/g,
    /\b(?:Deltawire|Codex|Claude Code|Qwen Code|opencode|OpenAI|Chat Completions|Responses|SQLite|TypeScript|IANA)\b/g,
    /\b(?:API|JSON|HTML|Markdown|PDF|base64|null|top_p|temperature|low|medium|high)\b/g,
    /\b(?:DELTAWIRE_TOKEN|npm start|migrate|http\S+)|~\/\.codex\/config\.toml/g,
    /\b(?:Ctrl|Shift|Alt|Enter|Esc|Tab|English)\b/g,
  ];
  /** Texts of tools and sub-agents that occur in translated lines. */
  const quotedTexts = [
    /The weather in (?:Paris|Rome)|An image of a house by the sea/g,
    /answered: \{.*\}/g,
  ];

  async function listUntranslatedTexts(tab: Page): Promise<string[]> {
    const found = (await listLatinTexts(tab)).map((text) =>
      [...quotedTexts, ...names].reduce((rest, known) => rest.replaceAll(known, ""), text),
    );
    return [...new Set(found.filter((text) => /[A-Za-z]{3,}/.test(text)))];
  }

  /** Creates a check that collects the untranslated texts by view. */
  function createTranslationCheck(tab: Page) {
    const untranslated: Record<string, string[]> = {};
    const check = async (view: string) => {
      const found = await listUntranslatedTexts(tab);
      if (found.length > 0) untranslated[view] = found;
      await takeScreenshot(tab, `chinese-${view}`);
    };
    return { untranslated, check };
  }

  /** Sends a message and waits for the answer. */
  async function sendAndWaitForStart(tab: Page, words: string): Promise<Locator> {
    const answers = tab.getByRole("article", { name: /回答/ });
    const lastId = () => answers.evaluateAll((all) => all.at(-1)?.id);
    const box = tab.getByRole("textbox", { name: "消息", exact: true });
    await box.waitFor();
    const before = await lastId();
    await box.fill(words);
    await box.press("Enter");
    await expect.poll(lastId).toSatisfy((id) => id !== undefined && id !== before);
    return answers.last();
  }

  async function waitForEnd(tab: Page, answer: Locator): Promise<void> {
    await answer.and(tab.locator(":not([aria-busy])")).waitFor();
  }

  test("every view is translated completely", async () => {
    const user = await fixture.newUser({ locale: "zh-CN" });
    const tab = await user.tab();
    const { untranslated, check } = createTranslationCheck(tab);
    const dialog = tab.getByRole("dialog");
    await tab.getByRole("button", { name: "发送" }).waitFor();
    expect(await tab.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
    await check("start");

    await navigateTo(tab, await fixture.createChat());
    const answer = await sendAndWaitForStart(tab, '请 send_message 给 Bob："你好"');
    await tab.getByRole("button", { name: "批准", exact: true }).waitFor();
    await check("approval");
    await tab.getByRole("button", { name: /^审批：1/ }).click();
    await check("tray");
    await tab.getByRole("button", { name: "批准", exact: true }).first().click();
    await waitForEnd(tab, answer);
    await check("chat");

    await tab.keyboard.press("Control+k");
    await tab.getByRole("combobox").waitFor();
    await check("palette");
    for (const [view, command] of [
      ["shortcuts", "快捷键"],
      ["preferences", "偏好设置"],
    ] as const) {
      await tab.getByRole("combobox").fill(command);
      await tab.keyboard.press("Enter");
      await tab.getByRole("combobox", { name: /命令/ }).waitFor({ state: "detached" });
      await dialog.waitFor();
      await check(view);
      await tab.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await tab.keyboard.press("Control+k");
      await tab.getByRole("combobox").waitFor();
    }
    await tab.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await tab.keyboard.press("Control+;");
    await dialog.waitFor();
    await check("settings");
    await tab.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });

    // The tree is an SVG, in which both kinds of text are in one element. In this chat all of them are Chinese.
    const hash = await fixture.createChat({ model: "lab/clean" });
    await navigateTo(tab, hash);
    await waitForEnd(tab, await sendAndWaitForStart(tab, "你好，你是谁？"));
    await tab.goto(`${fixture.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem").first().waitFor();
    await check("tree");
    await tab.goto(`${fixture.gateway.url}/#/upstreams`);
    await tab.getByRole("region", { name: "lab", exact: true }).waitFor();
    await check("upstreams");
    expect(untranslated).toEqual({});
  });

  test("the frames, cards, approvals, menus and editors of messages are translated", async () => {
    const user = await fixture.newUser({ locale: "zh-CN" });
    const tab = await user.tab(
      await fixture.createChat({ agent: "demo-agent", result_approval: "on_error" }),
    );
    const { untranslated, check } = createTranslationCheck(tab);
    const menu = tab.getByRole("menu");
    const checkExpanded = async (answer: Locator, view: string) => {
      await waitForEnd(tab, answer);
      await expandAll(answer);
      await check(view);
    };
    // The first message becomes the title of the chat.
    await checkExpanded(await sendAndWaitForStart(tab, "你好，你是谁？"), "words");
    await checkExpanded(
      await sendAndWaitForStart(tab, "Show me markdown with a table, code and math"),
      "markdown",
    );
    await checkExpanded(
      await sendAndWaitForStart(tab, 'draw_picture of "a house by the sea"'),
      "picture",
    );
    const failing = await sendAndWaitForStart(tab, 'fail_on_purpose because "I say so"');
    await failing.getByRole("button", { name: "交给模型", exact: true }).waitFor();
    await check("held-result");
    await failing.getByRole("button", { name: "交给模型", exact: true }).click();
    await checkExpanded(failing, "failed-call");
    const denied = await sendAndWaitForStart(tab, 'send_message to Bob: "hello"');
    await denied.getByRole("button", { name: "拒绝" }).click();
    await check("denying");
    await denied.getByRole("button", { name: "拒绝" }).last().click();
    await checkExpanded(denied, "denied-call");
    await checkExpanded(
      await sendAndWaitForStart(tab, "ask forecaster about the weather in Paris"),
      "sub-agent",
    );
    const stopped = await sendAndWaitForStart(tab, "slow_count to 30");
    await check("running");
    await stopped.getByRole("button", { name: "停止", exact: true }).click();
    await checkExpanded(stopped, "stopped");

    await checkExpanded(
      await sendAndWaitForStart(tab, "What is the weather in Paris and Rome?"),
      "sources",
    );
    await tab.getByRole("log").locator(".answer-citation-chip").last().hover();
    await tab.getByRole("dialog").waitFor();
    await check("source");
    await tab.keyboard.press("Escape");
    for (const name of ["此消息的更多操作", "此回答的更多操作"]) {
      await tab.getByRole("button", { name }).last().click();
      await menu.waitFor();
      await check(name);
      if (name.includes("消息")) await tab.keyboard.press("Escape");
      else await menu.getByRole("menuitem", { name: "换个模型重新生成…" }).click();
      await menu.waitFor({ state: "detached" });
    }
    await tab.getByRole("dialog").waitFor();
    await check("retry");
    await tab.keyboard.press("Escape");
    await tab.getByRole("button", { name: "编辑", exact: true }).last().click();
    await tab.getByRole("textbox", { name: "编辑消息" }).waitFor();
    await check("editor");
    expect(untranslated).toEqual({});
  });

  test("the language can be chosen in the preferences, applies immediately and is stored", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab();
    await tab.getByRole("banner").getByRole("button", { name: "More" }).click();
    await tab.getByRole("menuitem", { name: /^Preferences/ }).click();
    await tab.getByLabel("Language").selectOption("中文");
    await tab.getByRole("dialog", { name: "偏好设置" }).waitFor();
    await tab.reload();
    await tab.getByRole("button", { name: "发送" }).waitFor();
  });
});

describe("text direction", () => {
  const cases = [
    { language: "arabic", words: "مرحبا، كيف حالك؟", reply: /نموذج العرض/, direction: "rtl" },
    { language: "hebrew", words: "שלום, מה שלומך?", reply: /מודל ההדגמה/, direction: "rtl" },
    { language: "chinese", words: "你好，你是谁？", reply: /演示模型/, direction: "ltr" },
    { language: "english", words: "Hello there", reply: /I am a/, direction: "ltr" },
  ];
  test.each(cases)(
    "$language text has the direction $direction",
    async ({ language, words, reply, direction }) => {
      const user = await fixture.newUser();
      const tab = await user.tab(await fixture.createChat({ model: "lab/clean" }));
      await sendAndWaitForAnswer(tab, words);
      const answer = await waitForAnswerEnd(tab);
      const message = tab.getByRole("article", { name: "You" }).getByText(words);
      for (const text of [message, answer.getByText(reply).first()])
        await expect
          .poll(() => text.evaluate((element) => getComputedStyle(element).direction))
          .toBe(direction);
      // The page itself keeps the direction of its language.
      expect(await tab.evaluate(() => getComputedStyle(document.body).direction)).toBe("ltr");
      await takeScreenshot(tab, `script-${language}`);
    },
  );
});

test("a right-to-left table starts at the right, and its cells are aligned right", async () => {
  const tab = await (await fixture.newUser()).tab(await fixture.createChat({ model: "lab/clean" }));
  await sendAndWaitForAnswer(tab, "| الاسم | العمر |\n|---|---|\n| أحمد (Ahmad) | 30 |");
  const table = (await waitForAnswerEnd(tab)).getByRole("table");
  const head = table.getByRole("columnheader");
  const x = async (index: number) => (await head.nth(index).boundingBox())?.x ?? 0;
  expect(await x(0)).toBeGreaterThan(await x(1));
  const side = (cell: Element) => getComputedStyle(cell).textAlign;
  expect(await table.getByRole("cell", { name: "30" }).evaluate(side)).toBe("right");
});

test("the theme is that of the system until another one is chosen, which is stored", async () => {
  const user = await fixture.newUser({ colorScheme: "dark" });
  const tab = await user.tab();
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

test("touch targets are large enough on a phone", async () => {
  const tab = await (await fixture.newUser(phone)).tab(await fixture.createChat());
  await sendAndWaitForAnswer(tab, "Hello");
  await waitForAnswerEnd(tab);
  await tab.getByRole("button", { name: /^Actions for this answer/ }).click();
  await tab.getByRole("menu").waitFor();
  const all = await tab.getByRole("button").or(tab.getByRole("menuitem")).all();
  expect(all.length).toBeGreaterThan(20);
  const tooSmall: string[] = [];
  for (const one of all) {
    const height = (await one.boundingBox())?.height ?? 0;
    if (height > 0 && height < 36) tooSmall.push(`${await one.innerText()}: ${height}`);
  }
  expect(tooSmall).toEqual([]);
  for (const one of [tab.getByRole("button", { name: "Attach" }), tab.locator(".approvals-button")])
    expect((await one.boundingBox())?.height).toBe(44);
});

test("nothing has to be scrolled sideways on a phone", async () => {
  const user = await fixture.newUser(phone);
  const tab = await user.tab();
  const wide: string[] = [];
  const check = async (view: string) => {
    // Only code and tables scroll sideways, not the page.
    const sizes = await tab.evaluate(() =>
      [document.documentElement, document.querySelector("main") ?? document.body].map(
        ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth,
      ),
    );
    if (sizes.some((more) => more > 0)) wide.push(`${view}: ${sizes.join(", ")}`);
    await takeScreenshot(tab, `phone-${view}`);
  };
  await tab.getByRole("region", { name: "Things to try" }).waitFor();
  await check("start");
  await tab.getByRole("button", { name: "Show chat list" }).click();
  const list = tab.getByRole("navigation", { name: "Chats", exact: true });
  await list.waitFor();
  await check("list");
  await tab.keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  const hash = await fixture.createChat();
  await tab.goto(`${fixture.gateway.url}/${hash}`);
  await tab.reload();
  await sendAndWaitForAnswer(tab, "Show me markdown with a table, code and math");
  await waitForAnswerEnd(tab);
  await check("markdown");
  await sendAndWaitForAnswer(
    tab,
    `say exactly\n\`\`\`\n${"a".repeat(300)} ${"https://example.com/".repeat(9)}\n\`\`\``,
  );
  await waitForAnswerEnd(tab);
  await check("long-words");
  await sendAndWaitForAnswer(
    tab,
    'ask forecaster to ask messenger to send_message to Bob: "It is sunny"',
  );
  await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
  await check("sub-agents");
  await tab.getByRole("button", { name: /answers\. Open chat settings/ }).click();
  await tab.getByRole("dialog").waitFor();
  await check("settings");
  await tab.keyboard.press("Escape");
  await tab.goto(`${fixture.gateway.url}/${hash}/tree`);
  await tab.getByRole("treeitem").first().waitFor();
  await check("tree");
  await tab.goto(`${fixture.gateway.url}/#/upstreams`);
  await tab.getByRole("region", { name: "Connect a coding agent" }).waitFor();
  await check("upstreams");
  expect(wide).toEqual([]);
});

test("nothing is animated with reduced motion, not even a streaming answer", async () => {
  const user = await fixture.newUser({ reducedMotion: "reduce" });
  const tab = await user.tab(await fixture.createChat());
  await sendAndWaitForAnswer(tab, "long 200");
  await expect.poll(async () => (await lastAnswer(tab).innerText()).length).toBeGreaterThan(200);
  const moving = await tab.evaluate(
    () =>
      document
        .getAnimations()
        .filter(({ effect }) => Number(effect?.getComputedTiming().duration ?? 0) > 0).length,
  );
  expect(moving).toBe(0);
  await waitForAnswerEnd(tab);
});
