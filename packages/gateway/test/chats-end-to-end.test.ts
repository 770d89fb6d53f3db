import {
  createChatClient,
  currentPath,
  type Chat,
  type ChatExportFormat,
  type ChatFile,
} from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemo, type Demo } from "@deltawire/demo";
import {
  ChatUser,
  lastVersion,
  live,
  mediumOf,
  officeAgents,
  privateValues,
  refusedWords,
  saidLast,
  type Letters,
} from "./eventful-chat.ts";
import { chainOf } from "../../../test/chats/chat-steps.ts";
import { recordingProxy, type RecordingProxy } from "./recording-proxy.ts";
import { runningGateway, upstreamToml, type TestGateway } from "./running-gateway.ts";

/* One chat in which everything happens, over HTTP to the demo model, and then in and out of a second, empty gateway. */

const letters: Letters = [];
let demo: Demo;
let proxy: RecordingProxy;
let gateway: TestGateway;
let other: TestGateway;
let user: ChatUser;
let made: Awaited<ReturnType<typeof live>>;
let chat: Chat;
let file: ChatFile;
let files: Record<ChatExportFormat, string>;

beforeAll(async () => {
  demo = await startDemo();
  proxy = await recordingProxy(demo.url);
  // In place of the one that every gateway has: what it is sent is to be seen.
  const toml = `[server]\nport = 0\ndemo = false\n${upstreamToml("demo", proxy.url)}`;
  gateway = await runningGateway(toml, { agents: officeAgents(letters) });
  other = await runningGateway(toml, { agents: officeAgents([]) });
  const client = clientOf(gateway);
  const { chat: created } = await client.create({
    settings: {
      agent: "clerk",
      instructions: `Be kind to ${privateValues.ofUser}.`,
      privacy: {
        enabled: true,
        fields: [
          { kind: "email" },
          { kind: "phone" },
          { kind: "text", value: privateValues.ofProject, label: "PROJECT" },
        ],
      },
    },
  });
  user = new ChatUser(client, created.chat_id);
  made = await live(user);
  chat = await user.chat();
  files = {
    json: await exported(user, "json"),
    html: await exported(user, "html"),
    markdown: await exported(user, "markdown"),
    openai: await exported(user, "openai"),
    glued: await exported(user, "glued"),
  };
  file = JSON.parse(files.json) as ChatFile;
}, 30_000);

afterAll(async () => {
  await gateway.close();
  await other.close();
  await proxy.close();
  await demo.close();
});

test("every answer has come to its end as it should", () => {
  const ends = Object.entries(made).map(([name, node]) => [name, lastVersion(node).status]);
  expect(new Set(ends.map(([, status]) => status))).toEqual(new Set(["completed"]));
  expect(saidLast(made.tool)).toContain("Paris: sunny");
  expect(saidLast(made.denied)).toContain("The user refused this call");
  expect(saidLast(made.helped)).toContain("Rome: sunny");
  const ofHelper = chainOf(lastVersion(made.helped)).calls.filter(({ task_id }) => task_id);
  expect(ofHelper).toMatchObject([{ name: "get_weather", outcome: "completed" }]);
  expect(saidLast(made.heard)).toBe("Good morning");
  expect(mediumOf(made.edited)).not.toBe(mediumOf(made.painted));
});

test("an approved call had the very values, and a denied one never ran", () => {
  const { ofUser, inArguments } = privateValues;
  expect(letters).toEqual([{ to: ofUser, text: `my number is ${inArguments}` }]);
  expect(saidLast(made.approved)).toContain(`an answer is expected from ${privateValues.ofTool}`);
  const calls = [made.approved, made.denied, made.kept].map(
    (node) => chainOf(lastVersion(node)).calls,
  );
  expect(calls).toMatchObject([
    [{ name: "send_letter", outcome: "completed", decisions: ["approve"] }],
    [{ name: "send_letter", outcome: "denied", decisions: ["deny"] }],
    [{ name: "open_diary", decisions: ["deny"] }],
  ]);
});

test("the tree has the branch, the version, the separator and the marks", () => {
  const { tool, denied, helped, heard, again, branch } = made;
  expect(again.node_id).toBe(tool.node_id);
  expect(again.versions).toHaveLength(2);
  const path = currentPath(chat);
  expect(path.at(-1)?.node_id).toBe(branch.node_id);
  expect(path.map(({ node_id }) => node_id)).not.toContain(heard.node_id);
  expect(chat.nodes[heard.node_id]).toBeDefined();
  const after = path.findIndex(({ node_id }) => node_id === helped.node_id) + 1;
  expect(path[after]?.kind).toBe("separator");
  expect([chat.nodes[tool.node_id]?.pinned, chat.nodes[denied.node_id]?.hidden]).toEqual([
    true,
    true,
  ]);
  expect([chat.bookmarks, chat.tags]).toEqual([[helped.node_id], ["engine", "天气"]]);
  expect(chat.title).toContain("I am");
});

test("the branch was told what is pinned and what stands behind the separator, and nothing that is hidden", () => {
  const asked = demo.requests.findLast(({ body }) =>
    JSON.stringify(body ?? "").includes("What do you know of me?"),
  );
  const told = JSON.stringify(asked?.body);
  expect(told).toContain("Paris: sunny");
  expect(told).toContain("make it green");
  expect(told).not.toContain("Rome");
  expect(told).not.toContain("her number");
});

