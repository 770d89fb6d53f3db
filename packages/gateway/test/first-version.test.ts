import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { createChatClient, findNode, type ChatClient } from "@deltawire/tasks/chats";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { testGateway, waitUntil } from "./gateway-fixture.ts";
import type { TestGateway } from "./test-gateway.ts";

/*
 * The data file that the first version of the gateway (commit 2037379) left when it was stopped. It was filled through the
 * HTTP API with the demo model: answered, edited, stopped and failed chats, a deleted chat, a denied approval, two pending
 * approvals, and a task that was still running.
 */
const dataFile = new URL("first-version/deltawire.db.gz", import.meta.url);
/**
 * A chat that the first version exported as JSON. Its answers have notices, warnings, repairs and errors in the wording and
 * with the codes of that version.
 */
const chatFile = new URL("first-version/chats.json", import.meta.url);
const weatherChat = "chat_fbe1147085e643ea80c5eae17f66e5d5";
const waitingTask = "task_073b589265dd42f4ac17c89e230b2835";
const runningTask = "task_4f15ce22abfb4b588761ce93ad147f1f";
const pendingApproval = "apr_6f925ecc77fb4e11bdc9143ab13eb357";

// The file has a fixed date: nothing in it may expire.
const toml = "[server]\nport = 0\ndemo = true\n[chats]\ntitles = false\n[store]\nkeep_days = 0\n";

let dataFolder: string;
let gateway: TestGateway;
let client: ChatClient;

beforeEach(async () => {
  const folder = (dataFolder = await mkdtemp(join(tmpdir(), "deltawire-first-version-")));
  // After all gateways were closed, which `gateway-fixture` does last.
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(dataFolder, "deltawire.db"), gunzipSync(await readFile(dataFile)));
  gateway = await testGateway(toml, { dataFolder });
  client = createChatClient({ baseUrl: gateway.url, fetch: (url, request) => fetch(url, request) });
});

afterEach(async () => {
  await gateway.close();
});

test("former names and values of settings of a stored chat and of an imported file are replaced", async () => {
  const { chat: stored } = await client.get(weatherChat);
  await gateway.close();
  const database = new DatabaseSync(join(dataFolder, "deltawire.db"));
  const changed = database
    .prepare(
      `UPDATE chat_nodes SET json = json_set(json, '$.settings.results', 'on error', '$.settings.exact_time', json('true'))
       WHERE node_id = '' AND chat = (SELECT number FROM chats WHERE chat_id = ?)`,
    )
    .run(weatherChat);
  database.close();
  expect(changed.changes).toBe(1);
  gateway = await testGateway(toml, { dataFolder });
  client = createChatClient({ baseUrl: gateway.url, fetch: (url, request) => fetch(url, request) });

  const settings = { ...stored.settings, result_approval: "on_error", message_times: true };
  const { chat, stamp } = await client.get(weatherChat);
  expect(chat.settings).toEqual(settings);
  await client.applyEdits(weatherChat, {
    revision: chat.revision,
    edits: [{ type: "settings", patch: { turns: 3 } }],
  });
  const update = await client.getSince(weatherChat, stamp);
  expect(update).toMatchObject({ chat: { settings: { ...settings, turns: 3 } } });

  const file = await (
    await fetch(`${gateway.url}/api/chats/${weatherChat}/export?format=json`)
  ).text();
  const former = file
    .replace(/"result_approval":\s*"on_error"/, '"results":"on error"')
    .replace('"message_times":', '"exact_time":');
  expect(former).toContain('"results":"on error"');
  expect(former).toContain('"exact_time":');
  const reply = await client.importFile(JSON.parse(former));
  const id = reply.data[0]?.chat_id ?? "";
  expect((await client.get(id)).chat.settings).toEqual({ ...settings, turns: 3 });
});

describe("a data file of the first version", () => {
  test("still has its chats, with settings, branches, versions and attachments", async () => {
    const { data } = await client.list();
    expect(data.map(({ title, opening_text }) => title || opening_text)).toEqual([
      "hi",
      "long markdown 3",
      'please send_message to Bob: "hello"',
      "Weather",
    ]);
    const { chat } = await client.get(weatherChat);
    const answers = Object.values(chat.nodes).filter((node) => node.kind === "answer");
    expect(chat.settings).toEqual({
      agent: "demo-agent",
      turns: 5,
      privacy: {
        enabled: true,
        fields: [{ kind: "email" }, { kind: "name", value: "Ada Lovelace" }],
      },
    });
    expect(answers.map(({ versions }) => versions.map(({ status }) => status))).toEqual([
      ["completed", "completed"],
      ["completed"],
    ]);
    expect(JSON.stringify(chat)).toContain('"filename":"notes.txt"');
  });

  test("has answers that can be searched, exported and continued by a new message", async () => {
    expect((await client.search("ann@example.com")).data[0]?.chat.chat_id).toBe(weatherChat);
    const exported = await fetch(`${gateway.url}/api/chats/${weatherChat}/export`);
    expect(await exported.text()).toContain("**Tool call:** `get_weather`");
    const { node_id } = await client.send(weatherChat, { text: "Hello" });
    await waitUntil("the answer is completed", async () => {
      const node = findNode((await client.get(weatherChat)).chat, node_id);
      return node?.kind === "answer" && node.versions[0]?.status === "completed";
    });
  });

  test("has a pending approval, and its task continues once it is approved", async () => {
    const decided = await fetch(`${gateway.url}/api/approvals/${pendingApproval}`, {
      method: "POST",
      body: JSON.stringify({ decision: "approve", scope: "once" }),
    });
    expect(decided.status).toBe(200);
    await waitUntil(
      "the approved task is completed",
      async () => (await fetchStatus(waitingTask)) === "completed",
    );
  });

  test("has a task that was running, which is completed", async () => {
    await waitUntil(
      "the running task is completed",
      async () => (await fetchStatus(runningTask)) === "completed",
    );
    const view = await fetch(`${gateway.url}/api/tasks/${runningTask}`);
    expect(await view.text()).toContain("Oslo");
  });
});

describe("a chat file of the first version", () => {
  test("is imported with its answers, their notices and warnings, attachments and settings", async () => {
    const imported = await fetch(`${gateway.url}/api/chats/import`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: await readFile(chatFile),
    });
    expect(imported.status).toBe(201);
    const { data } = await client.list();
    const chatId = data.find(({ title }) => title === "Notices")?.chat_id ?? "";
    const { chat } = await client.get(chatId);
    expect(chat.settings).toEqual({
      model: "demo/clean",
      tool_groups: ["time"],
      limits: { rounds: 1 },
    });
    const answers = Object.values(chat.nodes)
      .filter((node) => node.kind === "answer")
      .flatMap(({ versions }) => versions);
    expect(answers.map(({ status }) => status)).toEqual([
      ...Array<string>(5).fill("completed"),
      ...Array<string>(3).fill("error"),
      "completed",
    ]);
    expect(answers[0]?.notices).toEqual([
      'The sound "a.wav" was left out: this model does not hear.',
      'The file "a.zip" was left out: it is neither text in UTF-8 nor a picture, a sound or a PDF.',
    ]);
    expect(answers[1]?.warnings).toContainEqual({
      code: "options_left_out",
      message: "top_k is not taken by demo: left out",
      count: 1,
    });
    expect(answers[5]?.error).toMatchObject({ code: "upstream_redirect" });
  });
});

async function fetchStatus(taskId: string): Promise<string> {
  const reply = await fetch(`${gateway.url}/api/tasks/${taskId}`);
  return ((await reply.json()) as { status: string }).status;
}
