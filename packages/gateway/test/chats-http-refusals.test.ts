import type { ChatClient, ChatSettings, EditsBody, PersonEdit } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { taskProblem } from "../src/tasks/task-problem.ts";
import { attachmentHeader, fileNameOf } from "../src/chats/export-file.ts";
import { routeOf } from "../src/http/routes.ts";
import { answeredChat, chatScene, refusalOf, whenSettled } from "./chat-scene.ts";
import { ChatError } from "@deltawire/agent";

describe("the way to a handler", () => {
  test.each([
    ["GET", "/api/chats/events", "chat events", ""],
    ["GET", "/api/chats/choices", "chat choices", ""],
    ["POST", "/api/chats/import", "import chats", ""],
    ["GET", "/api/chats/chat_1", "open chat", "chat_1"],
    ["DELETE", "/api/chats/a%2Fb", "delete chat", "a/b"],
    ["POST", "/api/chats/chat_1/continue", "continue answer", "chat_1"],
    ["GET", "/api/chats/chat_1/export", "export chat", "chat_1"],
    ["POST", "/api/blobs", "keep blob", ""],
  ])("%s %s", (method, path, name, rest) => {
    expect(routeOf(method, path)).toMatchObject({ is: "route", name, rest });
  });

  test("names every method that is right once", () => {
    expect(routeOf("PUT", "/api/chats/events")).toEqual({
      is: "wrong method",
      allowed: ["GET", "DELETE"],
    });
  });
});

describe("a body that is wrong is refused by the path of its fault", () => {
  const bodies: [path: string, body: unknown, param: string | null][] = [
    ["", { titel: "x" }, "titel"],
    ["", { title: " " }, "title"],
    ["", { title: "x".repeat(301) }, "title"],
    ["", { tags: ["a", "a"] }, "tags[1]"],
    ["", { settings: { limits: { rounds: 0 } } }, "settings.limits.rounds"],
    ["", { settings: { modell: "x" } }, "settings.modell"],
    ["", { settings: { agent: "a", model: "b" } }, "settings.agent"],
    ["/CHAT/edits", { edits: [] }, "revision"],
    ["/CHAT/edits", { revision: 1.5, edits: [] }, "revision"],
    ["/CHAT/edits", { revision: 0, edits: [] }, "edits"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "explode" }] }, "edits[0].type"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "add_message" }] }, "edits[0].type"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "finish_answer" }] }, "edits[0].type"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "rename" }] }, "edits[0].title"],
    [
      "/CHAT/edits",
      { revision: 0, edits: [{ type: "pin_chat", value: true, more: 1 }] },
      "edits[0].more",
    ],
    [
      "/CHAT/edits",
      { revision: 0, edits: [{ type: "settings", patch: { turns: -1 } }] },
      "edits[0].patch.turns",
    ],
    ["/CHAT/send", {}, "text"],
    ["/CHAT/send", { text: " " }, "text"],
    ["/CHAT/send", { text: "x", parent: 7 }, "parent"],
    ["/CHAT/send", { text: "x", options: [] }, "options"],
    ["/CHAT/send", { text: "x", agent: "a", model: "b" }, "model"],
    ["/CHAT/send", { text: "x", task_id: "task_1" }, "task_id"],
    [
      "/CHAT/send",
      { text: "x", attachments: [{ kind: "video", url: "x" }] },
      "attachments[0].kind",
    ],
    [
      "/CHAT/send",
      { text: "x", contexts: [{ kind: "page", title: "a", text: "b", html: "" }] },
      "contexts[0].html",
    ],
    ["/CHAT/rerun", {}, "node_id"],
    ["/CHAT/rerun", { node_id: "n", text: "x" }, "text"],
    ["/CHAT/continue", { node_id: "n", options: "x" }, "options"],
    ["/CHAT/edit", { node_id: "n", text: "x", as: "copy" }, "as"],
    ["/CHAT/edit", { node_id: "n", text: "x", send: "no" }, "send"],
    ["/CHAT/undo", {}, "removal_id"],
    ["/CHAT/extract", { node_id: "" }, "node_id"],
    ["/CHAT/stop", { node: "n" }, "node"],
    ["/CHAT/stop", [], null],
  ];
  test("whichever it is", async () => {
    const { client, url } = await chatScene();
    const { chat } = await client.create();
    for (const [path, body, param] of bodies) {
      const response = await fetch(`${url}/api/chats${path.replace("CHAT", chat.chat_id)}`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      const { error } = (await response.json()) as { error: { code: string; param: string } };
      expect([path, response.status, error.code, error.param]).toEqual([
        path,
        400,
        "invalid_request",
        param,
      ]);
    }
    expect((await client.open(chat.chat_id)).chat).toEqual(chat);
    expect((await client.list()).data).toHaveLength(1);
  });
});

