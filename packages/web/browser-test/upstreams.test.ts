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
import { ask, barriersOn, endedAnswer, staged, takePicture } from "./stage.ts";

const secret = "sk-of-an-upstream-0123456789";
const home = mkdtempSync(join(tmpdir(), "deltawire-page-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
beforeAll(() => {
  mkdirSync(join(home, ".codex"));
  writeFileSync(
    join(home, ".codex", "config.toml"),
    `model_provider = "zai"\n\n[model_providers.zai]\nname = "Z"\nbase_url = "https://api.z.ai/api/paas/v4"\nwire_api = "chat"\nexperimental_bearer_token = "${secret}"\n`,
  );
});

/** Answers until its key is revoked. */
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

/** One of its models always fails. */
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

const nobody = `http://127.0.0.1:${await freePort()}/v1`;
const stage = staged({
  toml: [
    '[mcp.tickets]\ncommand = "deltawire-program-that-is-not-there"\n',
    upstreamToml("down", nobody, { api_key: secret, retries: 0, models: ["far-away"] }),
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
  world: { cwd: home, home, env: {}, platform: "linux" },
});

async function opened(options = {}) {
  const person = await stage.person(options);
  const tab = await person.tab("#/upstreams");
  const card = (name: string) => tab.getByRole("region", { name, exact: true });
  await card("lab").waitFor();
  return { tab, card };
}

test("each upstream is shown with its address, what it speaks, how it is and its models, and no key", async () => {
  const { tab, card } = await opened();
  expect(await card("lab").innerText()).toMatch(
    /http:\/\/127\.0\.0\.1:\d+\/v1 · speaks Chat Completions/,
  );
  await card("lab").getByText("Works").waitFor();
  await card("lab")
    .getByText(/^\d+ models$/)
    .click();
  await card("lab").getByText("small-context", { exact: true }).waitFor();
  await card("keyless").getByText("Has no key").waitFor();
  await card("keyless")
    .getByText(/Set KEY_THAT_NOBODY_SET where the gateway runs/)
    .waitFor();
  expect(await tab.content()).not.toContain(secret);
  expect(await barriersOn(tab)).toEqual([]);
  await takePicture(tab, "upstreams");
});

test("a chat is begun with one of its models", async () => {
  const { tab, card } = await opened();
  await card("lab")
    .getByText(/^\d+ models$/)
    .click();
  await card("lab").getByRole("button", { name: "Chat with lab/think-tags" }).click();
  await ask(tab, "hello");
  await endedAnswer(tab);
  await tab.getByRole("article", { name: "Answer of lab/think-tags" }).waitFor();
});

test("a key that is rejected after a success is red, with the provider's words and the model's status", async () => {
  const { tab, card } = await opened();
  const asked = (model: string) =>
    stage.gateway.post("/chat/completions", {
      model: `revoking/${model}`,
      messages: [{ role: "user", content: "hello" }],
    });
  expect((await asked("one")).status).toBe(200);
  await tab.getByRole("button", { name: "Read again" }).click();
  await card("revoking").getByText("Works").waitFor();
  isRevoked = true;
  expect((await asked("two")).status).toBe(401);
  await tab.getByRole("button", { name: "Read again" }).click();
  const rejected = card("revoking").getByText("Key rejected");
  await rejected.waitFor();
  expect(await rejected.getAttribute("data-kind")).toBe("failed");
  await card("revoking")
    .getByText(/was revoked by its owner/)
    .first()
    .waitFor();
  await card("revoking").getByText("2 models, 1 fails").click();
  const models = card("revoking").getByRole("listitem");
  expect(await models.filter({ hasText: "two" }).innerText()).toContain("The last request failed");
  expect(await models.filter({ hasText: "one" }).innerText()).not.toContain("failed");
  expect(await tab.content()).not.toContain(secret);
  expect(await barriersOn(tab)).toEqual([]);
  await card("revoking").scrollIntoViewIfNeeded();
  await takePicture(tab, "upstream-key-rejected");
});

test("a model that is paused is named, with its failure", async () => {
  const { tab, card } = await opened();
  const say = (model: string, content: string) =>
    stage.gateway.post("/chat/completions", {
      model: `unsteady/${model}`,
      messages: [{ role: "user", content }],
    });
  const paused = card("unsteady").getByText(
    /^broken is paused for a while after repeated failures: .*out of memory/,
  );
  // A pause lasts some seconds: on a busy machine it may be over before the page has read of it.
  await expect
    .poll(
      async () => {
        for (let at = 0; at < 6; at += 1) await say("broken", `conversation ${at % 2}`);
        expect((await say("sound", "hello")).status).toBe(200);
        const read = tab.waitForResponse("**/deltawire/upstreams");
        await tab.getByRole("button", { name: "Read again" }).click();
        await read;
        return paused.count();
      },
      { timeout: 30_000 },
    )
    .toBe(1);
  await card("unsteady").scrollIntoViewIfNeeded();
  await takePicture(tab, "upstreams-paused-model");
});

test("an MCP server whose program is missing is named", async () => {
  const { tab, card } = await opened();
  const servers = card("Tool servers (MCP)");
  await servers.getByText("Program missing").waitFor();
  expect(await servers.innerText()).toMatch(
    /there is no program "deltawire-program-that-is-not-there" on the PATH/,
  );
  await servers.scrollIntoViewIfNeeded();
  await takePicture(tab, "upstream-mcp-missing");
});

test("one that fails says what is wrong, and the page learns it by itself", async () => {
  const { tab, card } = await opened();
  const reply = await stage.gateway.post("/chat/completions", {
    model: "down/far-away",
    messages: [{ role: "user", content: "hello" }],
  });
  expect(reply.status).toBeGreaterThanOrEqual(500);
  await tab.getByRole("button", { name: "Read again" }).click();
  await card("down")
    .getByText(/The last request failed|Left alone for a while/)
    .waitFor();
  await card("down")
    .getByText(/ECONNREFUSED|refused|cannot be reached/i)
    .waitFor();
  await takePicture(tab, "upstreams-failing");
});

describe("a lesson", () => {
  test("is shown with what the upstream said, and is forgotten on request", async () => {
    const { tab, card } = await opened({ colorScheme: "dark" });
    const lessons = card("Lessons learned");
    await lessons.getByText(/Nothing learned so far/).waitFor();
    const reply = await stage.gateway.post("/chat/completions", {
      model: "lab/temperature-1-only",
      temperature: 0.5,
      messages: [{ role: "user", content: "hello" }],
    });
    expect(reply.status).toBe(200);
    await tab.getByRole("button", { name: "Read again" }).click();
    await lessons.getByText("temperature-1-only", { exact: true }).waitFor();
    await lessons.getByText(/^It said: .*temperature/).waitFor();
    await lessons.scrollIntoViewIfNeeded();
    await takePicture(tab, "upstreams-lessons-dark");
    await lessons.getByRole("button", { name: /^Forget/ }).click();
    await lessons.getByText(/Nothing learned so far/).waitFor();
  });
});

describe("Codex", () => {
  test("is connected by the exact block, which the button copies", async () => {
    const { tab, card } = await opened();
    const codex = card("Connect Codex");
    const { block } = (await (await fetch(`${stage.gateway.url}/deltawire/codex`)).json()) as {
      block: string;
    };
    const copied = codex.getByRole("button", { name: "Copied: For good" });
    // It says so for a moment only.
    await Promise.all([
      copied.waitFor(),
      codex.getByRole("button", { name: "Copy: For good" }).click(),
    ]);
    expect(await tab.evaluate(() => navigator.clipboard.readText())).toBe(block);
    await codex.scrollIntoViewIfNeeded();
    await takePicture(tab, "upstreams-codex");

    await codex.getByLabel("Model").selectOption("lab/small-context");
    await codex.getByText('model = "lab/small-context"').waitFor();
    await codex.getByRole("button", { name: /^(?:Copy|Copied): For good/ }).click();
    await expect
      .poll(() => tab.evaluate(() => navigator.clipboard.readText()))
      .toBe(block.replace(/^model = .*/, 'model = "lab/small-context"'));
  });

  test("is asked about once, not at every look", async () => {
    const person = await stage.person();
    const tab = await person.tab("#/upstreams");
    await tab.clock.install();
    await tab.reload();
    await tab.getByRole("region", { name: "lab", exact: true }).waitFor();
    // Of time only what the test lets pass, and nothing on its way.
    await tab.clock.pauseAt((await tab.evaluate(() => Date.now())) + 5000);
    await Promise.all([
      tab.waitForResponse("**/deltawire/codex*"),
      tab.getByRole("button", { name: "Read again" }).click(),
    ]);
    person.asked.length = 0;
    await tab.clock.runFor(20_000);
    const times = (path: string) =>
      person.asked.filter((url) => new URL(url).pathname === path).length;
    await expect.poll(() => times("/deltawire/upstreams")).toBe(2);
    expect(times("/deltawire/codex")).toBe(0);
  });

  test("says when the block cannot be copied", async () => {
    const { tab, card } = await opened();
    await tab.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));
      document.execCommand = () => false;
    });
    const button = (name: string) => card("Connect Codex").getByRole("button", { name });
    // It says so for a moment only.
    await Promise.all([
      button("Cannot copy: For good").waitFor(),
      button("Copy: For good").click(),
    ]);
    await button("Copy: For good").waitFor();
  });

  test("shows what `migrate` would write, without the key, and how to write it", async () => {
    const { tab, card } = await opened();
    const codex = card("Connect Codex");
    const diff = codex.getByRole("group", { name: ".codex/config.toml", exact: true });
    await diff.scrollIntoViewIfNeeded();
    expect(await diff.innerText()).toContain(
      '-base_url = "https://api.z.ai/api/paas/v4"\n-wire_api = "chat"\n',
    );
    await codex.getByText("npm start -- migrate --write").waitFor();
    expect(await tab.content()).not.toContain(secret);
    await takePicture(tab, "upstreams-migrate");
  });
});

test("all of it fits a phone", async () => {
  const { tab, card } = await opened({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await card("Connect Codex").scrollIntoViewIfNeeded();
  await takePicture(tab, "upstreams-phone");
  expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  expect(await barriersOn(tab)).toEqual([]);
});
