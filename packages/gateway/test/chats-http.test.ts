import {
  applyPatch,
  chatFaults,
  type Chat,
  type ChatApiError,
  type ChatPatch,
  type PersonEdit,
} from "@deltawire/tasks/chats";
import { openStore } from "@deltawire/store";
import { describe, expect, test } from "vitest";
import {
  answeredChat,
  answersOf,
  chatScene,
  errorOf,
  refusalOf,
  textOf,
  whenSettled,
} from "./chat-scene.ts";
import { pause } from "./scene.ts";

describe("a chat", () => {
  test("is created at an address of its own, and opened there", async () => {
    const { client, url, replies } = await chatScene();
    const made = await client.create({
      title: " Plans\r\n",
      tags: ["home"],
      settings: { model: "demo/clean", turns: 3, limits: { rounds: 2 } },
    });
    expect(made).toMatchObject({
      chat: { title: "Plans", title_by: "user", tags: ["home"], revision: 0, nodes: {} },
      usage: { total_tokens: 0 },
    });
    expect(made.chat.settings).toMatchObject({ model: "demo/clean", turns: 3 });
    expect(replies[0]?.reply.status).toBe(201);
    const address = replies[0]?.reply.headers.get("location") ?? "";
    expect(address).toBe(`/api/chats/${made.chat.chat_id}`);
    expect(await (await fetch(url + address)).json()).toEqual(made);
    const empty = await fetch(`${url}/api/chats`, { method: "POST" });
    expect(empty.status).toBe(201);
  });

  test("is made once under a key, and so are those of a file and a part of another", async () => {
    const { client } = await chatScene();
    const twice = async <Made>(make: (key: { idempotencyKey: string }) => Promise<Made>) => {
      const key = { idempotencyKey: `key ${Math.random()}` };
      const [one, other] = await Promise.all([make(key), make(key)]);
      expect(other).toEqual(one);
      return one;
    };
    const { chat } = await twice((key) => client.create({ title: "One" }, key));
    const { id, question } = await answeredChat(client);
    await twice((key) => client.extract(id, { node_id: question }, key));
    const { text } = await client.exportAs(id, "json");
    const file = JSON.parse(text) as { chats: unknown[] };
    const several = { ...file, chats: [...file.chats, ...file.chats] };
    expect((await twice((key) => client.importFrom(several, key))).data).toHaveLength(2);
    expect((await client.list()).data).toHaveLength(5);
    const other = await client.create({ title: "One" }, { idempotencyKey: "k" });
    expect(other.chat.chat_id).not.toBe(chat.chat_id);
    const refused = client.create({ title: "Two" }, { idempotencyKey: "k" });
    expect((await refusalOf(refused)).slice(0, 2)).toEqual([409, "idempotency_conflict"]);
  });

  test("answers a message, and the answer is a task that anybody can follow", async () => {
    const { client, url, replies } = await chatScene();
    const { chat } = await client.create({ settings: { model: "demo/clean" } });
    const sent = await client.send(chat.chat_id, { text: "Hello" });
    const { reply } = replies.at(-1) ?? {};
    expect([reply?.status, reply?.headers.get("location")]).toEqual([
      201,
      `/api/tasks/${sent.task_id}`,
    ]);
    expect(reply?.headers.get("idempotent-replayed")).toBeNull();
    const [running] = answersOf({ ...chat, nodes: sent.nodes });
    expect(running).toMatchObject({
      status: "running",
      version_id: sent.version_id,
      task_id: sent.task_id,
    });
    const events = await (await fetch(`${url}/api/tasks/${sent.task_id}/events?after=-1`)).text();
    expect(events).toContain('"type":"task.completed"');
    const { chat: answered, usage } = await whenSettled(client, chat.chat_id);
    expect(textOf(answered, sent.node_id)).toContain("You said:");
    expect(usage.output_tokens).toBeGreaterThan(0);
  });

  test("shows while it is answered what has been said so far", async () => {
    const { client } = await chatScene();
    const { chat } = await client.create();
    const sent = await client.send(chat.chat_id, { text: "long 200" });
    let seen = "";
    for (let tries = 0; seen === "" && tries < 200; tries += 1) {
      await pause(10);
      seen = textOf((await client.open(chat.chat_id)).chat, sent.node_id);
    }
    const before = await client.open(chat.chat_id);
    const { data, ...patch } = await client.stop(chat.chat_id);
    expect(data).toEqual([
      {
        chat_id: chat.chat_id,
        node_id: sent.node_id,
        version_id: sent.version_id,
        task_id: sent.task_id,
      },
    ]);
    const { chat: stopped, stamp, usage } = await client.open(chat.chat_id);
    expect(answersOf(stopped)).toMatchObject([{ status: "aborted" }]);
    // So no second request is needed.
    expect(patch).toMatchObject({ from: before.stamp, stamp, usage });
    expect(applyPatch(before.chat, patch)).toEqual(stopped);
    const kept = textOf(stopped, sent.node_id);
    expect(seen).not.toBe("");
    expect(kept.startsWith(seen)).toBe(true);
    expect(await client.stop(chat.chat_id)).toMatchObject({ data: [], from: stamp, nodes: {} });
    const more = await client.continueAnswer(chat.chat_id, { node_id: sent.node_id });
    expect(more.node_id).toBe(sent.node_id);
    await client.stop(chat.chat_id, { node_id: sent.node_id });
    const { chat: gone } = await whenSettled(client, chat.chat_id);
    expect(answersOf(gone)[1]).toMatchObject({ continues: sent.version_id });
  });

  test("is asked again, edited and branched; patches make of the old chat the new one", async () => {
    const { client } = await chatScene();
    const { id, question, answer, settled } = await answeredChat(client);
    const again = await client.rerun(id, { node_id: answer });
    expect(again).toMatchObject({ node_id: answer, from: settled.stamp });
    let chat = applyPatch(settled.chat, again);
    const twice = await whenSettled(client, id);
    expect(Object.keys(chat.nodes)).toEqual(Object.keys(twice.chat.nodes));
    expect(answersOf(twice.chat)).toHaveLength(2);
    chat = twice.chat;
    const take = async (changing: Promise<ChatPatch>): Promise<void> => {
      chat = applyPatch(chat, await changing);
      expect(chatFaults(chat)).toEqual([]);
    };
    await take(client.edit(id, { node_id: question, text: "Good morning", send: false }));
    await take(client.edit(id, { node_id: answer, text: "Good morning to you" }));
    expect(textOf(chat, answer)).toBe("Good morning to you");
    const settings: PersonEdit = { type: "settings", patch: { turns: 2 } };
    await take(
      client.edits(id, {
        revision: chat.revision,
        edits: [
          { type: "rename", title: "Early\n\n  Mornings " },
          { type: "tag", tags: ["a", "b"] },
          settings,
        ],
      }),
    );
    expect((await client.open(id)).chat).toEqual(chat);
    expect(chat).toMatchObject({
      title: "Early Mornings",
      tags: ["a", "b"],
      settings: { turns: 2 },
    });
    const branched = await client.edit(id, { node_id: question, as: "branch", text: "Bye" });
    expect(branched).toHaveProperty("task_id");
    await take(Promise.resolve(branched));
    await whenSettled(client, id);
    expect(chat.roots).toHaveLength(2);
    expect(chat.chosen[""]).toBe(chat.roots[1]);
  });

  test("gives back what was deleted in it, and comes back when it was deleted itself", async () => {
    const { client, replies } = await chatScene();
    const { id, question, settled } = await answeredChat(client);
    const gone = await client.edits(id, {
      revision: settled.chat.revision,
      edits: [{ type: "delete_node", node_id: question, children: "delete" }],
    });
    expect(gone.gone).toHaveLength(2);
    const [removal_id = ""] = gone.removal_ids ?? [];
    // A page that was loaded anew finds it too.
    expect(await client.removals(id)).toEqual({
      data: [
        {
          removal_id,
          removed_at: expect.stringMatching(/^20/),
          what: "nodes",
          count: 2,
          excerpt: expect.stringContaining("Hello"),
        },
      ],
    });
    const back = await client.undo(id, { removal_id });
    expect(applyPatch(applyPatch(settled.chat, gone), back).nodes).toEqual(settled.chat.nodes);
    expect(await client.removals(id)).toEqual({ data: [] });
    expect(await refusalOf(client.undo(id, { removal_id }))).toEqual([
      404,
      "unknown_removal",
      undefined,
    ]);
    await client.remove(id);
    expect(replies.at(-1)?.reply.status).toBe(204);
    expect(await client.list()).toMatchObject({ data: [] });
    expect(await client.list({ deleted: true })).toMatchObject({ data: [{ chat_id: id }] });
    expect((await client.open(id)).deleted_at).toMatch(/^20/);
    expect(await refusalOf(client.send(id, { text: "x" }))).toEqual([
      404,
      "unknown_chat",
      undefined,
    ]);
    expect((await client.restore(id)).deleted_at).toBeUndefined();
    expect(await client.list()).toMatchObject({ data: [{ chat_id: id }] });
    await client.remove(id, { forever: true });
    expect(await refusalOf(client.restore(id))).toEqual([404, "unknown_chat", undefined]);
  });

  test("is taken apart, written as files and read from them", async () => {
    const { client, url } = await chatScene();
    const { id, answer, question, settled } = await answeredChat(client, "你好 there");
    const part = await client.extract(id, { node_id: question });
    expect(part.chat.chat_id).not.toBe(id);
    expect(textOf(part.chat, Object.keys(part.chat.nodes)[1] ?? "")).toBe(
      textOf(settled.chat, answer),
    );
    await client.edits(id, {
      revision: settled.chat.revision,
      edits: [{ type: "rename", title: '../a "b"\r\nc: 你好' }],
    });
    const file = await client.exportAs(id, "json");
    expect(file).toMatchObject({ media_type: "application/json", filename: "a b c 你好.json" });
    const { data } = await client.importFrom(JSON.parse(file.text));
    expect(data).toMatchObject([{ messages: 2, tags: [], usage: settled.usage }]);
    const copy = await client.open(data[0]?.chat_id ?? "");
    expect(answersOf(copy.chat)[0]?.output).toEqual(answersOf(settled.chat)[0]?.output);
    const markdown = await client.exportAs(id, "markdown");
    expect(markdown.media_type).toBe("text/markdown");
    expect(markdown.text).toContain("你好 there");
    const openai = await client.exportAs(id, "openai");
    expect(openai.filename).toBe("a b c 你好.openai.json");
    const messages = JSON.parse(openai.text) as unknown;
    expect((await client.importFrom(messages)).data).toMatchObject([
      { messages: 2, first_words: "你好 there" },
    ]);
    const inOne = await client.exportAs(id, "glued");
    expect(inOne.filename).toBe("a b c 你好.glued.json");
    const glued = JSON.parse(inOne.text) as { messages: unknown };
    expect(glued.messages).toMatchObject([
      { message: { role: "user", content: "你好 there" } },
      { message: { role: "assistant" }, author: "demo/clean" },
    ]);
    const page = await fetch(`${url}/api/chats/${id}/export?format=html`);
    expect(page.headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'/);
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("content-disposition")).toBe(
      `attachment; filename="a b c _.html"; filename*=UTF-8''a%20b%20c%20%E4%BD%A0%E5%A5%BD.html`,
    );
    expect(await page.text()).toMatch(/^<!doctype html>/);
  });
});