test("no private value is in any byte that reached the model's server", () => {
  const sent = proxy.sent().toString("utf8");
  for (const value of Object.values(privateValues)) expect(sent).not.toContain(value);
  expect(sent).not.toMatch(/lovelace|engine\.example|7946/i);
  expect(sent).toMatch(/\{\{EMAIL_1_[a-z0-9]{4}\}\}/);
  expect(sent).toMatch(/\{\{PHONE_1_[a-z0-9]{4}\}\}/);
  expect(sent).toMatch(/\{\{PROJECT_1_[a-z0-9]{4}\}\}/);
});

test("a result that was refused is nowhere: not at the model's server, not in the chat, in no export", () => {
  const texts = [...Object.values(files), JSON.stringify(chat), proxy.sent().toString("utf8")];
  for (const text of texts) {
    expect(text).toContain("open_diary");
    expect(text).not.toContain(refusedWords);
  }
});

test("exports have the user's own values, and nothing of what stood for them", () => {
  for (const text of Object.values(files)) {
    expect(text).toContain(privateValues.ofUser);
    expect(text).not.toMatch(/\{\{(?:EMAIL|PHONE|PROJECT)_\d/);
  }
});

test("the page has its pictures and sounds in it, and asks nothing of anybody", () => {
  const { html } = files;
  const sources = [...html.matchAll(/\b(?:src|srcset|poster|data|action)="([^"]*)"/g)];
  expect(sources.map(([, url = ""]) => url.slice(0, 15))).toEqual(
    expect.arrayContaining(["data:image/png;", "data:audio/wav;"]),
  );
  expect(sources.filter(([, url = ""]) => !url.startsWith("data:"))).toEqual([]);
  expect(html).not.toMatch(/<(?:script|link|iframe|object|embed|base|form)\b|@import|url\(/i);
  expect(html).toContain("Paris: sunny");
});

test("a chat that was exported and imported into an empty gateway is the same, and so is its export", async () => {
  const client = clientOf(other);
  expect((await client.list()).data).toEqual([]);
  const { data } = await client.importFrom(file);
  expect(data.map(({ title }) => title)).toEqual([chat.title]);
  const chatId = data[0]?.chat_id ?? "";
  expect(chatId).not.toBe(chat.chat_id);
  const { chat: imported } = await client.open(chatId);
  expect({ ...imported, chat_id: "" }).toEqual({ ...chat, chat_id: "" });
  expect(comparable(JSON.parse(await exported({ client, chatId }, "json")) as ChatFile)).toEqual(
    comparable(file),
  );

  for (const url of [made.painted, made.edited, made.spoken].map(mediumOf)) {
    const [here, there] = await Promise.all(
      [gateway, other].map(async (one) =>
        Buffer.from(await (await fetch(one.url + url)).arrayBuffer()),
      ),
    );
    expect(there?.equals(here ?? Buffer.alloc(0))).toBe(true);
  }
  const found = await client.search("charles engine");
  expect(found.data.map(({ chat: one }) => one.chat_id)).toEqual([chatId]);
  expect((await client.list({ tag: "天气" })).data).toHaveLength(1);
});

test("an imported chat goes on where it was, with its private values masked anew", async () => {
  const client = clientOf(other);
  const { data } = await client.importFrom(file);
  const reader = new ChatUser(client, data[0]?.chat_id ?? "");
  const before = proxy.sent().length;
  const answer = await reader.send({
    text: `Please get_weather for Oslo. ${privateValues.ofUser}`,
  });
  expect(saidLast(answer)).toContain("Oslo: sunny");
  const sent = proxy.sent().toString("utf8");
  expect(sent.length).toBeGreaterThan(before);
  for (const value of Object.values(privateValues)) expect(sent).not.toContain(value);
});

test("OpenAI's messages have their pictures in them, and come in again as they went out", async () => {
  expect(files.openai).toContain("data:image/png;base64,");
  expect(files.openai).not.toContain("/api/blobs/");
  const client = clientOf(other);
  const { data } = await client.importFrom(JSON.parse(files.openai));
  const { text } = await client.exportAs(data[0]?.chat_id ?? "", "openai");
  expect(JSON.parse(text)).toEqual(JSON.parse(files.openai));
});

test("of a file with one chat that is broken nothing is imported", async () => {
  const client = clientOf(other);
  const { data: before } = await client.list();
  const [whole] = file.chats;
  const broken = { ...whole, chat: { ...chat, roots: ["nobody"] } };
  await expect(client.importFrom({ ...file, chats: [whole, broken] })).rejects.toMatchObject({
    status: 400,
    code: "bad_import",
  });
  expect((await client.list()).data).toEqual(before);
});

function clientOf({ url }: TestGateway) {
  return createChatClient({ fetch, base: url });
}

async function exported(
  { client, chatId }: Pick<ChatUser, "client" | "chatId">,
  format: ChatExportFormat,
): Promise<string> {
  return (await client.exportAs(chatId, format)).text;
}

/** All but what differs from one export to the next. */
function comparable({ exported_at: _at, chats, ...rest }: ChatFile) {
  return { ...rest, chats: chats.map((one) => ({ ...one, chat: { ...one.chat, chat_id: "" } })) };
}
