import { defineAgent, defineTool } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { viewVariants, createAxeChecker } from "./accessibility.ts";
import { getMoreButton, chooseMenuItem, expandAll } from "./chat-actions.ts";
import {
  sendAndWaitForAnswer,
  waitForAnswerEnd,
  navigateTo,
  lastAnswer,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

const secret = "sk-of-the-model-0123456789";

/** Scripts set a global variable when they run. Resources are on another server, so that requests are detected. */
const harmfulScript = "globalThis.harm = true";
const hostileSvg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="${harmfulScript}"><script>${harmfulScript}</script><image href="https://evil.example/in-svg.png"/><rect width="40" height="40" fill="red"/></svg>`;
const hostile = `<script>${harmfulScript}</script>
<img src="x" onerror="${harmfulScript}"> <img src="https://evil.example/pixel.png">
<iframe srcdoc="<script>parent.harm = true</script>"></iframe>
<object data="https://evil.example/o"></object><embed src="https://evil.example/e">
<form action="https://evil.example/f"><input autofocus onfocus="${harmfulScript}"></form>
<style>* { display: none }</style><base href="https://evil.example/"><meta http-equiv="refresh" content="0">
<details open ontoggle="${harmfulScript}"><summary>x</summary></details>

${hostileSvg}

[script](javascript:${harmfulScript}) [upper](JaVaScRiPt:${harmfulScript}) [entity](jav&#x61;script:${harmfulScript}) [data](data:text/html,<script>${harmfulScript}</script>) [vb](vbscript:x) <javascript:${harmfulScript}>

[tab](java&Tab;script:${harmfulScript}) [file](file:///etc/passwd) [blob](blob:https://evil.example/x) [honest](https://example.com/page)

![tracker](https://evil.example/track.png) ![inline](data:image/svg+xml,<svg/onload=${harmfulScript}>)

| <img src=x onerror="${harmfulScript}"> | b |
| --- | --- |
| <script>${harmfulScript}</script> | [x](javascript:${harmfulScript}) |

$\\href{javascript:${harmfulScript}}{x}$ $\\includegraphics{https://evil.example/a.png}$ $\\htmlStyle{position:fixed}{y}$ $\\url{javascript:${harmfulScript}}$

\`\`\`html
<script>${harmfulScript}</script><img src=x onerror="${harmfulScript}">
\`\`\`

~~~svg
${hostileSvg}
~~~
`;

const showEvil = defineTool<{ why: string }>({
  name: "show_evil",
  description: "Shows everything that is bad.",
  input: { type: "object", properties: { why: { type: "string" } }, required: ["why"] },
  run: () => ({
    message_content: [{ type: "text", text: hostile }],
    block_list: [
      { type: "text", text: hostile },
      { type: "image", bytes: Buffer.from(hostileSvg), media_type: "image/svg+xml" },
      {
        type: "file",
        bytes: Buffer.from(`<script>${harmfulScript}</script>`),
        media_type: "text/html",
        filename: '"><img src=x onerror="harm=1">.html',
      },
      { type: "image", image_url: { url: `javascript:${harmfulScript}` } },
      { type: "image", image_url: { url: "https://evil.example/block.png" } },
      { type: "data", data: { html: hostile } },
    ],
  }),
});
const villain = defineAgent({
  name: "villain",
  instructions: "You are bad.",
  model: "lab/clean",
  tools: [showEvil],
});

const fixture = setupBrowserFixture({
  agents: [villain],
  toml: `[upstreams.other]\nbase_url = "https://example.com/v1"\nspeaks = "chat"\napi_key = "${secret}"\nmodels = ["m"]`,
});

/** Creates a user whose browser records violations of the content security policy. */
async function createWatchedUser() {
  const user = await fixture.newUser();
  await user.context.addInitScript(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { violations: seen });
    document.addEventListener("securitypolicyviolation", (event) =>
      seen.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
  });
  return user;
}

async function expectNoScriptRan(tab: Page): Promise<void> {
  const { harm, violations } = await tab.evaluate(() => {
    const { harm, violations } = globalThis as { harm?: boolean; violations?: string[] };
    return { harm, violations };
  });
  expect({ harm, violations }).toEqual({ harm: undefined, violations: [] });
  expect(tab.frames()).toHaveLength(1);
  const elements = tab.getByRole("main").locator(
    // The page itself uses none of these, so they could only come from the text.
    "script, iframe, object, embed, style, base, meta, link, [onerror], [onload], [onfocus], [ontoggle], svg script, svg image, details[open] summary:text-is('x'), input[autofocus]",
  );
  expect(await elements.count()).toBe(0);
  const links = await tab
    .getByRole("main")
    .locator("a[href], [src]")
    .evaluateAll((all) =>
      all.map((each) => each.getAttribute("href") ?? each.getAttribute("src") ?? ""),
    );
  expect(links.filter((link) => !/^(?:#|\/api\/|https?:)/.test(link))).toEqual([]);
  const sources = await tab
    .getByRole("main")
    .locator("[src]")
    .evaluateAll((all) => all.map((each) => each.getAttribute("src") ?? ""));
  expect(sources.filter((source) => !source.startsWith("/api/"))).toEqual([]);
}

describe("model output stays inert", () => {
  test("scripts in Markdown, HTML, SVG and formulas are text, and dangerous URLs are not linked", async () => {
    const user = await createWatchedUser();
    const tab = await user.tab(await fixture.createChat());
    await sendAndWaitForAnswer(tab, `say exactly\n\`\`\`\`\`\n${hostile}\n\`\`\`\`\``);
    const answer = await waitForAnswerEnd(tab);
    await answer.getByRole("link", { name: "honest" }).waitFor();
    await answer.getByText("<script>globalThis.harm = true</script>").first().waitFor();
    for (const name of ["script", "upper", "entity", "data", "vb", "tab", "file", "blob"])
      expect(await answer.getByRole("link", { name, exact: true }).count()).toBe(0);
    const honest = answer.getByRole("link", { name: "honest" });
    expect(await honest.getAttribute("rel")).toMatch(/noopener/);
    expect(await honest.getAttribute("rel")).toMatch(/noreferrer/);
    await expectNoScriptRan(tab);
    await takeScreenshot(tab, "safety-hostile-markdown");
    await tab.reload();
    await waitForAnswerEnd(tab);
    await answer.getByRole("link", { name: "honest" }).waitFor();
    await expectNoScriptRan(tab);
  });

  test("hostile tool results are shown as text, images and files", async () => {
    const user = await createWatchedUser();
    const tab = await user.tab(await fixture.createChat({ agent: "villain" }));
    await sendAndWaitForAnswer(tab, 'show_evil "now"');
    const answer = await waitForAnswerEnd(tab);
    await answer.getByRole("button", { name: /^show_evil/ }).click();
    await answer.getByRole("link", { name: /^Download/ }).waitFor();
    await expectNoScriptRan(tab);
    await takeScreenshot(tab, "safety-hostile-results");
    // A URL that is opened directly cannot run scripts either.
    const addresses = await answer
      .locator("img, a[download]")
      .evaluateAll((all) =>
        all.map((each) => each.getAttribute("src") ?? each.getAttribute("href") ?? ""),
      );
    expect(addresses.length).toBeGreaterThanOrEqual(2);
    for (const address of addresses) {
      const reply = await fetch(new URL(address, fixture.gateway.url));
      expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("an attached SVG with a script is a file, and its script does not run", async () => {
    const user = await createWatchedUser();
    const tab = await user.tab(await fixture.createChat());
    const [chooser] = await Promise.all([
      tab.waitForEvent("filechooser"),
      (async () => {
        await tab.getByRole("button", { name: "Attach" }).click();
        await tab.getByRole("menuitem", { name: "Attach files" }).click();
      })(),
    ]);
    await chooser.setFiles({
      name: "<img src=x onerror=harm=1>.svg",
      mimeType: "image/svg+xml",
      buffer: Buffer.from(hostileSvg),
    });
    await tab.getByRole("button", { name: /^Remove <img/ }).waitFor();
    await sendAndWaitForAnswer(tab, "what is this?");
    await waitForAnswerEnd(tab);
    await expectNoScriptRan(tab);
    await takeScreenshot(tab, "safety-hostile-attachment");
  });
});

test("a complete session contacts no other server, violates no policy, and reveals no key", async () => {
  const user = await createWatchedUser();
  const tab = await user.tab();
  await sendAndWaitForAnswer(tab, "Show me markdown with a table, code and math");
  await waitForAnswerEnd(tab);
  await navigateTo(tab, await fixture.createChat());
  await sendAndWaitForAnswer(tab, "What is the weather in Paris and Rome?");
  await waitForAnswerEnd(tab);
  const answer = await sendAndWaitForAnswer(tab, 'please send_message to Bob: "hello"');
  await answer.getByRole("button", { name: "Approve" }).click();
  await waitForAnswerEnd(tab);
  await tab.keyboard.press("Control+k");
  await tab.getByRole("dialog", { name: "Command palette" }).waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("button", { name: "Actions for this chat" }).click();
  await tab.getByRole("menuitem", { name: /^Tree view/ }).click();
  await tab.getByRole("link", { name: "Back to chat" }).waitFor();
  await tab.getByRole("link", { name: "Upstreams" }).click();
  await tab.getByRole("region", { name: "other", exact: true }).waitFor();
  expect(await tab.content()).not.toContain(secret);
  await expectNoScriptRan(tab);
  expect(user.requestedUrls.filter((address) => !address.startsWith(fixture.gateway.url))).toEqual(
    [],
  );
});

describe("the page is accessible:", () => {
  test.each(Object.entries(viewVariants))("chats and approvals (%s)", async (variant, options) => {
    const user = await fixture.newUser(options);
    const tab = await user.tab();
    const { violations, check } = createAxeChecker(tab, variant);
    await tab.getByRole("region", { name: "Things to try" }).waitFor();
    await check("start");

    const hash = await fixture.createChat({ agent: "demo-agent", result_approval: "on_error" });
    await navigateTo(tab, hash);
    const prompts = [
      "Show me markdown with a table, code and math",
      "What is the weather in Paris and Rome?",
      'draw_picture of "a house by the sea"',
      'fail_on_purpose because "I say so"',
      "ask forecaster about the weather in Paris",
    ];
    for (const words of prompts) {
      const answer = await sendAndWaitForAnswer(tab, words);
      if (words.startsWith("fail"))
        await answer.getByRole("button", { name: "Show to model" }).click();
      await waitForAnswerEnd(tab);
    }
    await expandAll(tab.getByRole("log"));
    await check("chat");

    const chip = tab.getByRole("log").locator(".answer-citation-chip").last();
    await (variant === "phone" ? chip.tap() : chip.hover());
    await tab.getByRole("dialog", { name: /^Source \d/ }).waitFor();
    await check("citation");
    await tab.keyboard.press("Escape");

    await sendAndWaitForAnswer(tab, 'please send_message to Bob: "hello"');
    await lastAnswer(tab).getByRole("button", { name: "Approve" }).waitFor();
    await tab.getByRole("button", { name: "Approvals: 1 waiting for you" }).click();
    const tray = tab.getByRole("region", { name: "Waiting for you" });
    await tray.waitFor();
    await check("approvals");
    await tray.getByRole("button", { name: "Edit" }).click();
    await check("decision");
    await tab.keyboard.press("Escape");
    await tray.getByRole("button", { name: "Edit" }).waitFor();
    await tab.keyboard.press("Escape");
    await tray.waitFor({ state: "detached" });

    await tab.getByRole("button", { name: /answers\. Open chat settings/ }).click();
    await tab.getByRole("dialog").waitFor();
    await check("settings");
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });

    await tab.keyboard.press("Control+k");
    await tab.getByRole("dialog", { name: "Command palette" }).waitFor();
    await check("palette");
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });

    for (const [view, command] of [
      ["shortcuts", "Keyboard shortcuts"],
      ["preferences", "Preferences"],
    ] as const) {
      await tab.keyboard.press("Control+k");
      await tab.getByRole("combobox").fill(command);
      await tab.keyboard.press("Enter");
      await tab.getByRole("dialog", { name: command }).waitFor();
      await check(view);
      await tab.keyboard.press("Escape");
      await tab.getByRole("dialog").waitFor({ state: "detached" });
    }

    await tab.goto(`${fixture.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem", { name: /^You: please send_message/ }).waitFor();
    await check("tree");

    await tab.goto(`${fixture.gateway.url}/#/upstreams`);
    await tab.getByRole("region", { name: "Connect a coding agent" }).waitFor();
    await check("upstreams");
    expect(violations).toEqual({});
  });

  test.each(Object.entries(viewVariants))(
    "lists, dialogs and a comparison (%s)",
    async (variant, options) => {
      const user = await fixture.newUser(options);
      const hash = await fixture.createChat();
      const tab = await user.tab(hash);
      const { violations, check } = createAxeChecker(tab, variant);
      const dialog = tab.getByRole("dialog");
      await sendAndWaitForAnswer(tab, "Show me markdown with a table, code and math");
      await waitForAnswerEnd(tab);
      await sendAndWaitForAnswer(tab, "Plan a trip");
      await waitForAnswerEnd(tab);

      await chooseMenuItem(tab.getByRole("button", { name: "Actions for this chat" }), "Tags…");
      const tag = dialog.getByRole("textbox", { name: "Tag" });
      await tag.fill("sea");
      await tag.press("Enter");
      await tag.fill("wo");
      await check("tags");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });

      await chooseMenuItem(getMoreButton(lastAnswer(tab)), "Retry with another model…");
      await dialog.waitFor();
      await check("retry");
      await dialog.getByRole("button", { name: /^Answer with/ }).click();
      await dialog.getByRole("combobox").fill("think-tags");
      await dialog
        .getByRole("option", { name: /think-tags/ })
        .first()
        .waitFor();
      await check("retry-models");
      await tab.keyboard.press("Enter");
      await dialog.getByRole("button", { name: "Retry" }).click();
      await tab.getByRole("article", { name: /^Answer from .*think-tags/ }).waitFor();
      await waitForAnswerEnd(tab);

      await tab.goto(`${fixture.gateway.url}/${hash}/tree`);
      await tab.getByRole("treeitem", { name: /think-tags/ }).click();
      await tab.getByRole("complementary", { name: "Selected message" }).waitFor();
      await check("tree-panel");
      await tab.getByRole("button", { name: "Compare versions" }).click();
      await tab.getByRole("region", { name: "Side B" }).locator("mark").first().waitFor();
      await check("comparison");
      await tab.getByRole("switch", { name: "Show differences" }).uncheck();
      await check("comparison-plain");

      const list = tab.getByRole("navigation", { name: "Chats" });
      if (variant === "phone") {
        await tab.getByRole("button", { name: "Show chat list" }).tap();
        await list.getByRole("listitem").first().waitFor();
        await check("list");
      }
      await list.getByRole("textbox", { name: "Search chats" }).fill("markdown");
      await list.locator("mark").first().waitFor();
      await check("found");
      await list.getByRole("button", { name: "Clear search" }).click();
      const row = list.getByRole("listitem").first();
      await row.hover();
      await chooseMenuItem(row.getByRole("button", { name: /^Actions for/ }), "Delete");
      await tab.getByRole("region", { name: "Notifications" }).getByText("Deleted").waitFor();
      await check("deleted");
      await chooseMenuItem(
        list.getByRole("button", { name: "Chat list actions" }),
        "Deleted chats",
      );
      await list
        .getByRole("button", { name: /^Restore/ })
        .first()
        .waitFor();
      await check("deleted-chats");
      await list
        .getByRole("button", { name: /^Delete forever/ })
        .first()
        .click();
      await dialog.waitFor();
      await check("for-good");
      await tab.keyboard.press("Escape");
      expect(violations).toEqual({});
    },
  );

  test.each(["light", "dark"] as const)("in Chinese (%s)", async (variant) => {
    const user = await fixture.newUser({ colorScheme: variant, locale: "zh-CN" });
    const tab = await user.tab();
    const { violations, check } = createAxeChecker(tab, `chinese-${variant}`);
    await tab.getByRole("button", { name: "发送" }).waitFor();
    await check("start");

    const hash = await fixture.createChat();
    await navigateTo(tab, hash);
    const box = tab.getByRole("textbox", { name: "消息", exact: true });
    await box.fill('请 send_message 给 Bob："你好"');
    await box.press("Enter");
    const approve = tab.getByRole("button", { name: "批准", exact: true });
    await approve.waitFor();
    await check("approval");
    await tab.getByRole("button", { name: /^审批：1/ }).click();
    await check("approvals");
    await tab.keyboard.press("Escape");
    await approve.first().click();
    await tab.getByRole("article").and(tab.locator(":not([aria-busy])")).nth(1).waitFor();
    await check("chat");

    await tab.keyboard.press("Control+;");
    await tab.getByRole("dialog").waitFor();
    await check("settings");
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });
    await tab.keyboard.press("Control+k");
    await tab.getByRole("combobox").waitFor();
    await check("palette");
    await tab.keyboard.press("Escape");
    await tab.goto(`${fixture.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem").first().waitFor();
    await check("tree");
    await tab.goto(`${fixture.gateway.url}/#/upstreams`);
    await tab.getByRole("region", { name: "lab", exact: true }).waitFor();
    await check("upstreams");
    expect(violations).toEqual({});
  });
});
