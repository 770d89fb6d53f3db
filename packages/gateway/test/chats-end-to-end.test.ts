import {
  createChatClient,
  currentPath,
  type Chat,
  type ChatExportFormat,
  type ChatFile,
} from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemoServer, type DemoServer } from "@deltawire/demo";
import {
  ChatUser,
  getLastVersion,
  playFullChat,
  getMediaUrl,
  createChatAgents,
  privateValues,
  withheldText,
  getLastText,
  type SentLetters,
} from "./full-chat.ts";
import { summarizeToolChain } from "../../../test/chats/chat-helpers.ts";
import { startRecordingProxy, type RecordingProxy } from "./recording-proxy.ts";
import { startTestGateway, upstreamToml, type TestGateway } from "./test-gateway.ts";

/* One chat that uses every feature, over HTTP and with the demo model. It is exported, and imported into a second, empty gateway. */

const letters: SentLetters = [];
let demo: DemoServer;
let proxy: RecordingProxy;
let gateway: TestGateway;
let other: TestGateway;
let user: ChatUser;
let nodes: Awaited<ReturnType<typeof playFullChat>>;
let chat: Chat;
let file: ChatFile;
let files: Record<ChatExportFormat, string>;

beforeAll(async () => {
  demo = await startDemoServer();
  proxy = await startRecordingProxy(demo.url);
  // Replaces the built-in demo upstream, so that its requests can be inspected.
  const toml = `[server]\nport = 0\ndemo = false\n${upstreamToml("demo", proxy.url)}`;
  gateway = await startTestGateway(toml, { agents: createChatAgents(letters) });
  other = await startTestGateway(toml, { agents: createChatAgents([]) });
  const client = createClient(gateway);
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
  nodes = await playFullChat(user);
  chat = await user.chat();
  files = {
    json: await exportChat(user, "json"),
    html: await exportChat(user, "html"),
    markdown: await exportChat(user, "markdown"),
    openai: await exportChat(user, "openai"),
    glued: await exportChat(user, "glued"),
  };
  file = JSON.parse(files.json) as ChatFile;
}, 30_000);

afterAll(async () => {
  await gateway.close();
  await other.close();
  await proxy.close();
  await demo.close();
});

test("every answer ends with its expected status", () => {
  const ends = Object.entries(nodes).map(([name, node]) => [name, getLastVersion(node).status]);
  expect(new Set(ends.map(([, status]) => status))).toEqual(new Set(["completed"]));
  expect(getLastText(nodes.tool)).toContain("Paris: sunny");
  expect(getLastText(nodes.denied)).toContain("The user denied this call");
  expect(getLastText(nodes.helped)).toContain("Rome: sunny");
  const ofHelper = summarizeToolChain(getLastVersion(nodes.helped)).calls.filter(
    ({ task_id }) => task_id,
  );
  expect(ofHelper).toMatchObject([{ name: "get_weather", outcome: "completed" }]);
  expect(getLastText(nodes.transcription)).toBe("Good morning");
  expect(getMediaUrl(nodes.edited)).not.toBe(getMediaUrl(nodes.painted));
});

test("an approved call gets the original values, and a denied one never runs", () => {
  const { ofUser, inArguments } = privateValues;
  expect(letters).toEqual([{ to: ofUser, text: `my number is ${inArguments}` }]);
  expect(getLastText(nodes.approved)).toContain(
    `an answer is expected from ${privateValues.ofTool}`,
  );
  const calls = [nodes.approved, nodes.denied, nodes.deniedAnswer].map(
    (node) => summarizeToolChain(getLastVersion(node)).calls,
  );
  expect(calls).toMatchObject([
    [{ name: "send_letter", outcome: "completed", decisions: ["approve"] }],
    [{ name: "send_letter", outcome: "denied", decisions: ["deny"] }],
    [{ name: "open_diary", decisions: ["deny"] }],
  ]);
});

test("the chat has the branch, the version, the separator and the marks", () => {
  const { tool, denied, helped, transcription, rerunAnswer, branch } = nodes;
  expect(rerunAnswer.node_id).toBe(tool.node_id);
  expect(rerunAnswer.versions).toHaveLength(2);
  const path = currentPath(chat);
  expect(path.at(-1)?.node_id).toBe(branch.node_id);
  expect(path.map(({ node_id }) => node_id)).not.toContain(transcription.node_id);
  expect(chat.nodes[transcription.node_id]).toBeDefined();
  const after = path.findIndex(({ node_id }) => node_id === helped.node_id) + 1;
  expect(path[after]?.kind).toBe("separator");
  expect([chat.nodes[tool.node_id]?.pinned, chat.nodes[denied.node_id]?.hidden]).toEqual([
    true,
    true,
  ]);
  expect([chat.bookmarks, chat.tags]).toEqual([[helped.node_id], ["engine", "天气"]]);
  expect(chat.title).toContain("I am");
});

test("the model gets pinned messages and those after the separator, and no hidden ones", () => {
  const lastRequest = demo.requests.findLast(({ body }) =>
    JSON.stringify(body ?? "").includes("What do you know of me?"),
  );
  const requestText = JSON.stringify(lastRequest?.body);
  expect(requestText).toContain("Paris: sunny");
  expect(requestText).toContain("make it green");
  expect(requestText).not.toContain("Rome");
  expect(requestText).not.toContain("her number");
});