describe("what chats refuse", () => {
  const edit = async (client: ChatClient, id: string, ...edits: PersonEdit[]) => {
    const { revision } = (await client.open(id)).chat;
    return client.edits(id, { revision, edits });
  };

  test("what is not there is a 404", async () => {
    const { client } = await chatScene();
    const { id, question } = await answeredChat(client);
    const nobody = "chat_nobody";
    const body: EditsBody = { revision: 0, edits: [{ type: "rename", title: "x" }] };
    for (const asked of [
      () => client.open(nobody),
      () => client.remove(nobody),
      () => client.restore(nobody),
      () => client.edits(nobody, body),
      () => client.undo(nobody, { removal_id: "r" }),
      () => client.send(nobody, { text: "x" }),
      () => client.rerun(nobody, { node_id: "n" }),
      () => client.edit(nobody, { node_id: "n", text: "x" }),
      () => client.continueAnswer(nobody, { node_id: "n" }),
      () => client.stop(nobody),
      () => client.extract(nobody, { node_id: "n" }),
      () => client.exportAs(nobody, "markdown"),
    ])
      expect((await refusalOf(asked()))[0]).toBe(404);
    const nodes = [
      () => edit(client, id, { type: "choose_branch", node_id: "n" }),
      () => client.send(id, { text: "x", parent: "n" }),
      () => client.rerun(id, { node_id: "n" }),
      () => client.stop(id, { node_id: "n" }),
      () => client.extract(id, { node_id: "n" }),
    ];
    for (const asked of nodes)
      expect(await refusalOf(asked())).toEqual([404, "unknown_node", undefined]);
    expect(
      await refusalOf(
        edit(client, id, { type: "choose_version", node_id: question, version_id: "v" }),
      ),
    ).toEqual([404, "unknown_version", undefined]);
    expect(await refusalOf(client.undo(id, { removal_id: "r" }))).toEqual([
      404,
      "unknown_removal",
      undefined,
    ]);
    expect(await refusalOf(client.send(id, { text: "x", model: "nobody/none" }))).toEqual([
      404,
      "model_not_found",
      "model",
    ]);
  });

  test("what cannot be done as the chat is, is a 409, and changes nothing", async () => {
    const { client } = await chatScene();
    const { id, question, answer } = await answeredChat(client);
    const [first] = Object.values((await client.open(id)).chat.nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions : [],
    );
    const only = { type: "delete_version", node_id: answer, version_id: first?.version_id ?? "" };
    const refused = (asked: Promise<unknown>) => refusalOf(asked).then(([, code]) => code);
    expect(await refusalOf(edit(client, id, only as PersonEdit))).toEqual([
      409,
      "only_version",
      undefined,
    ]);
    expect(await refused(client.continueAnswer(id, { node_id: question }))).toBe("illegal_place");
    await client.continueAnswer(id, { node_id: answer, model: "demo/clean" });
    const goes: PersonEdit = { type: "delete_node", node_id: answer, children: "delete" };
    expect(await refused(edit(client, id, goes))).toBe("still_running");
    await client.stop(id);
    await whenSettled(client, id);
    expect(await refused(edit(client, id, only as PersonEdit))).toBe("in_use");
    const { removal_ids: [removal_id = ""] = [] } = await edit(client, id, goes);
    await edit(client, id, { type: "delete_node", node_id: question, children: "delete" });
    expect(await refused(client.undo(id, { removal_id }))).toBe("cannot_restore");
    expect((await client.open(id)).chat.nodes).toEqual({});
  });

  test("edits are made all or none", async () => {
    const { client } = await chatScene();
    const { id, settled } = await answeredChat(client);
    expect(
      await refusalOf(
        edit(client, id, { type: "rename", title: "New" }, { type: "choose_branch", node_id: "n" }),
      ),
    ).toEqual([404, "unknown_node", "edits[1]"]);
    expect((await client.open(id)).chat).toEqual(settled.chat);
  });

  test("what is not meant well is a 400 that names the field", async () => {
    const { client } = await chatScene();
    const zone = { settings: { time_zone: "Mars/Base" } };
    expect(await refusalOf(client.create(zone))).toEqual([400, "bad_value", "settings.time_zone"]);
    const fields = [{ kind: "pattern", pattern: "(a)\\1" } as const];
    const [status, code, param] = await refusalOf(
      client.create({ settings: { privacy: { enabled: true, fields } } }),
    );
    expect([status, code]).toEqual([400, "bad_value"]);
    expect(param).toContain("settings.privacy.fields[0]");
    const { chat } = await client.create();
    const faults: [ChatSettings, string][] = [
      [{ time_zone: "Mars/Base" }, "time_zone"],
      [{ options: { stream: false } }, "options.stream"],
      [{ model: "nobody/none" }, "model"],
      [{ tool_groups: ["time", "shell"] }, "tool_groups[1]"],
    ];
    for (const [settings, at] of faults) {
      const bad = [400, "bad_value"];
      expect(await refusalOf(client.create({ settings }))).toEqual([...bad, `settings.${at}`]);
      const patched = edit(client, chat.chat_id, { type: "settings", patch: settings });
      expect(await refusalOf(patched)).toEqual([...bad, `edits[0].patch.${at}`]);
    }
    expect(
      await refusalOf(client.send(chat.chat_id, { text: "x", options: { stream: true } })),
    ).toEqual([400, "bad_value", "options.stream"]);
    expect(await refusalOf(client.send(chat.chat_id, { text: "x", agent: "nobody" }))).toEqual([
      400,
      "cannot_send",
      "agent",
    ]);
    for (const file of [{ chats: 7 }, [{ role: "wizard", content: "x" }], "words"])
      expect((await refusalOf(client.importFrom(file))).slice(0, 2)).toEqual([400, "bad_import"]);
    expect(await refusalOf(client.exportAs(chat.chat_id, "docx" as "html"))).toEqual([
      400,
      "invalid_request",
      "format",
    ]);
    expect((await client.list()).data).toHaveLength(1);
  });

  test("a conflict tells what the chat is at", () => {
    const current = { chat: { revision: 7 }, stamp: 9 } as never;
    expect(taskProblem(new ChatError("conflict", "late", { current }))).toMatchObject({
      code: "conflict",
      beside: { revision: 7, stamp: 9 },
    });
    expect(taskProblem(new ChatError("bad_value", "title: must not be empty"))).toMatchObject({
      param: "title",
    });
  });
});

