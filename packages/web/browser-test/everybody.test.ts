import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { unfoldAll } from "./in-chat.ts";
import {
  ask,
  endedAnswer,
  focusedIn,
  goTo,
  lastAnswer,
  staged,
  tabTo,
  takePicture,
} from "./stage.ts";

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
  await keys.press("Control+Shift+Enter");
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
  await expect.poll(() => tab.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  await keys.press("n");
  await tab.getByRole("region", { name: "Things to try" }).waitFor();
});

describe("in Chinese", () => {
  /** What people, models and tools have said has elements of its own. */
  const said = [
    "code, pre, kbd, textarea, noscript, .plain-text, .markdown, .blocks-text, .list-title, .list-excerpt, .chat-title",
    ".answer-call:not(.answer-sub-agent) .answer-call-line",
  ].join();

  /** All other words that are shown or read out, those of the frames of code and tables too. */
  function latinIn(tab: Page): Promise<string[]> {
    return tab.evaluate((said) => {
      const texts: string[] = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() !== null) {
        const { parentElement, textContent } = walker.currentNode;
        const isFrame = parentElement?.closest("figcaption, .for-readers") !== null;
        if (isFrame || parentElement?.closest(said) === null) texts.push(textContent ?? "");
      }
      for (const each of document.body.querySelectorAll("[aria-label], [title], [placeholder]"))
        for (const name of ["aria-label", "title", "placeholder"])
          texts.push(each.getAttribute(name) ?? "");
      return texts.filter((text) => /[A-Za-z]{3,}/.test(text));
    }, said);
  }
  const names = [
    /\b(?:demo-agent|forecaster|messenger|lab(?:\/[\w-]+)?|generic)\b/g,
    /\b(?:get_weather|send_message|draw_picture|fail_on_purpose|slow_count|text:|Bob|Paris|Oslo|Rome)/g,
    /\b(?:Deltawire|Codex|OpenAI|Chat Completions|Responses|SQLite|TypeScript|IANA)\b/g,
    /\b(?:API|JSON|HTML|Markdown|PDF|base64|null|top_p|temperature|low|medium|high)\b/g,
    /\b(?:DELTAWIRE_TOKEN|npm start|migrate|http\S+)|~\/\.codex\/config\.toml/g,
    /\b(?:Ctrl|Shift|Alt|Enter|Esc|Tab|English)\b/g,
  ];
  /** What tools call their sources, and what a sub-agent says last, stand in lines of ours. */
  const quoted = [
    /The weather in (?:Paris|Rome)|A picture of a house by the sea/g,
    /answered: \{.*\}/g,
  ];

  async function english(tab: Page): Promise<string[]> {
    const found = (await latinIn(tab)).map((text) =>
      [...quoted, ...names].reduce((rest, known) => rest.replaceAll(known, ""), text),
    );
    return [...new Set(found.filter((text) => /[A-Za-z]{3,}/.test(text)))];
  }

  /** Looks at one view after the other, and keeps what is left in each. */
  function watchFor(tab: Page) {
    const left: Record<string, string[]> = {};
    const check = async (view: string) => {
      const found = await english(tab);
      if (found.length > 0) left[view] = found;
      await takePicture(tab, `chinese-${view}`);
    };
    return { left, check };
  }

  /** Says it, and waits for an answer to it. */
  async function asked(tab: Page, words: string): Promise<Locator> {
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

  async function ended(tab: Page, answer: Locator): Promise<void> {
    await answer.and(tab.locator(":not([aria-busy])")).waitFor();
  }

  test("no word of another language is left in any view", async () => {
    const person = await stage.person({ locale: "zh-CN" });
    const tab = await person.tab();
    const { left, check } = watchFor(tab);
    const dialog = tab.getByRole("dialog");
    await tab.getByRole("button", { name: "发送" }).waitFor();
    expect(await tab.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
    await check("start");

    await goTo(tab, await stage.chat());
    const answer = await asked(tab, '请 send_message 给 Bob："你好"');
    await tab.getByRole("button", { name: "批准", exact: true }).waitFor();
    await check("approval");
    await tab.getByRole("button", { name: /^审批：1/ }).click();
    await check("tray");
    await tab.getByRole("button", { name: "批准", exact: true }).first().click();
    await ended(tab, answer);
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

    // A picture has the words of both in one element: here all of them are Chinese.
    const hash = await stage.chat({ model: "lab/clean" });
    await goTo(tab, hash);
    await ended(tab, await asked(tab, "你好，你是谁？"));
    await tab.goto(`${stage.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem").first().waitFor();
    await check("tree");
    await tab.goto(`${stage.gateway.url}/#/upstreams`);
    await tab.getByRole("region", { name: "lab", exact: true }).waitFor();
    await check("upstreams");
    expect(left).toEqual({});
  });

  test("nor around what was said: in frames, cards, approvals, menus and editors", async () => {
    const person = await stage.person({ locale: "zh-CN" });
    const tab = await person.tab(await stage.chat({ agent: "demo-agent", results: "on error" }));
    const { left, check } = watchFor(tab);
    const menu = tab.getByRole("menu");
    const unfolded = async (answer: Locator, view: string) => {
      await ended(tab, answer);
      await unfoldAll(answer);
      await check(view);
    };
    // It gives the chat its title.
    await unfolded(await asked(tab, "你好，你是谁？"), "words");
    await unfolded(await asked(tab, "Show me markdown with a table, code and math"), "markdown");
    await unfolded(await asked(tab, 'draw_picture of "a house by the sea"'), "picture");
    const failing = await asked(tab, 'fail_on_purpose because "I say so"');
    await failing.getByRole("button", { name: "放行", exact: true }).waitFor();
    await check("held-result");
    await failing.getByRole("button", { name: "放行", exact: true }).click();
    await unfolded(failing, "failed-call");
    const denied = await asked(tab, 'send_message to Bob: "hello"');
    await denied.getByRole("button", { name: "拒绝" }).click();
    await check("denying");
    await denied.getByRole("button", { name: "拒绝" }).last().click();
    await unfolded(denied, "denied-call");
    await unfolded(await asked(tab, "ask forecaster about the weather in Paris"), "sub-agent");
    const stopped = await asked(tab, "slow_count to 30");
    await check("running");
    await stopped.getByRole("button", { name: "停止", exact: true }).click();
    await unfolded(stopped, "stopped");

    await unfolded(await asked(tab, "What is the weather in Paris and Rome?"), "sources");
    await tab.getByRole("log").locator(".answer-chip").last().hover();
    await tab.getByRole("dialog").waitFor();
    await check("source");
    await tab.keyboard.press("Escape");
    for (const name of ["此消息的更多操作", "此回答的更多操作"]) {
      await tab.getByRole("button", { name }).last().click();
      await menu.waitFor();
      await check(name);
      if (name.includes("消息")) await tab.keyboard.press("Escape");
      else await menu.getByRole("menuitem", { name: "换个模型回答…" }).click();
      await menu.waitFor({ state: "detached" });
    }
    await tab.getByRole("dialog").waitFor();
    await check("retry");
    await tab.keyboard.press("Escape");
    await tab.getByRole("button", { name: "编辑", exact: true }).last().click();
    await tab.getByRole("textbox", { name: "编辑消息" }).waitFor();
    await check("editor");
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

test("a table that is written from right to left begins at the right, with each column at one side", async () => {
  const tab = await (await stage.person()).tab(await stage.chat({ model: "lab/clean" }));
  await ask(tab, "| الاسم | العمر |\n|---|---|\n| أحمد (Ahmad) | 30 |");
  const table = (await endedAnswer(tab)).getByRole("table");
  const head = table.getByRole("columnheader");
  const x = async (at: number) => (await head.nth(at).boundingBox())?.x ?? 0;
  expect(await x(0)).toBeGreaterThan(await x(1));
  const side = (cell: Element) => getComputedStyle(cell).textAlign;
  expect(await table.getByRole("cell", { name: "30" }).evaluate(side)).toBe("right");
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

test("on a phone whatever is pressed is large enough for a finger", async () => {
  const tab = await (await stage.person(phone)).tab(await stage.chat());
  await ask(tab, "Hello");
  await endedAnswer(tab);
  await tab.getByRole("button", { name: /^More for this answer/ }).click();
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