test("no private value is in any byte that reached the model's server", () => {
  const upstreamBytes = proxy.sent().toString("utf8");
  for (const value of Object.values(privateValues)) expect(upstreamBytes).not.toContain(value);
  // Random ids may contain 7946 among other digits.
  expect(upstreamBytes).not.toMatch(/lovelace|engine\.example|\b7946\b|79460958/i);
  expect(upstreamBytes).toMatch(/\{\{EMAIL_1_[a-z0-9]{4}\}\}/);
  expect(upstreamBytes).toMatch(/\{\{PHONE_1_[a-z0-9]{4}\}\}/);
  expect(upstreamBytes).toMatch(/\{\{PROJECT_1_[a-z0-9]{4}\}\}/);
});

test("a denied result is neither on the model's server nor in the chat nor in an export", () => {
  const texts = [...Object.values(files), JSON.stringify(chat), proxy.sent().toString("utf8")];
  for (const text of texts) {
    expect(text).toContain("open_diary");
    expect(text).not.toContain(withheldText);
  }
});

test("exports contain the user's original values and no placeholders", () => {
  for (const text of Object.values(files)) {
    expect(text).toContain(privateValues.ofUser);
    expect(text).not.toMatch(/\{\{(?:EMAIL|PHONE|PROJECT)_\d/);
  }
});

test("the HTML export contains its images and audio and makes no network requests", () => {
  const { html } = files;
  const sources = [...html.matchAll(/\b(?:src|srcset|poster|data|action)="([^"]*)"/g)];
  expect(sources.map(([, url = ""]) => url.slice(0, 15))).toEqual(
    expect.arrayContaining(["data:image/png;", "data:audio/wav;"]),
  );
  expect(sources.filter(([, url = ""]) => !url.startsWith("data:"))).toEqual([]);
  expect(html).not.toMatch(/<(?:script|link|iframe|object|embed|base|form)\b|@import|url\(/i);
  expect(html).toContain("Paris: sunny");
});

test("a chat that is exported and imported into an empty gateway is the same, and so is its export", async () => {
  const client = createClient(other);
  expect((await client.list()).data).toEqual([]);
  const { data } = await client.importFile(file);
  expect(data.map(({ title }) => title)).toEqual([chat.title]);
  const chatId = data[0]?.chat_id ?? "";
  expect(chatId).not.toBe(chat.chat_id);
  const { chat: imported } = await client.get(chatId);
  expect({ ...imported, chat_id: "" }).toEqual({ ...chat, chat_id: "" });
  expect(
    removeVolatileFields(JSON.parse(await exportChat({ client, chatId }, "json")) as ChatFile),
  ).toEqual(removeVolatileFields(file));

  for (const url of [nodes.painted, nodes.edited, nodes.speech].map(getMediaUrl)) {
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

test("an imported chat can be continued, with its private values masked again", async () => {
  const client = createClient(other);
  const { data } = await client.importFile(file);
  const reader = new ChatUser(client, data[0]?.chat_id ?? "");
  const before = proxy.sent().length;
  const answer = await reader.send({
    text: `Please get_weather for Oslo. ${privateValues.ofUser}`,
  });
  expect(getLastText(answer)).toContain("Oslo: sunny");
  const upstreamBytes = proxy.sent().toString("utf8");
  expect(upstreamBytes.length).toBeGreaterThan(before);
  for (const value of Object.values(privateValues)) expect(upstreamBytes).not.toContain(value);
});

test("an export in OpenAI's format contains its images and is the same after an import", async () => {
  expect(files.openai).toContain("data:image/png;base64,");
  expect(files.openai).not.toContain("/api/blobs/");
  const client = createClient(other);
  const { data } = await client.importFile(JSON.parse(files.openai));
  const { text } = await client.exportAs(data[0]?.chat_id ?? "", "openai");
  expect(JSON.parse(text)).toEqual(JSON.parse(files.openai));
});

test("a file with one invalid chat imports nothing", async () => {
  const client = createClient(other);
  const { data: before } = await client.list();
  const [exportedChat] = file.chats;
  const broken = { ...exportedChat, chat: { ...chat, roots: ["nobody"] } };
  await expect(client.importFile({ ...file, chats: [exportedChat, broken] })).rejects.toMatchObject(
    {
      status: 400,
      code: "invalid_import",
    },
  );
  expect((await client.list()).data).toEqual(before);
});

function createClient({ url }: TestGateway) {
  return createChatClient({ fetch, baseUrl: url });
}

async function exportChat(
  { client, chatId }: Pick<ChatUser, "client" | "chatId">,
  format: ChatExportFormat,
): Promise<string> {
  return (await client.exportAs(chatId, format)).text;
}

/** Removes the fields that differ from one export to the next. */
function removeVolatileFields({ exported_at: _at, chats, ...rest }: ChatFile) {
  return { ...rest, chats: chats.map((one) => ({ ...one, chat: { ...one.chat, chat_id: "" } })) };
}