describe("a key that makes sending safe to repeat", () => {
  const idempotencyKey = "k1";

  test("sends once, also while the first is under way, and tells those who ask again all of it", async () => {
    const { client, replies } = await chatScene();
    const { chat } = await client.create();
    const id = chat.chat_id;
    const asked = [1, 2, 3].map(() => client.send(id, { text: "Hello" }, { idempotencyKey }));
    const sent = await Promise.all(asked);
    expect(new Set(sent.map(({ task_id }) => task_id)).size).toBe(1);
    expect(sent.map(({ nodes }) => Object.keys(nodes).length)).toEqual([2, 2, 2]);
    const replayed = replies.filter(
      ({ reply }) => reply.headers.get("idempotent-replayed") === "true",
    );
    expect(replayed).toHaveLength(2);
    const { chat: answered } = await whenSettled(client, id);
    expect(Object.keys(answered.nodes)).toHaveLength(2);
    const later = await client.send(id, { text: "Hello" }, { idempotencyKey });
    expect(later).toMatchObject({ task_id: sent[0]?.task_id, node_id: sent[0]?.node_id });
    expect((await client.open(id)).chat).toEqual(answered);
  });

  test("is refused with another body, in another chat, and for what starts no task", async () => {
    const { client } = await chatScene();
    const { id, question, answer } = await answeredChat(client);
    const { chat: other } = await client.create();
    await client.rerun(id, { node_id: answer }, { idempotencyKey });
    const again = await client.rerun(id, { node_id: answer }, { idempotencyKey });
    expect(again.node_id).toBe(answer);
    const conflict = [409, "idempotency_conflict", "Idempotency-Key"];
    for (const asked of [
      () => client.rerun(id, { node_id: question }, { idempotencyKey }),
      () => client.rerun(other.chat_id, { node_id: answer }, { idempotencyKey }),
      () => client.continueAnswer(id, { node_id: answer }, { idempotencyKey }),
    ])
      expect(await refusalOf(asked())).toEqual(conflict);
    await whenSettled(client, id);
    for (const body of [
      { node_id: question, text: "x", send: false },
      { node_id: answer, text: "x" },
    ])
      expect(await refusalOf(client.edit(id, body, { idempotencyKey: "k2" }))).toEqual([
        400,
        "invalid_header",
        "Idempotency-Key",
      ]);
    const edited = { node_id: question, text: "Another" };
    const one = await client.edit(id, edited, { idempotencyKey: "k3" });
    const two = await client.edit(id, edited, { idempotencyKey: "k3" });
    expect(two).toMatchObject({ task_id: (one as { task_id?: string }).task_id });
    await client.stop(id);
  });
});

describe("the name of an exported file", () => {
  test.each([
    ["Plans for 2026", "Plans for 2026.md"],
    ["../../etc/passwd", "etc passwd.md"],
    ["a\u0000b\u202ec", "a b c.md"],
    ["  ...  ", "chat.md"],
    ["", "chat.md"],
    ["CON", "chat.md"],
    ["nul.txt", "chat.md"],
    ["x".repeat(300), `${"x".repeat(80)}.md`],
    ["a. ", "a.md"],
  ])("of %j is %j", (title, name) => {
    expect(fileNameOf(title, "md")).toBe(name);
  });

  test("cannot leave its header", () => {
    expect(attachmentHeader('a"; x="\\%41é.md')).toBe(
      `attachment; filename="a_; x=___41_.md"; filename*=UTF-8''a%22%3B%20x%3D%22%5C%2541%C3%A9.md`,
    );
  });
});
