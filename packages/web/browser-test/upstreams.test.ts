import { once } from "node:events";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../../test/free-port.ts";
import { upstreamToml } from "./gateway.ts";
import {
  sendAndWaitForAnswer,
  findAxeViolations,
  waitForAnswerEnd,
  setupBrowserFixture,
  takeScreenshot,
} from "./browser-fixture.ts";

const secret = "sk-of-an-upstream-0123456789";
const home = mkdtempSync(join(tmpdir(), "deltawire-page-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
beforeAll(() => {
  mkdirSync(join(home, ".claude"));
  const claudeSettings = { env: { MY_KEY: secret } };
  writeFileSync(join(home, ".claude", "settings.json"), JSON.stringify(claudeSettings, null, 2));
  mkdirSync(join(home, ".codex"));
  writeFileSync(
    join(home, ".codex", "config.toml"),
    `model_provider = "zai"\n\n[model_providers.zai]\nname = "Z"\nbase_url = "https://api.z.ai/api/paas/v4"\nwire_api = "chat"\nexperimental_bearer_token = "${secret}"\n`,
  );
});

/** An upstream that answers until its key is revoked. */
let isRevoked = false;
const revoking = createServer((request, response) => {
  request.resume();
  const status = isRevoked ? 401 : 200;
  response.writeHead(status, { "content-type": "application/json" });
  const error = { message: `The key ${secret} was revoked by its owner` };
  const choice = { index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" };
  response.end(JSON.stringify(isRevoked ? { error } : { choices: [choice] }));
});
revoking.listen(0, "127.0.0.1");
await once(revoking, "listening");
afterAll(() => void revoking.close());
const { port: revokingPort } = revoking.address() as AddressInfo;

/** An upstream with a model that always fails. */
const unsteady = createServer((request, response) => void answerUnsteadily(request, response));
async function answerUnsteadily(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isBroken = (await text(request)).includes('"broken"');
  response.writeHead(isBroken ? 500 : 200, { "content-type": "application/json" });
  const message = { role: "assistant", content: "Hi" };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  response.end(JSON.stringify(isBroken ? { error: { message: "out of memory" } } : { choices }));
}
unsteady.listen(0, "127.0.0.1");
await once(unsteady, "listening");
afterAll(() => void unsteady.close());
const { port: unsteadyPort } = unsteady.address() as AddressInfo;

const unreachableUrl = `http://127.0.0.1:${await freePort()}/v1`;
const fixture = setupBrowserFixture({
  toml: [
    '[mcp.tickets]\ncommand = "deltawire-program-that-is-not-there"\n',
    upstreamToml("down", unreachableUrl, { api_key: secret, retries: 0, models: ["far-away"] }),
    upstreamToml("revoking", `http://127.0.0.1:${revokingPort}/v1`, {
      api_key: secret,
      models: ["one", "two"],
    }),
    upstreamToml("unsteady", `http://127.0.0.1:${unsteadyPort}/v1`, {
      retries: 0,
      models: ["broken", "sound"],
    }),
    upstreamToml("keyless", "https://example.com/v1", {
      api_key: "env:KEY_THAT_NOBODY_SET",
      models: ["unused"],
    }),
  ].join("\n"),
  hostEnvironment: { cwd: home, home, env: {}, platform: "linux" },
});

async function openUpstreams(options = {}) {
  const user = await fixture.newUser(options);
  const tab = await user.tab("#/upstreams");
  const card = (name: string) => tab.getByRole("region", { name, exact: true });
  await card("lab").waitFor();
  return { tab, card };
}

test("each upstream shows its URL, API, status and models, and no key", async () => {
  const { tab, card } = await openUpstreams();
  expect(await card("lab").innerText()).toMatch(
    /http:\/\/127\.0\.0\.1:\d+\/v1 · Chat Completions API/,
  );
  await card("lab").getByText("Working").waitFor();
  await card("lab")
    .getByText(/^\d+ models$/)
    .click();
  await card("lab").getByText("small-context", { exact: true }).waitFor();
  await card("keyless").getByText("Key missing").waitFor();
  await card("keyless")
    .getByText(/Set KEY_THAT_NOBODY_SET in the gateway.s environment/)
    .waitFor();
  expect(await tab.content()).not.toContain(secret);
  expect(await findAxeViolations(tab)).toEqual([]);
  await takeScreenshot(tab, "upstreams");
});

test("a chat can be started with a model of an upstream", async () => {
  const { tab, card } = await openUpstreams();
  await card("lab")
    .getByText(/^\d+ models$/)
    .click();
  await card("lab").getByRole("button", { name: "Chat with lab/think-tags" }).click();
  await sendAndWaitForAnswer(tab, "hello");
  await waitForAnswerEnd(tab);
  await tab.getByRole("article", { name: "Answer from lab/think-tags" }).waitFor();
});

test("an upstream that rejects its key after a success is shown as failing, with the provider's message and the model's status", async () => {
  const { tab, card } = await openUpstreams();
  const ask = (model: string) =>
    fixture.gateway.post("/chat/completions", {
      model: `revoking/${model}`,
      messages: [{ role: "user", content: "hello" }],
    });
  expect((await ask("one")).status).toBe(200);
  await tab.getByRole("button", { name: "Refresh" }).click();
  await card("revoking").getByText("Working").waitFor();
  isRevoked = true;
  expect((await ask("two")).status).toBe(401);
  await tab.getByRole("button", { name: "Refresh" }).click();
  const rejected = card("revoking").getByText("Key rejected");
  await rejected.waitFor();
  expect(await rejected.getAttribute("data-kind")).toBe("failed");
  await card("revoking")
    .getByText(/was revoked by its owner/)
    .first()
    .waitFor();
  await card("revoking").getByText("2 models, 1 model failing").click();
  const models = card("revoking").getByRole("listitem");
  expect(await models.filter({ hasText: "two" }).innerText()).toContain("Last request failed");
  expect(await models.filter({ hasText: "one" }).innerText()).not.toContain("failed");
  expect(await tab.content()).not.toContain(secret);
  expect(await findAxeViolations(tab)).toEqual([]);
  await card("revoking").scrollIntoViewIfNeeded();
  await takeScreenshot(tab, "upstream-key-rejected");
});

test("a paused model is shown with its error", async () => {
  const { tab, card } = await openUpstreams();
  const say = (model: string, content: string) =>
    fixture.gateway.post("/chat/completions", {
      model: `unsteady/${model}`,
      messages: [{ role: "user", content }],
    });
  const paused = card("unsteady").getByText(
    /^broken is paused after repeated failures: .*out of memory/,
  );
  // A pause lasts some seconds, so on a busy machine it may be over before the page has loaded the status.
  await expect
    .poll(
      async () => {
        for (let index = 0; index < 6; index += 1) await say("broken", `conversation ${index % 2}`);
        expect((await say("sound", "hello")).status).toBe(200);
        const read = tab.waitForResponse("**/deltawire/upstreams");
        await tab.getByRole("button", { name: "Refresh" }).click();
        await read;
        return paused.count();
      },
      { timeout: 30_000 },
    )
    .toBe(1);
  await card("unsteady").scrollIntoViewIfNeeded();
  await takeScreenshot(tab, "upstreams-paused-model");
});

test("an MCP server whose program is missing is shown with its error", async () => {
  const { tab, card } = await openUpstreams();
  const servers = card("Tool servers (MCP)");
  await servers.getByText("Program not found").waitFor();
  expect(await servers.innerText()).toMatch(
    /program "deltawire-program-that-is-not-there" not found on the PATH/,
  );
  await servers.scrollIntoViewIfNeeded();
  await takeScreenshot(tab, "upstream-mcp-missing");
});

test("a failing upstream shows its error, and the page updates automatically", async () => {
  const { tab, card } = await openUpstreams();
  const reply = await fixture.gateway.post("/chat/completions", {
    model: "down/far-away",
    messages: [{ role: "user", content: "hello" }],
  });
  expect(reply.status).toBeGreaterThanOrEqual(500);
  await tab.getByRole("button", { name: "Refresh" }).click();
  await card("down")
    .getByText(/Last request failed|Paused after repeated failures/)
    .waitFor();
  await card("down")
    .getByText(/ECONNREFUSED|refused|cannot be reached/i)
    .waitFor();
  await takeScreenshot(tab, "upstreams-failing");
});

describe("a lesson", () => {
  test("shows the upstream's message, and can be deleted", async () => {
    const { tab, card } = await openUpstreams({ colorScheme: "dark" });
    const lessons = card("Learned adjustments");
    await lessons.getByText(/None so far/).waitFor();
    const reply = await fixture.gateway.post("/chat/completions", {
      model: "lab/temperature-1-only",
      temperature: 0.5,
      messages: [{ role: "user", content: "hello" }],
    });
    expect(reply.status).toBe(200);
    await tab.getByRole("button", { name: "Refresh" }).click();
    await lessons.getByText("temperature-1-only", { exact: true }).waitFor();
    await lessons.getByText(/^Upstream's reply: .*temperature/).waitFor();
    await lessons.scrollIntoViewIfNeeded();
    await takeScreenshot(tab, "upstreams-lessons-dark");
    await lessons.getByRole("button", { name: /^Delete/ }).click();
    await lessons.getByText(/None so far/).waitFor();
  });
});

describe("Codex", () => {
  test("can be connected with a block of configuration, which the button copies", async () => {
    const { tab, card } = await openUpstreams();
    const codex = card("Connect a coding agent");
    const reply = await fetch(`${fixture.gateway.url}/deltawire/connect`);
    const { files } = (await reply.json()) as { files: [{ text: string }] };
    const block = files[0].text;
    const copied = codex.getByRole("button", { name: "Copied: For all sessions" });
    // The label changes back after a moment.
    await Promise.all([
      copied.waitFor(),
      codex.getByRole("button", { name: "Copy: For all sessions" }).click(),
    ]);
    expect(await tab.evaluate(() => navigator.clipboard.readText())).toBe(block);
    await codex.scrollIntoViewIfNeeded();
    await takeScreenshot(tab, "upstreams-codex");

    await codex.getByLabel("Model").selectOption("lab/small-context");
    await codex.getByText(/^model = "lab\/small-context"/).waitFor();
    await codex.getByRole("button", { name: /^(?:Copy|Copied): For all sessions/ }).click();
    await expect
      .poll(() => tab.evaluate(() => navigator.clipboard.readText()))
      .toBe(block.replace(/^model = .*/, 'model = "lab/small-context"'));
  });

  test("has a configuration that is not loaded again at every refresh", async () => {
    const user = await fixture.newUser();
    const tab = await user.tab("#/upstreams");
    await tab.clock.install();
    await tab.reload();
    await tab.getByRole("region", { name: "lab", exact: true }).waitFor();
    // The test controls the clock, and no request is pending.
    await tab.clock.pauseAt((await tab.evaluate(() => Date.now())) + 5000);
    await Promise.all([
      tab.waitForResponse("**/deltawire/connect*"),
      tab.getByRole("button", { name: "Refresh" }).click(),
    ]);
    user.requestedUrls.length = 0;
    await tab.clock.runFor(20_000);
    const times = (path: string) =>
      user.requestedUrls.filter((url) => new URL(url).pathname === path).length;
    await expect.poll(() => times("/deltawire/upstreams")).toBe(2);
    expect(times("/deltawire/connect")).toBe(0);
  });

  test("shows if the block could not be copied", async () => {
    const { tab, card } = await openUpstreams();
    await tab.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));
      document.execCommand = () => false;
    });
    const button = (name: string) => card("Connect a coding agent").getByRole("button", { name });
    // The label changes back after a moment.
    await Promise.all([
      button("Could not copy: For all sessions").waitFor(),
      button("Copy: For all sessions").click(),
    ]);
    await button("Copy: For all sessions").waitFor();
  });

  test("shows the configuration that `migrate` would write, without the key, and how to apply it", async () => {
    const { tab, card } = await openUpstreams();
    const codex = card("Connect a coding agent");
    const diff = codex.getByRole("group", { name: ".codex/config.toml", exact: true });
    await diff.scrollIntoViewIfNeeded();
    expect(await diff.innerText()).toContain(
      '-base_url = "https://api.z.ai/api/paas/v4"\n-wire_api = "chat"\n',
    );
    await codex.getByText("npm start -- migrate --write").waitFor();
    expect(await tab.content()).not.toContain(secret);
    await takeScreenshot(tab, "upstreams-migrate");
  });
});