describe("the list of chats", () => {
  test("comes in pages, by tag, and by what was said", async () => {
    const { client } = await chatScene();
    for (const title of ["one", "two", "three", "four", "five"])
      await client.create({ title, tags: title.includes("o") ? ["o"] : [] });
    const first = await client.list({ limit: 2 });
    expect(first.data.map(({ title }) => title)).toEqual(["five", "four"]);
    const second = await client.list({ limit: 2, before: first.next_before ?? "" });
    expect(second.data.map(({ title }) => title)).toEqual(["three", "two"]);
    const third = await client.list({ limit: 2, before: second.next_before ?? "" });
    expect(third).toMatchObject({ data: [{ title: "one" }], has_more: false, next_before: null });
    expect((await client.list({ tag: "o" })).data.map(({ title }) => title)).toEqual([
      "four",
      "two",
      "one",
    ]);
    expect(await client.tags()).toEqual({ data: [{ tag: "o", chats: 3 }] });
    const { id } = await answeredChat(client, "今天天气很好");
    const { data } = await client.search("天气");
    expect(data.map(({ chat }) => chat.chat_id)).toEqual([id]);
    expect(data[0]?.hits[0]?.text).toContain("天气");
    expect(await client.search("天气", { tag: "o" })).toEqual({ data: [] });
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["deleted=yes", "deleted"],
    ["q=%20", "q"],
    [`q=${"a".repeat(201)}`, "q"],
    ["q=a&before=b", "before"],
    ["q=a&deleted=true", "deleted"],
    ["before=nobody", "before"],
  ])("is refused for ?%s", async (query, param) => {
    const { url } = await chatScene();
    const response = await fetch(`${url}/api/chats?${query}`);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  });
});

