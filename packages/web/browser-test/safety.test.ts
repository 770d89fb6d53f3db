import { defineAgent, defineTool } from "@deltawire/agent";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { looks, watchFor } from "./barriers.ts";
import { moreOf, pick, unfoldAll } from "./in-chat.ts";
import { ask, endedAnswer, goTo, lastAnswer, staged, takePicture } from "./stage.ts";

const secret = "sk-of-the-model-0123456789";

/** Whatever of this runs leaves a trace; whatever of it is fetched is asked of another server. */
const trace = "globalThis.harm = true";
const hostileSvg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="${trace}"><script>${trace}</script><image href="https://evil.example/in-svg.png"/><rect width="40" height="40" fill="red"/></svg>`;
const hostile = `<script>${trace}</script>
<img src="x" onerror="${trace}"> <img src="https://evil.example/pixel.png">
<iframe srcdoc="<script>parent.harm = true</script>"></iframe>
<object data="https://evil.example/o"></object><embed src="https://evil.example/e">
<form action="https://evil.example/f"><input autofocus onfocus="${trace}"></form>
<style>* { display: none }</style><base href="https://evil.example/"><meta http-equiv="refresh" content="0">
<details open ontoggle="${trace}"><summary>x</summary></details>

${hostileSvg}

[script](javascript:${trace}) [upper](JaVaScRiPt:${trace}) [entity](jav&#x61;script:${trace}) [data](data:text/html,<script>${trace}</script>) [vb](vbscript:x) <javascript:${trace}>

[tab](java&Tab;script:${trace}) [file](file:///etc/passwd) [blob](blob:https://evil.example/x) [honest](https://example.com/page)

![tracker](https://evil.example/track.png) ![inline](data:image/svg+xml,<svg/onload=${trace}>)

| <img src=x onerror="${trace}"> | b |
| --- | --- |
| <script>${trace}</script> | [x](javascript:${trace}) |

$\\href{javascript:${trace}}{x}$ $\\includegraphics{https://evil.example/a.png}$ $\\htmlStyle{position:fixed}{y}$ $\\url{javascript:${trace}}$

\`\`\`html
<script>${trace}</script><img src=x onerror="${trace}">
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
        bytes: Buffer.from(`<script>${trace}</script>`),
        media_type: "text/html",
        filename: '"><img src=x onerror="harm=1">.html',
      },
      { type: "image", image_url: { url: `javascript:${trace}` } },
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

const stage = staged({
  agents: [villain],
  toml: `[upstreams.other]\nbase_url = "https://example.com/v1"\nspeaks = "chat"\napi_key = "${secret}"\nmodels = ["m"]`,
});

/** A person whose browser writes down every violation of the policy. */
async function watched() {
  const person = await stage.person();
  await person.context.addInitScript(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { violations: seen });
    document.addEventListener("securitypolicyviolation", (event) =>
      seen.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
  });
  return person;
}

async function unharmed(tab: Page): Promise<void> {
  const { harm, violations } = await tab.evaluate(() => {
    const { harm, violations } = globalThis as { harm?: boolean; violations?: string[] };
    return { harm, violations };
  });
  expect({ harm, violations }).toEqual({ harm: undefined, violations: [] });
  expect(tab.frames()).toHaveLength(1);
  const elements = tab.getByRole("main").locator(
    // Ours are drawn without any of these; frames, forms and handlers would be of the text.
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

describe("what a model says stays what it says", () => {
  test("Markdown, HTML, SVG and mathematics with scripts in them are text, and their links are none", async () => {
    const person = await watched();
    const tab = await person.tab(await stage.chat());
    await ask(tab, `say exactly\n\`\`\`\`\`\n${hostile}\n\`\`\`\`\``);
    const answer = await endedAnswer(tab);
    await answer.getByRole("link", { name: "honest" }).waitFor();
    await answer.getByText("<script>globalThis.harm = true</script>").first().waitFor();
    for (const name of ["script", "upper", "entity", "data", "vb", "tab", "file", "blob"])
      expect(await answer.getByRole("link", { name, exact: true }).count()).toBe(0);
    const honest = answer.getByRole("link", { name: "honest" });
    expect(await honest.getAttribute("rel")).toMatch(/noopener/);
    expect(await honest.getAttribute("rel")).toMatch(/noreferrer/);
    await unharmed(tab);
    await takePicture(tab, "safety-hostile-markdown");
    await tab.reload();
    await endedAnswer(tab);
    await answer.getByRole("link", { name: "honest" }).waitFor();
    await unharmed(tab);
  });

  test("results of tools are text, pictures and files, whatever is in them", async () => {
    const person = await watched();
    const tab = await person.tab(await stage.chat({ agent: "villain" }));
    await ask(tab, 'show_evil "now"');
    const answer = await endedAnswer(tab);
    await answer.getByRole("button", { name: /^show_evil/ }).click();
    await answer.getByRole("link", { name: /^Download/ }).waitFor();
    await unharmed(tab);
    await takePicture(tab, "safety-hostile-results");
    // An address that is opened by itself has no more power than in the page.
    const addresses = await answer
      .locator("img, a[download]")
      .evaluateAll((all) =>
        all.map((each) => each.getAttribute("src") ?? each.getAttribute("href") ?? ""),
      );
    expect(addresses.length).toBeGreaterThanOrEqual(2);
    for (const address of addresses) {
      const reply = await fetch(new URL(address, stage.gateway.url));
      expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("an attached SVG with a script in it is a file, and nothing of it runs", async () => {
    const person = await watched();
    const tab = await person.tab(await stage.chat());
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
    await ask(tab, "what is this?");
    await endedAnswer(tab);
    await unharmed(tab);
    await takePicture(tab, "safety-hostile-attachment");
  });
});

test("in a whole session nothing is asked of another server, nothing is forbidden, and no key is in the page", async () => {
  const person = await watched();
  const tab = await person.tab();
  await ask(tab, "Show me markdown with a table, code and math");
  await endedAnswer(tab);
  await goTo(tab, await stage.chat());
  await ask(tab, "What is the weather in Paris and Rome?");
  await endedAnswer(tab);
  const answer = await ask(tab, 'please send_message to Bob: "hello"');
  await answer.getByRole("button", { name: "Approve" }).click();
  await endedAnswer(tab);
  await tab.keyboard.press("Control+k");
  await tab.getByRole("dialog", { name: "Command palette" }).waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("button", { name: "More for this chat" }).click();
  await tab.getByRole("menuitem", { name: /^Tree view/ }).click();
  await tab.getByRole("link", { name: "Back to the chat" }).waitFor();
  await tab.getByRole("link", { name: "Upstreams" }).click();
  await tab.getByRole("region", { name: "other", exact: true }).waitFor();
  expect(await tab.content()).not.toContain(secret);
  await unharmed(tab);
  expect(person.asked.filter((address) => !address.startsWith(stage.gateway.url))).toEqual([]);
});

describe("nobody is kept out", () => {
  test.each(Object.entries(looks))("%s", async (look, options) => {
    const person = await stage.person(options);
    const tab = await person.tab();
    const { barriers, check } = watchFor(tab, look);
    await tab.getByRole("region", { name: "Things to try" }).waitFor();
    await check("start");

    const hash = await stage.chat({ agent: "demo-agent", results: "on error" });
    await goTo(tab, hash);
    const asked = [
      "Show me markdown with a table, code and math",
      "What is the weather in Paris and Rome?",
      'draw_picture of "a house by the sea"',
      'fail_on_purpose because "I say so"',
      "ask forecaster about the weather in Paris",
    ];
    for (const words of asked) {
      const answer = await ask(tab, words);
      if (words.startsWith("fail")) await answer.getByRole("button", { name: "Release" }).click();
      await endedAnswer(tab);
    }
    await unfoldAll(tab.getByRole("log"));
    await check("chat");

    const chip = tab.getByRole("log").locator(".answer-chip").last();
    await (look === "phone" ? chip.tap() : chip.hover());
    await tab.getByRole("dialog", { name: /^Source \d/ }).waitFor();
    await check("citation");
    await tab.keyboard.press("Escape");

    await ask(tab, 'please send_message to Bob: "hello"');
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

    await tab.getByRole("button", { name: /answers\. Settings of the chat/ }).click();
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

    await tab.goto(`${stage.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem", { name: /^You: please send_message/ }).waitFor();
    await check("tree");

    await tab.goto(`${stage.gateway.url}/#/upstreams`);
    await tab.getByRole("region", { name: "Connect Codex" }).waitFor();
    await check("upstreams");
    expect(barriers).toEqual({});
  });

  test.each(Object.entries(looks))("%s: lists, dialogs and a comparison", async (look, options) => {
    const person = await stage.person(options);
    const hash = await stage.chat();
    const tab = await person.tab(hash);
    const { barriers, check } = watchFor(tab, look);
    const dialog = tab.getByRole("dialog");
    await ask(tab, "Show me markdown with a table, code and math");
    await endedAnswer(tab);
    await ask(tab, "Plan a trip");
    await endedAnswer(tab);

    await pick(tab.getByRole("button", { name: "More for this chat" }), "Tags…");
    const tag = dialog.getByRole("textbox", { name: "Tag" });
    await tag.fill("sea");
    await tag.press("Enter");
    await tag.fill("wo");
    await check("tags");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });

    await pick(moreOf(lastAnswer(tab)), "Retry with another model…");
    await dialog.waitFor();
    await check("retry");
    await dialog.getByRole("button", { name: /^Who answers this once/ }).click();
    await dialog.getByRole("combobox").fill("think-tags");
    await dialog
      .getByRole("option", { name: /think-tags/ })
      .first()
      .waitFor();
    await check("retry-models");
    await tab.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Retry" }).click();
    await tab.getByRole("article", { name: /^Answer of .*think-tags/ }).waitFor();
    await endedAnswer(tab);

    await tab.goto(`${stage.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem", { name: /think-tags/ }).click();
    await tab.getByRole("complementary", { name: "The chosen message" }).waitFor();
    await check("tree-panel");
    await tab.getByRole("button", { name: "Compare versions" }).click();
    await tab.getByRole("region", { name: "Side B" }).locator("mark").first().waitFor();
    await check("comparison");
    await tab.getByRole("switch", { name: "Show differences" }).uncheck();
    await check("comparison-whole");

    const list = tab.getByRole("navigation", { name: "Chats" });
    if (look === "phone") {
      await tab.getByRole("button", { name: "Show the list of chats" }).tap();
      await list.getByRole("listitem").first().waitFor();
      await check("list");
    }
    await list.getByRole("textbox", { name: "Search chats" }).fill("markdown");
    await list.locator("mark").first().waitFor();
    await check("found");
    await list.getByRole("button", { name: "Clear the search" }).click();
    const row = list.getByRole("listitem").first();
    await row.hover();
    await pick(row.getByRole("button", { name: /^Actions for/ }), "Delete");
    await tab.getByRole("region", { name: "Messages" }).getByText("Deleted").waitFor();
    await check("deleted");
    await pick(list.getByRole("button", { name: /^Import, deleted/ }), "Deleted chats");
    await list
      .getByRole("button", { name: /^Restore/ })
      .first()
      .waitFor();
    await check("deleted-chats");
    await list
      .getByRole("button", { name: /^Delete for good/ })
      .first()
      .click();
    await dialog.waitFor();
    await check("for-good");
    await tab.keyboard.press("Escape");
    expect(barriers).toEqual({});
  });

  test.each(["light", "dark"] as const)("%s, in Chinese", async (look) => {
    const person = await stage.person({ colorScheme: look, locale: "zh-CN" });
    const tab = await person.tab();
    const { barriers, check } = watchFor(tab, `chinese-${look}`);
    await tab.getByRole("button", { name: "发送" }).waitFor();
    await check("start");

    const hash = await stage.chat();
    await goTo(tab, hash);
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
    await tab.goto(`${stage.gateway.url}/${hash}/tree`);
    await tab.getByRole("treeitem").first().waitFor();
    await check("tree");
    await tab.goto(`${stage.gateway.url}/#/upstreams`);
    await tab.getByRole("region", { name: "lab", exact: true }).waitFor();
    await check("upstreams");
    expect(barriers).toEqual({});
  });
});
