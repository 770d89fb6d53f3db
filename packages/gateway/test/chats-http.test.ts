import {
  applyChatPatch,
  findChatFaults,
  type Chat,
  type ChatApiError,
  type ChatPatch,
  type UserEdit,
} from "@deltawire/tasks/chats";
import { openStore } from "@deltawire/store";
import { describe, expect, test } from "vitest";
import {
  answeredChat,
  listAnswers,
  chatGatewayFixture,
  catchApiError,
  catchErrorFields,
  getAnswerText,
  waitUntilSettled,
} from "./chat-fixture.ts";
import { sleep } from "./gateway-fixture.ts";

describe("a chat", () => {
  test("is created with a location, and can be read there", async () => {
    const { client, url, replies } = await chatGatewayFixture();
    const created = await client.create({
      title: " Plans\r\n",
      tags: ["home"],
      settings: { model: "demo/clean", turns: 3, limits: { rounds: 2 } },
    });
    expect(created).toMatchObject({
      chat: { title: "Plans", title_by: "user", tags: ["home"], revision: 0, nodes: {} },
      usage: { total_tokens: 0 },
    });
    expect(created.chat.settings).toMatchObject({ model: "demo/clean", turns: 3 });
    expect(replies[0]?.reply.status).toBe(201);
    const address = replies[0]?.reply.headers.get("location") ?? "";
    expect(address).toBe(`/api/chats/${created.chat.chat_id}`);
    expect(await (await fetch(url + address)).json()).toEqual(created);
    const empty = await fetch(`${url}/api/chats`, { method: "POST" });
    expect(empty.status).toBe(201);
  });

  test("is created once per Idempotency-Key, including by an import or an extract", async () => {
    const { client } = await chatGatewayFixture();
    const sendTwice = async <Result>(
      make: (key: { idempotencyKey: string }) => Promise<Result>,
    ) => {
      const key = { idempotencyKey: `key ${Math.random()}` };
      const [one, other] = await Promise.all([make(key), make(key)]);
      expect(other).toEqual(one);
      return one;
    };
    const { chat } = await sendTwice((key) => client.create({ title: "One" }, key));
    const { id, question } = await answeredChat(client);
    await sendTwice((key) => client.extract(id, { node_id: question }, key));
    const { text } = await client.exportAs(id, "json");
    const file = JSON.parse(text) as { chats: unknown[] };
    const several = { ...file, chats: [...file.chats, ...file.chats] };
    expect((await sendTwice((key) => client.importFile(several, key))).data).toHaveLength(2);
    expect((await client.list()).data).toHaveLength(5);
    const other = await client.create({ title: "One" }, { idempotencyKey: "k" });
    expect(other.chat.chat_id).not.toBe(chat.chat_id);
    const rejected = client.create({ title: "Two" }, { idempotencyKey: "k" });
    expect((await catchErrorFields(rejected)).slice(0, 2)).toEqual([409, "idempotency_conflict"]);
  });

  test("answers a message with a task that can be followed", async () => {
    const { client, url, replies } = await chatGatewayFixture();
    const { chat } = await client.create({ settings: { model: "demo/clean" } });
    const sent = await client.send(chat.chat_id, { text: "Hello" });
    const { reply } = replies.at(-1) ?? {};
    expect([reply?.status, reply?.headers.get("location")]).toEqual([
      201,
      `/api/tasks/${sent.task_id}`,
    ]);
    expect(reply?.headers.get("idempotent-replayed")).toBeNull();
    const [running] = listAnswers({ ...chat, nodes: sent.nodes });
    expect(running).toMatchObject({
      status: "running",
      version_id: sent.version_id,
      task_id: sent.task_id,
    });
    const events = await (await fetch(`${url}/api/tasks/${sent.task_id}/events?after=-1`)).text();
    expect(events).toContain('"type":"task.completed"');
    const { chat: settledChat, usage } = await waitUntilSettled(client, chat.chat_id);
    expect(getAnswerText(settledChat, sent.node_id)).toContain("You said:");
    expect(usage.output_tokens).toBeGreaterThan(0);
  });

  test("contains the output so far while it is being answered", async () => {
    const { client } = await chatGatewayFixture();
    const { chat } = await client.create();
    const sent = await client.send(chat.chat_id, { text: "long 200" });
    let textSoFar = "";
    for (let attempt = 0; textSoFar === "" && attempt < 200; attempt += 1) {
      await sleep(10);
      textSoFar = getAnswerText((await client.get(chat.chat_id)).chat, sent.node_id);
    }
    const before = await client.get(chat.chat_id);
    const { data, ...patch } = await client.stop(chat.chat_id);
    expect(data).toEqual([
      {
        chat_id: chat.chat_id,
        node_id: sent.node_id,
        version_id: sent.version_id,
        task_id: sent.task_id,
      },
    ]);
    const { chat: stopped, stamp, usage } = await client.get(chat.chat_id);
    expect(listAnswers(stopped)).toMatchObject([{ status: "aborted" }]);
    // The reply contains the changes, so the client needs no second request.
    expect(patch).toMatchObject({ from: before.stamp, stamp, usage });
    expect(applyChatPatch(before.chat, patch)).toEqual(stopped);
    const savedText = getAnswerText(stopped, sent.node_id);
    expect(textSoFar).not.toBe("");
    expect(savedText.startsWith(textSoFar)).toBe(true);
    expect(await client.stop(chat.chat_id)).toMatchObject({ data: [], from: stamp, nodes: {} });
    const more = await client.continueAnswer(chat.chat_id, { node_id: sent.node_id });
    expect(more.node_id).toBe(sent.node_id);
    await client.stop(chat.chat_id, { node_id: sent.node_id });
    const { chat: continued } = await waitUntilSettled(client, chat.chat_id);
    expect(listAnswers(continued)[1]).toMatchObject({ continues: sent.version_id });
  });

  test("is rerun, edited and branched; patches turn the old chat into the new one", async () => {
    const { client } = await chatGatewayFixture();
    const { id, question, answer, settled } = await answeredChat(client);
    const rerun = await client.rerun(id, { node_id: answer });
    expect(rerun).toMatchObject({ node_id: answer, from: settled.stamp });
    let chat = applyChatPatch(settled.chat, rerun);
    const sendTwice = await waitUntilSettled(client, id);
    expect(Object.keys(chat.nodes)).toEqual(Object.keys(sendTwice.chat.nodes));
    expect(listAnswers(sendTwice.chat)).toHaveLength(2);
    chat = sendTwice.chat;
    const take = async (changing: Promise<ChatPatch>): Promise<void> => {
      chat = applyChatPatch(chat, await changing);
      expect(findChatFaults(chat)).toEqual([]);
    };
    await take(client.editMessage(id, { node_id: question, text: "Good morning", send: false }));
    await take(client.editMessage(id, { node_id: answer, text: "Good morning to you" }));
    expect(getAnswerText(chat, answer)).toBe("Good morning to you");
    const settings: UserEdit = { type: "settings", patch: { turns: 2 } };
    await take(
      client.applyEdits(id, {
        revision: chat.revision,
        edits: [
          { type: "rename", title: "Early\n\n  Mornings " },
          { type: "tag", tags: ["a", "b"] },
          settings,
        ],
      }),
    );
    expect((await client.get(id)).chat).toEqual(chat);
    expect(chat).toMatchObject({
      title: "Early Mornings",
      tags: ["a", "b"],
      settings: { turns: 2 },
    });
    const branched = await client.editMessage(id, { node_id: question, as: "branch", text: "Bye" });
    expect(branched).toHaveProperty("task_id");
    await take(Promise.resolve(branched));
    await waitUntilSettled(client, id);
    expect(chat.roots).toHaveLength(2);
    expect(chat.chosen[""]).toBe(chat.roots[1]);
  });

  test("restores deleted messages, and can itself be restored", async () => {
    const { client, replies } = await chatGatewayFixture();
    const { id, question, settled } = await answeredChat(client);
    const deletion = await client.applyEdits(id, {
      revision: settled.chat.revision,
      edits: [{ type: "delete_node", node_id: question, children: "delete" }],
    });
    expect(deletion.deleted_node_ids).toHaveLength(2);
    const [removal_id = ""] = deletion.removal_ids ?? [];
    // A page that is reloaded can restore it, too.
    expect(await client.removals(id)).toEqual({
      data: [
        {
          removal_id,
          removed_at: expect.stringMatching(/^20/),
          type: "nodes",
          count: 2,
          excerpt: expect.stringContaining("Hello"),
        },
      ],
    });
    const back = await client.undo(id, { removal_id });
    expect(applyChatPatch(applyChatPatch(settled.chat, deletion), back).nodes).toEqual(
      settled.chat.nodes,
    );
    expect(await client.removals(id)).toEqual({ data: [] });
    expect(await catchErrorFields(client.undo(id, { removal_id }))).toEqual([
      404,
      "removal_not_found",
      undefined,
    ]);
    await client.remove(id);
    expect(replies.at(-1)?.reply.status).toBe(204);
    expect(await client.list()).toMatchObject({ data: [] });
    expect(await client.list({ deleted: true })).toMatchObject({ data: [{ chat_id: id }] });
    expect((await client.get(id)).deleted_at).toMatch(/^20/);
    expect(await catchErrorFields(client.send(id, { text: "x" }))).toEqual([
      404,
      "chat_not_found",
      undefined,
    ]);
    expect((await client.restore(id)).deleted_at).toBeUndefined();
    expect(await client.list()).toMatchObject({ data: [{ chat_id: id }] });
    await client.remove(id, { forever: true });
    expect(await catchErrorFields(client.restore(id))).toEqual([404, "chat_not_found", undefined]);
  });

  test("is extracted, exported and imported", async () => {
    const { client, url } = await chatGatewayFixture();
    const { id, answer, question, settled } = await answeredChat(client, "你好 there");
    const part = await client.extract(id, { node_id: question });
    expect(part.chat.chat_id).not.toBe(id);
    expect(getAnswerText(part.chat, Object.keys(part.chat.nodes)[1] ?? "")).toBe(
      getAnswerText(settled.chat, answer),
    );
    await client.applyEdits(id, {
      revision: settled.chat.revision,
      edits: [{ type: "rename", title: '../a "b"\r\nc: 你好' }],
    });
    const file = await client.exportAs(id, "json");
    expect(file).toMatchObject({ media_type: "application/json", filename: "a b c 你好.json" });
    const { data } = await client.importFile(JSON.parse(file.text));
    expect(data).toMatchObject([{ messages: 2, tags: [], usage: settled.usage }]);
    const copy = await client.get(data[0]?.chat_id ?? "");
    expect(listAnswers(copy.chat)[0]?.output).toEqual(listAnswers(settled.chat)[0]?.output);
    const markdown = await client.exportAs(id, "markdown");
    expect(markdown.media_type).toBe("text/markdown");
    expect(markdown.text).toContain("你好 there");
    const openai = await client.exportAs(id, "openai");
    expect(openai.filename).toBe("a b c 你好.openai.json");
    const messages = JSON.parse(openai.text) as unknown;
    expect((await client.importFile(messages)).data).toMatchObject([
      { messages: 2, opening_text: "你好 there" },
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
  test("is sent in pages, and can be filtered by tag and searched", async () => {
    const { client } = await chatGatewayFixture();
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
  ])("is rejected with ?%s", async (query, param) => {
    const { url } = await chatGatewayFixture();
    const response = await fetch(`${url}/api/chats?${query}`);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  });
});

describe("the choices for a chat", () => {
  test("contain models, agents, tool groups and skills, and the defaults", async () => {
    const { client } = await chatGatewayFixture();
    const choices = await client.choices();
    const names = choices.models.map(({ name }) => name);
    // Each model is listed under one name only, although `clean` would work as well.
    expect(names.filter((name) => name.endsWith("clean"))).toEqual(["demo/clean"]);
    expect(choices.models).toContainEqual(
      expect.objectContaining({ name: "demo/clean", type: "chat", tools: true }),
    );
    expect(choices.agents.map(({ name }) => name)).toContain("demo-agent");
    expect(choices.tool_groups).toContain("time");
    // Without a configuration a new user chats with the demo agent.
    expect(choices.defaults).toMatchObject({ agent: "demo-agent", titles: false, skills: [] });
    expect(choices.defaults.model).toBeUndefined();
    expect(choices.defaults.limits.rounds).toBeGreaterThan(0);
  });

  test("the variables of a chat are empty before a tool has returned one", async () => {
    const { client } = await chatGatewayFixture();
    const { chat } = await client.create();
    expect(await client.variables(chat.chat_id)).toEqual({ data: [] });
    expect(await catchErrorFields(client.variables("nobody"))).toEqual([
      404,
      "chat_not_found",
      undefined,
    ]);
  });
});

describe("attachments", () => {
  const png = Buffer.from("89504e470d0a1a0a0000", "hex");

  test("of a draft can be sent weeks later", async () => {
    const store = await openStore({ path: ":memory:" });
    const { client } = await chatGatewayFixture({ store });
    const { chat } = await client.create();
    const bytes = new TextEncoder().encode("The sea rises.");
    const { url } = await client.putBlob(bytes, { mediaType: "text/plain", filename: "sea.txt" });
    const day = 24 * 60 * 60 * 1000;
    await store.prune(Date.now() + 29 * day);
    const attachments = [{ kind: "file" as const, url, filename: "sea.txt" }];
    await client.send(chat.chat_id, { text: "Read this", attachments });
    const settled = await waitUntilSettled(client, chat.chat_id);
    expect(listAnswers(settled.chat)).toMatchObject([{ status: "completed" }]);
    const unsent = await client.putBlob(new TextEncoder().encode("Never sent."), {
      mediaType: "text/plain",
      filename: "unsent.txt",
    });
    await store.prune(Date.now() + 31 * day);
    const late = { text: "x", attachments: [{ kind: "file" as const, url: unsent.url }] };
    await expect(client.send(chat.chat_id, late)).rejects.toThrow(/30 days, so attach it again/);
  });

  test("are uploaded first or sent as data: URLs, and are blobs in the chat", async () => {
    const { client, url } = await chatGatewayFixture();
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
  ])("at %.40s are rejected, and nothing is stored", async (url) => {
    const { client } = await chatGatewayFixture();
    const { chat } = await client.create();
    const attachments = [{ kind: "file", url }] as const;
    expect(await catchErrorFields(client.send(chat.chat_id, { text: "x", attachments }))).toEqual([
      400,
      "invalid_request",
      "attachments[0].url",
    ]);
    expect((await client.get(chat.chat_id)).chat).toEqual(chat);
  });

  test.each([
    ["audio", "data:text/plain,It%20rained.", undefined, "of audio, got text/plain"],
    ["audio", "data:audio/mpeg,It%20rained.", undefined, "of audio, got text"],
    ["audio", "data:,It%20rained.", "audio/wav", "of audio, got text"],
    ["image", "data:,It%20rained.", "image/png", "of an image, got text"],
    ["image", "data:image/png,RIFF1234WAVE", undefined, "of an image, got audio/wav"],
    [
      "audio",
      `data:audio/wav;base64,${png.toString("base64")}`,
      "audio/wav",
      "of audio, got image/png",
    ],
  ] as const)(
    "of kind %s with %s and type %s are rejected: expected the type %s",
    async (...wrong) => {
      const [kind, url, media_type, message] = wrong;
      const { client } = await chatGatewayFixture();
      const { chat } = await client.create();
      const named = { kind, url, ...(media_type === undefined ? {} : { media_type }) };
      const file = { kind: "file", url } as const;
      const sending = client.send(chat.chat_id, { text: "x", attachments: [file, named] });
      expect(await catchApiError(sending)).toMatchObject({
        status: 400,
        code: "invalid_request",
        param: "attachments[1].kind",
        message: expect.stringContaining(`expected the media type ${message}; `) as string,
      });
      expect((await client.get(chat.chat_id)).chat).toEqual(chat);
    },
  );

  test("that were uploaded with a false media type are rejected too", async () => {
    const { client } = await chatGatewayFixture();
    const { chat } = await client.create();
    const words = new Uint8Array(Buffer.from("It rained."));
    for (const mediaType of ["text/plain", "audio/mpeg"]) {
      const { url } = await client.putBlob(words, { mediaType });
      const attachments = [{ kind: "audio", url, media_type: "audio/mpeg" }] as const;
      const sending = client.send(chat.chat_id, { text: "x", attachments });
      expect(await catchErrorFields(sending)).toEqual([
        400,
        "invalid_request",
        "attachments[0].kind",
      ]);
    }
  });

  test("get the type of their bytes, not the declared one", async () => {
    const { client } = await chatGatewayFixture();
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

  test("without a declared type get one from their bytes or file names", async () => {
    const { url } = await chatGatewayFixture();
    const upload = async (
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
    expect(await upload(Buffer.from(png), curls)).toEqual([201, "image/png"]);
    expect(await upload("a,b", "application/octet-stream", "a.CSV")).toEqual([201, "text/csv"]);
    expect(await upload("a,b", curls, "a.xyz")).toEqual([201, "application/octet-stream"]);
    expect(await upload("x", "Text/Plain; charset=utf-8")).toEqual([201, "text/plain"]);
    expect(await upload("x", "multipart/form-data; boundary=a")).toEqual([400, "content-type"]);
    expect(await upload("x", "nonsense")).toEqual([400, "content-type"]);
    expect(await upload("", "text/plain")).toEqual([400, null]);
    const large = Buffer.alloc(2 * 1024 * 1024, 1);
    expect(await upload(large, "image/png")).toEqual([201, "image/png"]);
  });
});

describe("two concurrent changes of a chat", () => {
  test("result in one conflict and lose nothing", async () => {
    const { client } = await chatGatewayFixture();
    const { chat } = await client.create({ title: "Old" });
    const id = chat.chat_id;
    const tags = Array.from({ length: 8 }, (_, index) => `t${index}`);
    const conflicts: { textSoFar: number; error: ChatApiError }[] = [];
    const add = async (tag: string, textSoFar: Chat): Promise<void> => {
      const edits = [{ type: "tag", tags: [...textSoFar.tags, tag] }] as const;
      const error = await client.applyEdits(id, { revision: textSoFar.revision, edits }).then(
        () => undefined,
        (rejected: unknown) => rejected as ChatApiError,
      );
      if (error === undefined) return;
      conflicts.push({ textSoFar: textSoFar.revision, error });
      await add(tag, (await client.get(id)).chat);
    };
    await Promise.all(tags.map((tag) => add(tag, chat)));
    for (const { textSoFar, error } of conflicts) {
      expect(error).toMatchObject({ status: 409, code: "conflict" });
      expect(error.revision).toBeGreaterThan(textSoFar);
      expect(error.stamp).toBeGreaterThan(0);
    }
    const { chat: after } = await client.get(id);
    expect(after.tags.toSorted()).toEqual(tags);
    expect(after.revision).toBe(chat.revision + tags.length);
    expect(conflicts.length).toBeGreaterThanOrEqual(tags.length - 1);
  });

  test("a message with a revision is sent only if the chat has not changed", async () => {
    const { client } = await chatGatewayFixture();
    const { id, settled } = await answeredChat(client);
    const { revision } = settled.chat;
    await client.applyEdits(id, { revision, edits: [{ type: "pin_chat", value: true }] });
    expect(await catchApiError(client.send(id, { text: "More", revision }))).toMatchObject({
      status: 409,
      code: "conflict",
      revision: revision + 1,
    });
    expect(Object.keys((await client.get(id)).chat.nodes)).toHaveLength(2);
  });
});