describe("Claude Code", () => {
  test("can be connected with the settings of its file, which keep what the user has and hide its key", async () => {
    const { tab, card } = await openUpstreams();
    const connect = card("Connect a coding agent");
    await connect.getByLabel("Agent").selectOption("Claude Code");
    await connect.getByLabel("Model").selectOption("lab/small-context");
    const settings = connect.getByRole("group", { name: /^For all sessions.*settings\.json:$/ });
    await settings.getByText('"ANTHROPIC_MODEL": "lab/small-context"').waitFor();
    expect(await settings.innerText()).toContain('"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "8000"');
    await connect.getByText(/^deltawire .*claude -m lab\/small-context$/).waitFor();
    await connect.getByText("Changes that connect would make").click();
    const diff = connect.getByRole("group", { name: ".claude/settings.json", exact: true });
    const text = await diff.innerText();
    expect(text).toContain('+    "ANTHROPIC_MODEL": "lab/small-context"');
    expect(text).toContain('"MY_KEY": "…"');
    await connect.getByText(/connect claude -m lab\/small-context --write$/).waitFor();
    expect(await tab.content()).not.toContain(secret);
    expect(await findAxeViolations(tab)).toEqual([]);
    await connect.scrollIntoViewIfNeeded();
    await takeScreenshot(tab, "upstreams-claude-code");
  });

  test("keeps the chosen model when another agent is chosen", async () => {
    const { card } = await openUpstreams({ colorScheme: "dark" });
    const connect = card("Connect a coding agent");
    await connect.getByLabel("Model").selectOption("lab/small-context");
    await connect.getByText(/^model = "lab\/small-context"/).waitFor();
    await connect.getByLabel("Agent").selectOption("pi");
    await connect.getByText(/run -m lab\/small-context -- pi$/).waitFor();
    // pi has two files.
    await connect.getByText(/^For all sessions, add this to .*settings\.json:$/).waitFor();
    await connect.getByText(/^For all sessions, add this to .*models\.json:$/).waitFor();
  });
});

test("the upstreams page fits on a phone", async () => {
  const { tab, card } = await openUpstreams({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  });
  await card("Connect a coding agent").scrollIntoViewIfNeeded();
  await takeScreenshot(tab, "upstreams-phone");
  expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  expect(await findAxeViolations(tab)).toEqual([]);
});