describe("what there is to choose from", () => {
  test("models, agents, groups and skills, with what a chat has that says nothing", async () => {
    const { client } = await chatScene();
    const choices = await client.choices();
    const names = choices.models.map(({ name }) => name);
    // Under one name each: `clean` would do as well.
    expect(names.filter((name) => name.endsWith("clean"))).toEqual(["demo/clean"]);
    expect(choices.models).toContainEqual(
      expect.objectContaining({ name: "demo/clean", type: "chat", tools: true }),
    );
    expect(choices.agents.map(({ name }) => name)).toContain("demo-agent");
    expect(choices.tool_groups).toContain("time");
    // Where nothing is configured, a new user talks to the agent that shows what there is.
    expect(choices.defaults).toMatchObject({ agent: "demo-agent", titles: false, skills: [] });
    expect(choices.defaults.model).toBeUndefined();
    expect(choices.defaults.limits.rounds).toBeGreaterThan(0);
  });

  test("the variables of a chat are none before a tool has brought one", async () => {
    const { client } = await chatScene();
    const { chat } = await client.create();
    expect(await client.variables(chat.chat_id)).toEqual({ data: [] });
    expect(await refusalOf(client.variables("nobody"))).toEqual([404, "unknown_chat", undefined]);
  });
});

describe("attachments", () => {
  const png = Buffer.from("89504e470d0a1a0a0000", "hex");

  test("of a draft are there when it is sent weeks later", async () => {
    const store = await openStore({ path: ":memory:" });
    const { client } = await chatScene({ store });
    const { chat } = await client.create();
    const bytes = new TextEncoder().encode("The sea rises.");
    const { url } = await client.putBlob(bytes, { mediaType: "text/plain", filename: "sea.txt" });
    const day = 24 * 60 * 60 * 1000;
    await store.prune(Date.now() + 29 * day);
    const attachments = [{ kind: "file" as const, url, filename: "sea.txt" }];
    await client.send(chat.chat_id, { text: "Read this", attachments });
    const settled = await whenSettled(client, chat.chat_id);
    expect(answersOf(settled.chat)).toMatchObject([{ status: "completed" }]);
    const unsent = await client.putBlob(new TextEncoder().encode("Never sent."), {
      mediaType: "text/plain",
      filename: "unsent.txt",
    });
    await store.prune(Date.now() + 31 * day);
    const late = { text: "x", attachments: [{ kind: "file" as const, url: unsent.url }] };
    await expect(client.send(chat.chat_id, late)).rejects.toThrow(/30 days: attach it again/);
  });

  test("are put first, or come as data: URLs, and are blobs in the chat", async () => {
    const { client, url } = await chatScene();
    const bytes = new Uint8Array(png);
    const blob = await client.putBlob(bytes, { mediaType: "image/png", filename: "a.png" });
    expect(blob).toEqual({
      url: expect.stringMatching(/^\/api\/blobs\/[\da-f]{64}$/) as string,
      media_type: "image/png",
      size: png.length,
      filename: "a.png",
    });
    const back = await fetch(url + blob.url);
    expect(Buffer.from(await back.arrayBuffer())).toEqual(png);
    const { chat } = await client.create();
    const sent = await client.send(chat.chat_id, {
      text: "What is this?",
      attachments: [
        { kind: "image", url: blob.url },
        { kind: "image", url: `data:image/png;base64,${png.toString("base64")}` },
        { kind: "file", url: "data:,hello%20there", filename: "a.txt" },
        { kind: "image", url: "https://example.org/a.png" },
      ],
      contexts: [{ kind: "page", title: "A page", text: "words" }],
    });
    await client.stop(chat.chat_id);
    const [question] = Object.values(sent.nodes).filter((node) => node.kind === "user");
    const { media_type, size } = blob;
    expect(question?.versions[0]?.attachments).toEqual([
      { kind: "image", url: blob.url, media_type, size },
      { kind: "image", url: blob.url, media_type, size },
      {
        kind: "file",
        url: expect.stringMatching(/^\/api\/blobs\//) as string,
        filename: "a.txt",
        media_type: "text/plain",
        size: 11,
      },
      { kind: "image", url: "https://example.org/a.png" },
    ]);
  });

  test.each([
    ["file:///etc/passwd"],
    ["javascript:alert(1)"],
    [`/api/blobs/${"0".repeat(64)}`],
    ["data:image/png;base64"],
    [`data:${";".repeat(100_000)},`],
    ["data:image/png;base64,§"],
    ["data:image/png;base64,"],
    ["data:text/plain,%E4"],
  ])("at %.40s are refused, and nothing is written", async (url) => {
    const { client } = await chatScene();
    const { chat } = await client.create();
    const attachments = [{ kind: "file", url }] as const;
    expect(await refusalOf(client.send(chat.chat_id, { text: "x", attachments }))).toEqual([
      400,
      "invalid_request",
      "attachments[0].url",
    ]);
    expect((await client.open(chat.chat_id)).chat).toEqual(chat);
  });

  test.each([
    ["audio", "data:text/plain,It%20rained.", undefined, "no sound but text/plain"],
    ["audio", "data:audio/mpeg,It%20rained.", undefined, "no sound but text"],
    ["audio", "data:,It%20rained.", "audio/wav", "no sound but text"],
    ["image", "data:,It%20rained.", "image/png", "no picture but text"],
    ["image", "data:image/png,RIFF1234WAVE", undefined, "no picture but audio/wav"],
    [
      "audio",
      `data:audio/wav;base64,${png.toString("base64")}`,
      "audio/wav",
      "no sound but image/png",
    ],
  ] as const)("that call themselves %s and are %s as %s are %s", async (...wrong) => {
    const [kind, url, media_type, message] = wrong;
    const { client } = await chatScene();
    const { chat } = await client.create();
    const named = { kind, url, ...(media_type === undefined ? {} : { media_type }) };
    const file = { kind: "file", url } as const;
    const sending = client.send(chat.chat_id, { text: "x", attachments: [file, named] });
    expect(await errorOf(sending)).toMatchObject({
      status: 400,
      code: "invalid_request",
      param: "attachments[1].kind",
      message: expect.stringContaining(`this is ${message}`) as string,
    });
    expect((await client.open(chat.chat_id)).chat).toEqual(chat);
  });

  test("that were put before are no sound either, whatever was said of them then", async () => {
    const { client } = await chatScene();
    const { chat } = await client.create();
    const words = new Uint8Array(Buffer.from("It rained."));
    for (const mediaType of ["text/plain", "audio/mpeg"]) {
      const { url } = await client.putBlob(words, { mediaType });
      const attachments = [{ kind: "audio", url, media_type: "audio/mpeg" }] as const;
      const sending = client.send(chat.chat_id, { text: "x", attachments });
      expect(await refusalOf(sending)).toEqual([400, "invalid_request", "attachments[0].kind"]);
    }
  });

  test("are what their bytes are, and not what they are called", async () => {
    const { client } = await chatScene();
    const { chat } = await client.create();
    const base64 = png.toString("base64");
    const svg = "data:image/svg+xml,%3Csvg%2F%3E";
    const webm = `data:video/webm;base64,${Buffer.from("1a45dfa300", "hex").toString("base64")}`;
    const sent = await client.send(chat.chat_id, {
      text: "x",
      attachments: [
        { kind: "image", url: `data:text/plain;base64,${base64}`, media_type: "image/gif" },
        { kind: "image", url: svg },
        { kind: "audio", url: webm },
        { kind: "audio", url: "data:audio/amr;base64,AAEC/w==" },
      ],
    });
    await client.stop(chat.chat_id);
    const [question] = Object.values(sent.nodes).filter((node) => node.kind === "user");
    const types = question?.versions[0]?.attachments.map(({ media_type }) => media_type);
    expect(types).toEqual(["image/png", "image/svg+xml", "video/webm", "audio/amr"]);
  });

  test("that say nothing of themselves are known by their bytes and their names", async () => {
    const { url } = await chatScene();
    const put = async (
      body: string | Buffer<ArrayBuffer>,
      type: string,
      name = "",
    ): Promise<unknown> => {
      const response = await fetch(`${url}/api/blobs?filename=${name}`, {
        method: "POST",
        headers: { "content-type": type },
        body,
      });
      const reply = (await response.json()) as { media_type?: string; error?: { param: string } };
      return [response.status, reply.media_type ?? reply.error?.param];
    };
    const curls = "application/x-www-form-urlencoded";
    expect(await put(Buffer.from(png), curls)).toEqual([201, "image/png"]);
    expect(await put("a,b", "application/octet-stream", "a.CSV")).toEqual([201, "text/csv"]);
    expect(await put("a,b", curls, "a.xyz")).toEqual([201, "application/octet-stream"]);
    expect(await put("x", "Text/Plain; charset=utf-8")).toEqual([201, "text/plain"]);
    expect(await put("x", "multipart/form-data; boundary=a")).toEqual([400, "content-type"]);
    expect(await put("x", "nonsense")).toEqual([400, "content-type"]);
    expect(await put("", "text/plain")).toEqual([400, null]);
    const large = Buffer.alloc(2 * 1024 * 1024, 1);
    expect(await put(large, "image/png")).toEqual([201, "image/png"]);
  });
});

describe("two who change a chat at the same time", () => {
  test("one is told so, and nothing is lost", async () => {
    const { client } = await chatScene();
    const { chat } = await client.create({ title: "Old" });
    const id = chat.chat_id;
    const tags = Array.from({ length: 8 }, (_, index) => `t${index}`);
    const refusals: { seen: number; error: ChatApiError }[] = [];
    const add = async (tag: string, seen: Chat): Promise<void> => {
      const edits = [{ type: "tag", tags: [...seen.tags, tag] }] as const;
      const error = await client.edits(id, { revision: seen.revision, edits }).then(
        () => undefined,
        (refused: unknown) => refused as ChatApiError,
      );
      if (error === undefined) return;
      refusals.push({ seen: seen.revision, error });
      await add(tag, (await client.open(id)).chat);
    };
    await Promise.all(tags.map((tag) => add(tag, chat)));
    for (const { seen, error } of refusals) {
      expect(error).toMatchObject({ status: 409, code: "conflict" });
      expect(error.revision).toBeGreaterThan(seen);
      expect(error.stamp).toBeGreaterThan(0);
    }
    const { chat: after } = await client.open(id);
    expect(after.tags.toSorted()).toEqual(tags);
    expect(after.revision).toBe(chat.revision + tags.length);
    expect(refusals.length).toBeGreaterThanOrEqual(tags.length - 1);
  });

  test("a message is sent only to the chat that its writer saw, if it says so", async () => {
    const { client } = await chatScene();
    const { id, settled } = await answeredChat(client);
    const { revision } = settled.chat;
    await client.edits(id, { revision, edits: [{ type: "pin_chat", value: true }] });
    expect(await errorOf(client.send(id, { text: "More", revision }))).toMatchObject({
      status: 409,
      code: "conflict",
      revision: revision + 1,
    });
    expect(Object.keys((await client.open(id)).chat.nodes)).toHaveLength(2);
  });
});
